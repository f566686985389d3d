"""Federated epsilon-greedy: agents explore a little and follow the best arm of all.

In each round an agent pulls every arm `explore` times and sends the sums of its rewards. The
coordinator adds up the sums of all agents and rounds, and names the arm of the largest mean. Each
agent pulls that arm `exploit` times; then the next round begins.
"""

from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from posse.extend import (
    COORDINATOR,
    AgentContext,
    AgentEffects,
    AgentEvent,
    AgentRole,
    Broadcast,
    CoordinatorContext,
    Finish,
    Message,
    Parameters,
    PeerFinished,
    Pull,
    Pulled,
    Received,
    RemoteProtocolError,
    Send,
    ServerEffects,
    ServerEvent,
    ServerRole,
    Star,
    Started,
    System,
    unprotected,
)


class GreedySums(Message, frozen=True):
    """Agent to coordinator: the sum of each arm's explored rewards in a round."""

    round: int
    sums: Annotated[list[float], msgspec.Meta(max_length=100_000)]


class GreedyBest(Message, frozen=True):
    """Coordinator to agents: the arm of the largest mean after a round."""

    round: int
    arm: Annotated[int, msgspec.Meta(ge=0)]


class GreedyParameters(Parameters, frozen=True, kw_only=True):
    """`[parameters]` of the run file; a wrong key or value is refused by name."""

    rounds: Annotated[int, msgspec.Meta(ge=1)] = 20
    explore: Annotated[int, msgspec.Meta(ge=1)] = 1
    exploit: Annotated[int, msgspec.Meta(ge=1)] = 50


@dataclass
class GreedyAgent:
    """Explores, sends its sums, then exploits the arm that the coordinator names."""

    arms: int
    parameters: GreedyParameters
    round: int = 1
    best: int | None = None

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Started():
                return [self.exploration()]
            case Pulled(arms, _, sums) if len(arms) == self.arms:
                return [Send(COORDINATOR, GreedySums(self.round, sums.tolist()))]
            case Pulled():
                return self.next_round()
            case Received(_, GreedyBest(round, arm)) if round == self.round and arm < self.arms:
                self.best = arm
                return [Pull((arm,), self.parameters.exploit)]
            case _:
                raise RemoteProtocolError("out-of-turn", f"{event} in round {self.round}")

    def exploration(self) -> Pull:
        """The order to pull every arm `explore` times."""
        return Pull(tuple(range(self.arms)), self.parameters.explore)

    def next_round(self) -> AgentEffects:
        """Explore again, or finish with the arm that was named last."""
        self.round += 1
        if self.round > self.parameters.rounds:
            return [Finish("horizon", self.best)]
        return [self.exploration()]


@dataclass
class GreedyServer:
    """Adds up the sums of all agents, and names the best arm in each round."""

    agents: int
    arms: int
    round: int = 1
    best: int | None = None
    done: int = 0
    heard: set[int] = field(default_factory=set)
    totals: list[float] = field(default_factory=list)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Started():
                self.totals = [0.0] * self.arms
                return []
            case Received(sender, GreedySums(round, sums)):
                if round != self.round or sender in self.heard or len(sums) != self.arms:
                    raise RemoteProtocolError("out-of-turn", f"sums of round {round}")
                self.heard.add(sender)
                self.totals = [a + b for a, b in zip(self.totals, sums, strict=True)]
                return self.name_best() if len(self.heard) == self.agents else []
            case PeerFinished():
                self.done += 1
                return [Finish("horizon", self.best)] if self.done == self.agents else []
            case _:
                return []

    def missing(self) -> list[int]:
        """The agents that it waits for; posse names them if they stay silent."""
        return [agent for agent in range(self.agents) if agent not in self.heard]

    def name_best(self) -> ServerEffects:
        """Name the best arm, once all sums of the round are here."""
        self.best = max(range(self.arms), key=self.totals.__getitem__)
        announced = GreedyBest(self.round, self.best)
        self.round += 1
        self.heard = set()
        return [Broadcast(announced)]


def make_agent(context: AgentContext) -> GreedyAgent:
    """Make one agent's machine."""
    return GreedyAgent(context.arms, context.parameters)


def make_server(context: CoordinatorContext) -> GreedyServer:
    """Make the coordinator's machine."""
    return GreedyServer(context.agents, context.arms)


SYSTEM = System(
    name="NAME",
    title="federated epsilon-greedy",
    paper="yours",
    parameters=GreedyParameters,
    clocks=("slots",),
    shape=Star(AgentRole(make_agent, (GreedyBest,)), ServerRole(make_server, (GreedySums,))),
    claim=unprotected("Sums of rewards are sent as they are."),
)
