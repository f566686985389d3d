"""CDP-MAB's server where the agents share the noise: it can read only sums over all agents."""

from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import (
    Broadcast,
    Finish,
    PeerLost,
    Received,
    Send,
    ServerEffect,
    ServerEffects,
    ServerEvent,
)
from posse.seam.masking import (
    Answer,
    Covered,
    Keys,
    Masked,
    MaskedSum,
    Orders,
    PublicKey,
    check_key,
)
from posse.seam.messages import FloatArray, RemoteProtocolError, Signer
from posse_systems.li2022.server import CdpServer
from posse_systems.li2022.shared import SharedNoise


@dataclass(slots=True, kw_only=True)
class SharedNoiseServer(CdpServer):
    """Collects every agent's key; then in each round its masked sums and the seeds to unmask them.

    Where more agents are lost than `shared.dropouts`, the run ends as `missing`, unless one arm is
    left. `group` are the agents of the last sum.

    `average` is ȳ of each of the K arms, from `counted` observations of each agent.
    """

    shared: SharedNoise
    signer: Signer | None = None
    keys: dict[int, bytes] = field(default_factory=dict)
    sums: MaskedSum | None = None
    group: tuple[int, ...] = ()
    counted: int = 0
    average: FloatArray = field(default_factory=lambda: np.zeros(0))

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        match event:
            case Received(sender, PublicKey(key)):
                return self._meet(sender, key)
            case Received(sender, Masked(number, words)) if not self.shared.dropouts:
                return self._report(sender, number, words, b"")
            case Received(sender, Covered(number, words, points)) if self.shared.dropouts:
                return self._report(sender, number, words, points)
            case Received(sender, message) if isinstance(message, Answer):
                return self._order(self._require_sums(message.number).take(sender, message))
            case PeerLost(peer) if len(self.active) > 1:
                self.lost.add(peer)
                if len(self.lost) > self.shared.dropouts:
                    return [Finish("missing")]
                go_on = self._tell_keys() if not self.sums else self._order(self.sums.lose(peer))
                return [*go_on, *self._finish()]
            case _:
                return CdpServer.handle(self, event, now)

    def missing(self) -> list[int]:
        """The agents whose message the round still needs."""
        if self.sums is None:
            return [n for n in range(self.agents) if n not in self.keys and n not in self.lost]
        return self.sums.missing()

    def _start(self) -> ServerEffects:
        self.average = np.zeros(self.arms)
        return CdpServer._start(self)

    def _meet(self, sender: int, key: bytes) -> ServerEffects:
        if sender in self.keys:
            raise RemoteProtocolError("duplicate-key", f"agent {sender}")
        check_key(sender, key, self.signer)
        self.keys[sender] = key
        return self._tell_keys()

    def _tell_keys(self) -> ServerEffects:
        """Once the key of everybody that is there is here."""
        present = tuple(n for n in range(self.agents) if n not in self.lost)
        if any(n not in self.keys for n in present):
            return []
        dropouts = self.shared.dropouts - (self.agents - len(present))
        self.sums = MaskedSum(self.round, present, dropouts, settles=self.shared.dropouts > 0)
        return self._order([(present, Keys({n: self.keys[n] for n in present}))])

    def _require_sums(self, number: int) -> MaskedSum:
        if self.sums is None or number != self.round or len(self.active) == 1:
            raise RemoteProtocolError("out-of-turn", f"a message of round {number}")
        return self.sums

    def _report(self, sender: int, number: int, words: bytes, points: bytes) -> ServerEffects:
        width = len(self.active)
        return self._order(self._require_sums(number).report(sender, words, points, width))

    def _order(self, orders: Orders) -> ServerEffects:
        """Send orders, and decide if the round's sum is complete."""
        effects: list[ServerEffect] = []
        for agents, message in orders:
            if self.lost or len(agents) < self.agents:
                effects += [Send(n, message) for n in agents]
            else:
                effects.append(Broadcast(message))
        if self.sums is None or not self.sums.complete:
            return effects
        self.group = self.sums.group
        self.asked = dict.fromkeys(self.group)
        if not self._plausible():
            return [*effects, Finish("implausible")]
        effects += self.decide()
        last = self.sums
        self.sums = MaskedSum(
            self.round, last.members, last.dropouts, settles=last.settles, lost=set(self.lost)
        )
        return effects

    def _plausible(self) -> bool:
        """Whether rewards in [0, 1] and the noise can give the round's sums.

        That is all that can be asked of a sum: who added too much to it, nobody knows.
        """
        assert self.sums is not None
        observed = self.schedule.observations(self.round, len(self.active), self.observed)
        most = len(self.group) * (observed - self.counted)
        sums = self.shared.from_words(self.sums.total())
        margin = self.shared.farthest + len(self.group) / (1 << self.shared.precision)
        return bool(((sums >= -margin) & (sums <= most + margin)).all())

    def _average(self) -> FloatArray:
        """ȳ = (S(r-1) ȳ + the round's sum / n) / S(r), over n agents."""
        assert self.sums is not None
        active, latest = list(self.active), self.shared.from_words(self.sums.total())
        before = self.counted * self.average[active]
        average: FloatArray = (before + latest / len(self.group)) / self.observed
        self.average[active], self.counted = average, self.observed
        return average
