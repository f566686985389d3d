"""The servers of federated elimination (Li and Song 2022): they average means and drop arms."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from posse.seam.machines import (
    Broadcast,
    Finish,
    Note,
    PeerFinished,
    PeerLost,
    Received,
    Regrouped,
    Send,
    ServerEffect,
    ServerEffects,
    ServerEvent,
    ServerMachine,
    Started,
)
from posse.seam.messages import FloatArray, Message, RemoteProtocolError, Variant, unpack_floats
from posse_systems.li2022.messages import (
    Active,
    Means,
    RoundRow,
    Schedule,
    SinkMeans,
    check_plausible,
)


@dataclass(slots=True)
class _Server(ServerMachine):
    """Collects one message of kind `reads` per round from each agent in `asked`, then decides.

    When all agents have reached the horizon, the answer is the best arm of the last average.
    `plausible`: rewards lie in [0, 1], so means far outside are refused.
    """

    reads: ClassVar[type[Means | SinkMeans]]

    arms: int
    agents: int
    schedule: Schedule
    asked: dict[int, None] = field(default_factory=dict)
    candidates: tuple[int, ...] = ()
    round: int = 1
    observed: int = 0
    active: tuple[int, ...] = ()
    best: int | None = None
    means: dict[int, FloatArray] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    plausible: bool = False
    lost: set[int] = field(default_factory=set)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        match event:
            case Started():
                self.active = self.candidates or tuple(range(self.arms))
                return self._start()
            case Received(sender, message):
                return self._take(sender, message)
            case PeerFinished(sender):
                self.done.add(sender)
                return self._finish()
            case PeerLost(peer):
                self.lost.add(peer)
                return self._go_on_without(peer)
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def missing(self) -> list[int]:
        """The agents whose means the round still needs."""
        return [n for n in self.asked if n not in self.means]

    def _go_on_without(self, peer: int) -> ServerEffects:
        """Stop waiting for a lost agent; decide if its means were the last missing."""
        if peer in self.asked and peer not in self.means:
            del self.asked[peer]
            if self.means and not self.missing():
                return [*self.decide(), *self._finish()]
        return self._finish()

    def _start(self) -> ServerEffects:
        raise NotImplementedError

    def _average(self) -> FloatArray:
        raise NotImplementedError

    def _announce(self) -> ServerEffects:
        """Send Active(r): the active arms I."""
        return [Broadcast(Active(self.round, self.active))]

    def _take(self, sender: int, message: Message) -> ServerEffects:
        if not isinstance(message, self.reads):
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        if message.round != self.round or len(self.active) == 1:
            raise RemoteProtocolError("out-of-turn", f"means of round {message.round}")
        if sender not in self.asked:
            raise RemoteProtocolError("unasked", f"agent {sender} was not asked")
        if sender in self.means:
            raise RemoteProtocolError("duplicate", f"agent {sender} sent its means twice")
        means = unpack_floats(message.means, len(self.active))
        if self.plausible:
            observed = self.schedule.observations(self.round, len(self.active), self.observed)
            check_plausible(means, self.schedule.margin(self.round, self.observed, observed))
        self.means[sender] = means
        return [] if len(self.means) < len(self.asked) else self.decide()

    def decide(self) -> ServerEffects:
        """Drop arms by the means of all that were asked."""
        r, active = self.round, self.active
        self.observed = self.schedule.observations(r, len(active), self.observed)
        average = self._average()
        self.best = active[int(average.argmax())]
        count = self._count()
        self.active = self.schedule.survivors(r, active, self.observed, average, count)
        self.means = {}
        notes: list[ServerEffect] = [
            Note(RoundRow(self.round, len(self.active), self.observed, len(self.asked)))
        ]
        estimates = self.schedule.estimates(r, active, self.observed, average, count)
        notes += [Note(estimate) for estimate in estimates if self._unbiased]
        self.round += 1
        return [*notes, *self._announce()]

    def _count(self) -> int:
        """The number of agents whose means enter the round's average."""
        return len(self.asked)

    @property
    def _unbiased(self) -> bool:
        """Whether the average estimates the arms' means."""
        return True

    def _finish(self) -> ServerEffects:
        """Finish the run if every agent is done or lost."""
        # each agent that ends asks: to join the two sets then would take N² steps
        if len(self.done) + len(self.lost - self.done) < self.agents:
            return []
        if self.lost and self.best is None:
            return [Finish("missing")]
        status = "identified" if len(self.active) == 1 else "horizon"
        return [Finish(status, self.best)]


