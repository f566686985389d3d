"""The coordinators of best-arm identification with private communications (Rio et al. 2023)."""

from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import (
    Broadcast,
    Finish,
    Note,
    PeerFinished,
    PeerLost,
    Received,
    ServerEffect,
    ServerEffects,
    ServerEvent,
    ServerMachine,
    Started,
)
from posse.seam.messages import FloatArray, RemoteProtocolError, unpack_floats
from posse.seam.results import observed
from posse_systems.rio2023.messages import (
    Eliminated,
    EliminationRow,
    Sample,
    Vote,
    VoteRow,
    eliminable,
    successive_elimination_radius,
)


def _announce(gone: tuple[int, ...], alive: tuple[int, ...]) -> list[ServerEffect]:
    """Announce the arms that have left G; if one arm is left in G, it is the answer."""
    if not gone:
        return []
    effects: list[ServerEffect] = [Note(EliminationRow(k)) for k in gone]
    effects.append(Broadcast(Eliminated(gone)))
    if len(alive) == 1:
        effects.append(Finish("identified", alive[0]))
    return effects


@dataclass(slots=True)
class MaseTally(ServerMachine):
    """The coordinator of MASE (Algorithm 1, lines 10 and 12 to 14) and of Algorithms 2 and 3.

    `voters[k]` are the λ_k agents that voted against arm k; k leaves G at `needed` votes. The last
    arm of G never leaves. Otherwise G could become empty: two arms may cross the threshold in one
    step while the voting agent's leader has already left.

    When every agent is done and |G| > 1, the answer is the arm of G with the fewest votes
    (`no_consensus`), or none if nobody voted at all.

    Votes received from a lost agent count. The run ends without an answer (`missing`) when a loss
    leaves too few agents for all arms of G but one to get the votes they need.
    """

    arms: int
    agents: int
    needed: int
    ties: np.random.Generator
    candidates: tuple[int, ...] = ()
    alive: tuple[int, ...] = ()
    voters: list[set[int]] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        match event:
            case Started():
                self.alive = self.candidates or tuple(range(self.arms))
                self.voters = [set() for _ in range(self.arms)]
                return []
            case Received(sender, Vote(arms)):
                self._check(sender, arms)
                return self._count(sender, arms)
            case PeerFinished(sender):
                self.done.add(sender)
                return self._end_if_all_are_done()
            case PeerLost(peer):
                return self._go_on_without(peer)
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _go_on_without(self, peer: int) -> ServerEffects:
        hoped = self._may_agree()
        self.lost.add(peer)
        if hoped and not self._may_agree():
            return [Finish("missing")]
        return self._end_if_all_are_done()

    def _may_agree(self) -> bool:
        """Whether the agents that can still vote can bring all arms of G but one to `needed`."""
        voting = set(range(self.agents)) - self.done - self.lost
        may_leave = [len(voting | self.voters[k]) >= self.needed for k in self.alive]
        return may_leave.count(False) <= 1

    def _check(self, sender: int, arms: tuple[int, ...]) -> None:
        if any(k >= self.arms for k in arms):
            raise RemoteProtocolError("no-such-arm", f"a vote for arm {max(arms)}")
        if list(arms) != sorted(set(arms)) or any(sender in self.voters[k] for k in arms):
            raise RemoteProtocolError("duplicate-vote", f"agent {sender} voted twice")

    def _count(self, sender: int, arms: tuple[int, ...]) -> ServerEffects:
        removed: list[int] = []
        for k in arms:
            self.voters[k].add(sender)
            if k in self.alive and len(self.alive) > 1 and len(self.voters[k]) >= self.needed:
                self.alive = tuple(a for a in self.alive if a != k)
                removed.append(k)
        return [*(Note(VoteRow(sender, k)) for k in arms), *_announce(tuple(removed), self.alive)]

    def _end_if_all_are_done(self) -> ServerEffects:
        # each agent that ends asks: to join the two sets then would take N² steps
        if len(self.done) + len(self.lost - self.done) < self.agents:
            return []
        if not any(self.voters):
            return [Finish("no_consensus")]
        fewest = min(len(self.voters[k]) for k in self.alive)
        tied = [k for k in self.alive if len(self.voters[k]) == fewest]
        return [Finish("no_consensus", tied[int(self.ties.integers(len(tied)))])]


@dataclass(slots=True)
class CentralEliminator(ServerMachine):
    """`central`: successive elimination with failure probability δ on one shared stream.

    A sample sent before its agent heard of an elimination still counts for the other arms. So do
    the samples of a lost agent.
    """

    arms: int
    agents: int
    delta: float
    candidates: tuple[int, ...] = ()
    t: int = 0
    alive: tuple[int, ...] = ()
    sums: FloatArray = field(default_factory=lambda: np.zeros(0))
    done: set[int] = field(default_factory=set)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        match event:
            case Started():
                self.alive = self.candidates or tuple(range(self.arms))
                self.sums = np.zeros(self.arms)
                return []
            case Received(_, Sample(arms, rewards)):
                return self._take(arms, rewards)
            case PeerFinished(peer) | PeerLost(peer):
                self.done.add(peer)
                return self._no_consensus() if len(self.done) == self.agents else []
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _take(self, arms: tuple[int, ...], rewards: bytes) -> ServerEffects:
        if any(k >= self.arms for k in arms):
            raise RemoteProtocolError("no-such-arm", f"a sample of arm {max(arms)}")
        if list(arms) != sorted(set(arms)) or not set(self.alive) <= set(arms):
            raise RemoteProtocolError(
                "wrong-arms", "a sample must hold every arm left exactly once"
            )
        self.sums[list(arms)] += unpack_floats(rewards, len(arms))
        self.t += 1
        means = self.sums[list(self.alive)] / self.t
        radius = successive_elimination_radius(float(self.t), self.arms, self.delta)
        losers = eliminable(self.alive, means, 2 * float(radius))
        left = tuple(k for k in self.alive if k not in losers)
        gone = self._known(losers if len(left) > 1 else self.alive)
        self.alive = left
        return [*gone, *_announce(losers, self.alive)]

    def _known(self, arms: tuple[int, ...]) -> list[ServerEffect]:
        """Note what is known of these arms, whose rewards the server was sent."""
        means = (self.sums / self.t).tolist()
        return [Note(observed(k, means[k], self.t, self.arms)) for k in arms]

    def _no_consensus(self) -> ServerEffects:
        if not self.t:
            return [Finish("no_consensus")]
        sums = self.sums[list(self.alive)]
        answer = self.alive[int(sums.argmax())]
        return [*self._known(self.alive), Finish("no_consensus", answer)]
