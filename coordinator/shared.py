"""CDP-MAB's server where the agents share the noise: it can read only sums over all agents."""

from dataclasses import dataclass, field

import numpy as np

from posse.coordinator.federated import CdpServer
from posse.protocol.arrays import FloatArray
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import Broadcast, Finish, PeerLost, Received, ServerEffects, ServerEvent
from posse.protocol.masking import (
    Keys,
    Masked,
    PublicKey,
    Unmask,
    Unmasked,
    Words,
    check_key,
    keystream,
    unpack_words,
)
from posse.protocol.shared import SharedNoise
from posse.protocol.signing import Signer


@dataclass(slots=True, kw_only=True)
class SharedNoiseServer(CdpServer):
    """Collects every agent's key; then in each round its masked sums and the seeds to unmask them.

    A sum that lacks a report cannot be unmasked, because the masks of the absent agent do not
    cancel. So a lost agent ends the run as `missing`, unless one arm is left. `average` is ȳ over
    all agents of each of the K arms, from `counted` observations.
    """

    shared: SharedNoise
    signer: Signer | None = None
    keys: dict[int, bytes] = field(default_factory=dict)
    reports: dict[int, Words] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    counted: int = 0
    average: FloatArray = field(default_factory=lambda: np.zeros(0))

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        match event:
            case Received(sender, PublicKey(key)):
                return self._meet(sender, key)
            case Received(sender, Masked(number, words)):
                return self._masked(sender, number, words)
            case Received(sender, Unmasked(number, seed)):
                return self._unmasked(sender, number, seed)
            case PeerLost() if len(self.active) > 1:
                return [Finish("missing")]
            case _:
                return CdpServer.handle(self, event, now)

    def missing(self) -> list[int]:
        """The agents whose message the round still needs."""
        waiting: dict[int, bytes] | dict[int, Words] = self.reports
        if len(self.keys) < self.agents:
            waiting = self.keys
        elif len(self.reports) == self.agents:
            waiting = self.seeds
        return [n for n in range(self.agents) if n not in waiting]

    def _started(self) -> ServerEffects:
        self.average = np.zeros(self.arms)
        return CdpServer._started(self)

    def _meet(self, sender: int, key: bytes) -> ServerEffects:
        if sender in self.keys:
            raise RemoteProtocolError("duplicate-key", f"agent {sender}")
        check_key(sender, key, self.signer)
        self.keys[sender] = key
        if len(self.keys) < self.agents:
            return []
        return [Broadcast(Keys(dict(sorted(self.keys.items()))))]  # whatever order keys came in

    def _masked(self, sender: int, number: int, words: bytes) -> ServerEffects:
        if number != self.round or len(self.active) == 1 or len(self.keys) < self.agents:
            raise RemoteProtocolError("out-of-turn", f"sums of round {number}")
        if sender in self.reports:
            raise RemoteProtocolError("duplicate", f"agent {sender} sent its sums twice")
        self.reports[sender] = unpack_words(words, len(self.active))
        return [Broadcast(Unmask(number))] if len(self.reports) == self.agents else []

    def _unmasked(self, sender: int, number: int, seed: bytes) -> ServerEffects:
        if number != self.round or len(self.reports) < self.agents:
            raise RemoteProtocolError("out-of-turn", f"a seed of round {number}")
        if sender in self.seeds:
            raise RemoteProtocolError("duplicate", f"agent {sender} sent its seed twice")
        self.seeds[sender] = seed
        if len(self.seeds) < self.agents:
            return []
        effects = self._decide()
        self.reports, self.seeds = {}, {}
        return effects

    def _add_up(self) -> Words:
        """The sum of all reports without the self-masks; the pairwise masks cancel."""
        total = np.zeros(len(self.active), dtype=np.uint64)
        for agent, report in self.reports.items():
            total += report - keystream(self.seeds[agent], self.round, len(report))
        return total

    def _average(self) -> FloatArray:
        """ȳ = (S(r-1) ȳ + the round's sum / M) / S(r)."""
        active, latest = list(self.active), self.shared.from_words(self._add_up())
        before = self.counted * self.average[active]
        average: FloatArray = (before + latest / self.agents) / self.observed
        self.average[active], self.counted = average, self.observed
        return average