@dataclass(slots=True)
class CdpServer(_Server):
    """CDP-MAB (Algorithm 1, lines 12 to 15).

    With `senders` < M it draws that many agents in each round and asks only them. If an agent is
    lost before its means arrive, the next agent in `spare` replaces it: the others, in an order
    drawn once per round. So the replacement is the same whether the server learns of the loss
    before the round or during it.
    """

    reads = Means

    choice: np.random.Generator = field(default_factory=np.random.default_rng)
    spare: list[int] | None = None

    def _start(self) -> ServerEffects:
        if self.schedule.senders < self.agents:
            return self._announce()
        self.asked = dict.fromkeys(range(self.agents))
        return []

    def _average(self) -> FloatArray:
        total: FloatArray = np.stack([self.means[n] for n in self.asked]).mean(axis=0)
        return total

    def _announce(self) -> ServerEffects:
        """Send Active(r), and to each agent whether to upload its means."""
        senders = self.schedule.senders
        present = [n for n in range(self.agents) if n not in self.lost]
        if senders == self.agents:
            self.asked = dict.fromkeys(present)
            return _Server._announce(self)
        drawn: list[int] = self.choice.choice(self.agents, senders, replace=False).tolist()
        self.asked, self.spare = dict.fromkeys(sorted(drawn)), None
        for peer in drawn:
            if peer in self.lost:
                self._replace(peer, self._next_spare())
        return [Send(n, Active(self.round, self.active, n in self.asked)) for n in present]

    def _next_spare(self) -> int | None:
        """The agent to ask instead of a lost one; None if none is left."""
        if self.spare is None:
            others = [n for n in range(self.agents) if n not in self.asked]
            self.spare = self.choice.permutation(others).tolist()
        cannot = {*self.lost, *self.done, *self.asked}
        return next((n for n in self.spare if n not in cannot), None)

    def _replace(self, peer: int, instead: int | None) -> None:
        others = [n for n in self.asked if n != peer]
        self.asked = dict.fromkeys(sorted(others if instead is None else [*others, instead]))

    def _go_on_without(self, peer: int) -> ServerEffects:
        if peer in self.asked and peer not in self.means and len(self.active) > 1:
            instead = self._next_spare()
            if instead is not None:
                self._replace(peer, instead)
                return [Send(instead, Active(self.round, self.active, upload=True))]
        return _Server._go_on_without(self, peer)


@dataclass(slots=True, kw_only=True)
class HdpServer(_Server):
    """HDP-MAB (Algorithm 5, lines 13 to 16).

    A sink's average weighs M_q/M; the paper prints 1/Q, wrong where sizes differ.

    `sinks` holds pairs (sink, M_q). After a loss the server drops the round's averages and waits
    until `Regrouped` names the new sinks.
    """

    reads = SinkMeans

    sinks: tuple[tuple[int, int], ...]
    variant: Variant

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        if isinstance(event, Regrouped):
            self.sinks = tuple((int(sink), int(size)) for sink, size in event.knowledge["sinks"])
            return self._start()
        return _Server.handle(self, event, now)

    def _go_on_without(self, peer: int) -> ServerEffects:
        self.asked, self.means = {}, {}
        return self._finish()

    def _start(self) -> ServerEffects:
        self.asked = dict.fromkeys(sink for sink, _ in sorted(self.sinks))
        return []

    def _average(self) -> FloatArray:
        total: FloatArray = np.zeros(len(self.active))
        for sink, size in sorted(self.sinks):
            weight = size / self._count() if self.variant == "corrected" else 1 / len(self.sinks)
            total += weight * self.means[sink]
        return total

    def _count(self) -> int:
        return sum(size for _, size in self.sinks)

    @property
    def _unbiased(self) -> bool:
        return self.variant == "corrected"
