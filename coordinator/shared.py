"""CDP-MAB's server where the agents share the noise: it can read only sums over all agents."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from posse.coordinator.federated import CdpServer
from posse.protocol.arrays import FloatArray
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    Broadcast,
    Finish,
    PeerLost,
    Received,
    Send,
    ServerEffect,
    ServerEffects,
    ServerEvent,
)
from posse.protocol.masking import (
    Covered,
    Keys,
    Masked,
    PublicKey,
    Rest,
    Reveal,
    Share,
    Survivors,
    Unmask,
    Unmasked,
    Words,
    check_key,
    keystream,
    unpack_words,
)
from posse.protocol.message import Message
from posse.protocol.shared import SharedNoise
from posse.protocol.sharing import (
    SHARE_BYTES,
    interpolated,
    pack,
    place_of,
    place_of_point,
    unpack,
)
from posse.protocol.signing import Signer


@dataclass(slots=True, kw_only=True)
class SharedNoiseServer(CdpServer):
    """Collects every agent's key; then in each round its masked sums and the seeds to unmask them.

    A sum that lacks a report cannot be unmasked, because the masks of the absent agent do not
    cancel. So a lost agent ends the run as `missing`, unless one arm is left or no more are lost
    than `shared.dropouts`. Then the round goes on among its `group`, those that reported and are
    there:

    1. When an agent is lost before all were asked to unmask, the group says which masks its reports
       share with others (`rests`); again, if it gets smaller.
    2. All of the group are asked for the seeds of their self-masks. Of one that is lost after that
       the others are asked for `shares`.

    `average` is ȳ of each of the K arms, from `counted` observations of each agent.
    """

    shared: SharedNoise
    signer: Signer | None = None
    keys: dict[int, bytes] = field(default_factory=dict)
    reports: dict[int, Words] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    points: dict[int, bytes] = field(default_factory=dict)
    rests: dict[int, Words] = field(default_factory=dict)
    shares: dict[int, dict[int, int]] = field(default_factory=dict)
    group: tuple[int, ...] = ()
    asks: Literal["reports", "rests", "seeds"] = "reports"
    everybody: tuple[int, ...] = ()
    counted: int = 0
    average: FloatArray = field(default_factory=lambda: np.zeros(0))

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        match event:
            case Received(sender, PublicKey(key)):
                return self._meet(sender, key)
            case Received(sender, Masked(number, words)) if not self.shared.dropouts:
                return self._masked(sender, number, words, b"")
            case Received(sender, Covered(number, words, points)) if self.shared.dropouts:
                return self._masked(sender, number, words, points)
            case Received(sender, Rest(number, survivors, words)):
                return self._rest(sender, number, survivors, words)
            case Received(sender, Unmasked(number, seed)):
                return self._unmasked(sender, number, seed)
            case Received(sender, Share(number, rank, share)):
                return self._share(sender, number, rank, share)
            case PeerLost(peer) if len(self.active) > 1:
                self.lost.add(peer)
                if len(self.lost) > self.shared.dropouts:
                    return [Finish("missing")]
                return [*self._without(peer), *self._finish()]
            case _:
                return CdpServer.handle(self, event, now)

    def missing(self) -> list[int]:
        """The agents whose message the round still needs."""
        if not self.everybody:
            return [n for n in self._present(range(self.agents)) if n not in self.keys]
        if self.asks == "reports":
            return [n for n in self._present(self.everybody) if n not in self.reports]
        if self.asks == "rests":
            return [n for n in self.group if n not in self.rests]
        late = {n for n in self._present(self.group) if n not in self.seeds}
        for shares in self.shares.values():
            late.update(n for n in self._present(self.group) if n not in shares)
        return sorted(late)

    def _present(self, agents: Iterable[int]) -> list[int]:
        return [n for n in agents if n not in self.lost]

    def _to(self, agents: Sequence[int], message: Message) -> ServerEffects:
        """To all of them; one broadcast if nobody is lost."""
        if not self.lost:
            return [Broadcast(message)]
        return [Send(n, message) for n in agents]

    def _started(self) -> ServerEffects:
        self.average = np.zeros(self.arms)
        return CdpServer._started(self)

    def _meet(self, sender: int, key: bytes) -> ServerEffects:
        if sender in self.keys:
            raise RemoteProtocolError("duplicate-key", f"agent {sender}")
        check_key(sender, key, self.signer)
        self.keys[sender] = key
        return self._tell_keys()

    def _tell_keys(self) -> ServerEffects:
        """Once the key of everybody that is there is here."""
        present = self._present(range(self.agents))
        if self.everybody or any(n not in self.keys for n in present):
            return []
        self.everybody = tuple(present)
        return self._to(present, Keys({n: self.keys[n] for n in present}))

    def _without(self, peer: int) -> ServerEffects:
        """Go on with the round without an agent that is lost."""
        if not self.everybody:
            return self._tell_keys()
        if self.asks == "reports":
            return self._all_reported()
        if peer not in self.group:
            return []
        if self.asks == "rests":
            return self._ask_rests()
        asked: list[ServerEffect] = []
        if peer not in self.seeds:
            self.shares[peer] = {}
            others = self._present(self.group)
            asked += [Send(n, Reveal(self.round, peer)) for n in others]
        return [*asked, *self._all_seeds()]

    def _expect(self, sender: int, number: int, asks: str, said: Container[int]) -> None:
        if number != self.round or len(self.active) == 1 or self.asks != asks:
            raise RemoteProtocolError("out-of-turn", f"a message of round {number}")
        if sender not in (self.everybody if asks == "reports" else self.group):
            raise RemoteProtocolError("out-of-turn", f"agent {sender} takes no part")
        if sender in said:
            raise RemoteProtocolError("duplicate", f"agent {sender} answered twice")

    def _masked(self, sender: int, number: int, words: bytes, points: bytes) -> ServerEffects:
        self._expect(sender, number, "reports", self.reports)
        if len(points) != SHARE_BYTES * self.shared.dropouts:
            raise RemoteProtocolError("wrong-length", f"{len(points)} bytes of points")
        self.reports[sender] = unpack_words(words, len(self.active))
        self.points[sender] = points
        return self._all_reported()

    def _all_reported(self) -> ServerEffects:
        """Once everybody that is there has reported: unmask, if nobody else takes part."""
        present = self._present(self.everybody)
        if any(n not in self.reports for n in present):
            return []
        self.group = tuple(present)
        return self._ask_seeds() if self.group == self.everybody else self._ask_rests()

    def _ask_rests(self) -> ServerEffects:
        self.asks, self.rests = "rests", {}
        self.group = tuple(self._present(self.group))
        return self._to(self.group, Survivors(self.round, self.group))

    def _rest(self, sender: int, number: int, survivors: int, words: bytes) -> ServerEffects:
        if number == self.round and survivors > len(self.group) and sender in self.group:
            return []  # it did not know yet of a loss that came after it was asked
        self._expect(sender, number, "rests", self.rests)
        self.rests[sender] = unpack_words(words, len(self.active))
        return self._ask_seeds() if len(self.rests) == len(self.group) else []

    def _ask_seeds(self) -> ServerEffects:
        self.asks = "seeds"
        self.asked = dict.fromkeys(self.group)
        return self._to(self.group, Unmask(self.round))

    def _unmasked(self, sender: int, number: int, seed: bytes) -> ServerEffects:
        self._expect(sender, number, "seeds", self.seeds)
        self.seeds[sender] = seed
        return self._all_seeds()

    def _share(self, sender: int, number: int, rank: int, share: bytes) -> ServerEffects:
        self._expect(sender, number, "seeds", self.shares.get(rank, (sender,)))
        self.shares[rank][sender] = unpack(share)[0]
        return self._all_seeds()

    def _all_seeds(self) -> ServerEffects:
        """Once each of the group's seeds is here, or can be found from shares: decide."""
        places = range(self.shared.dropouts)
        for lost, shares in list(self.shares.items()):
            if all(n in shares for n in self._present(self.group)):
                values = {place_of(n): share for n, share in shares.items()}
                values |= zip(map(place_of_point, places), unpack(self.points[lost]), strict=True)
                self.seeds[lost] = pack([interpolated(values, 0)])
                del self.shares[lost]
        if any(n not in self.seeds for n in self.group):
            return []
        effects = self._decide()
        self.reports, self.seeds, self.points, self.rests = {}, {}, {}, {}
        self.shares, self.asks = {}, "reports"
        return effects

    def _add_up(self) -> Words:
        """The sum of the group's reports without all masks that do not cancel."""
        total = np.zeros(len(self.active), dtype=np.uint64)
        for agent in self.group:
            report = self.reports[agent]
            total += report - keystream(self.seeds[agent], self.round, len(report))
        for rest in self.rests.values():
            total -= rest
        return total

    def _average(self) -> FloatArray:
        """ȳ = (S(r-1) ȳ + the round's sum / n) / S(r), over n agents."""
        active, latest = list(self.active), self.shared.from_words(self._add_up())
        before = self.counted * self.average[active]
        average: FloatArray = (before + latest / len(self.group)) / self.observed
        self.average[active], self.counted = average, self.observed
        return average
