"""Machines of a mesh driven by hand, in any order of arrival, with a hand on the wire."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    AgentEffects,
    Broadcast,
    Finish,
    PeerLost,
    Pull,
    Pulled,
    Received,
    Refuse,
    Started,
)
from posse.topologies.graphs import Graph
from posse_systems.dubey2020.agent import CooperativeAgent, SharedMeans
from posse_systems.dubey2020.flooding import CooperativeLearner, Flood
from posse_systems.dubey2020.messages import Bundle

Tamper = Callable[[int, int, Bundle], list[Bundle]]


def as_it_is(sender: int, to: int, bundle: Bundle) -> list[Bundle]:
    return [bundle]


def agents_with(
    graph: Graph, gamma: int, horizon: int, learners: list[CooperativeLearner]
) -> list[CooperativeAgent]:
    """One agent for each learner."""
    agents = []
    for rank, learner in enumerate(learners):
        near, record = graph.neighbours[rank], learner.message.dtype
        flood = Flood(rank, near, graph.agents, gamma, record)
        agents.append(CooperativeAgent(horizon, learner, flood))
    return agents


def means_agents(graph: Graph, gamma: int, arms: int, horizon: int) -> list[CooperativeAgent]:
    """Agents of `cooperative-ucb`."""
    learners: list[CooperativeLearner] = [
        SharedMeans(arms, np.random.default_rng(rank), (0.0, 1.0)) for rank in range(graph.agents)
    ]
    return agents_with(graph, gamma, horizon, learners)


class Mesh:
    """Runs agents to the end; `choices[m]` are the arms m pulled, `refused[m]` what it refused.

    `losses[m]` is after how many pulls m is lost; its neighbours hear of it when they do.
    """

    def __init__(
        self,
        graph: Graph,
        agents: list[CooperativeAgent],
        means: list[float],
        order: np.random.Generator,
        tamper: Tamper = as_it_is,
        losses: dict[int, int] | None = None,
    ) -> None:
        self._losses = losses or {}
        self._gone: list[tuple[int, int, None]] = []
        self.choices: list[list[int]] = [[] for _ in agents]
        self.refused: list[Counter[str]] = [Counter() for _ in agents]
        self.finished: dict[int, Finish] = {}
        self.bundles: list[tuple[int, int, Bundle]] = []
        self._links: dict[tuple[int, int], list[Bundle]] = {}
        self._graph, self._agents, self._tamper = graph, agents, tamper
        self._rewards = [np.random.default_rng([7, rank]) for rank in range(len(agents))]
        self._means = means
        self._orders: dict[int, int | None] = {}
        for rank, agent in enumerate(agents):
            self._do(rank, agent.handle(Started(), 0.0))
        while True:
            ready: list[tuple[int | None, ...]] = [(rank,) for rank in self._orders]
            ready += self._gone
            ready += [link for link, queue in self._links.items() if queue]
            if not ready:
                break
            match ready[int(order.integers(len(ready)))]:
                case (int(rank),):
                    self._pull(rank)
                case (int(peer), int(to), None):
                    self._gone.remove((peer, to, None))
                    if to not in self.finished:
                        self._do(to, agents[to].handle(PeerLost(peer), 0.0))
                case (int(sender), int(to)):
                    self._deliver(sender, to)

    def _pull(self, rank: int) -> None:
        arm = self._orders.pop(rank)
        if len(self.choices[rank]) == self._losses.get(rank):
            self._gone += [(rank, to, None) for to in self._graph.neighbours[rank]]
            return
        self.choices[rank].append(arm)
        reward = float(self._rewards[rank].random() < self._means[arm])
        self._do(rank, self._agents[rank].handle(Pulled((arm,), 1, np.array([reward])), 0.0))

    def _deliver(self, sender: int, to: int) -> None:
        bundle = self._links[sender, to].pop(0)
        if to in self.finished:
            return
        try:
            self._do(to, self._agents[to].handle(Received(sender, bundle), 0.0))
        except RemoteProtocolError as error:
            self.refused[to][error.reason] += 1

    def _do(self, rank: int, effects: AgentEffects) -> None:
        for effect in effects:
            match effect:
                case Pull(arms, _):
                    self._orders[rank] = arms[0]
                case Broadcast(Bundle() as message):
                    for to in self._graph.neighbours[rank]:
                        self.bundles.append((rank, to, message))
                        sent = self._tamper(rank, to, message)
                        self._links.setdefault((rank, to), []).extend(sent)
                case Refuse(reason, _, count):
                    self.refused[rank][reason] += count
                case Finish():
                    self.finished[rank] = effect
