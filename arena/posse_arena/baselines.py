"""Baselines that bandits are compared with, alone and cooperating without privacy.

Named in a run file as `system = "posse_arena.baselines:MOSS"`. They are made by what `posse.extend`
offers to everybody: one agent, and for each baseline a function that gives every arm an index.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from posse.extend import (
    AgentContext,
    AgentEffects,
    AgentEvent,
    AgentRole,
    Alone,
    Broadcast,
    Finish,
    FloatArray,
    Loss,
    Mesh,
    Message,
    Network,
    Parameters,
    PeerLost,
    Pull,
    Pulled,
    Received,
    RemoteProtocolError,
    RunSpec,
    Started,
    System,
    UnitInterval,
    Wiring,
    along,
    unprotected,
)


class AloneHorizon(Parameters, frozen=True, kw_only=True):
    """Every agent by itself."""

    horizon: Annotated[int, Meta(ge=1, description="T, slots")]


class SharedHorizon(AloneHorizon, frozen=True, kw_only=True):
    """Agents that tell their neighbours what they know."""

    gamma: Annotated[int, Meta(ge=1, description="γ, how many hops a message travels")] = 1


ExploredShare = Annotated[float, Meta(ge=0, le=1, description="ε, share of random pulls")]


class AloneGreedy(AloneHorizon, frozen=True, kw_only=True):
    """`EPSILON_GREEDY`; `epsilon` is the name of privacy's."""

    explore: ExploredShare = 0.1


class SharedGreedy(SharedHorizon, frozen=True, kw_only=True):
    """`COOPERATIVE_EPSILON_GREEDY`."""

    explore: ExploredShare = 0.1


class KnownSums(Message, frozen=True):
    """What an agent knows after a slot: pulls and sums of each arm, agent after agent.

    `hops` says how far each agent's numbers have come.
    """

    slot: int
    agents: list[int]
    hops: list[int]
    pulls: list[int]
    sums: list[float]


@dataclass(frozen=True)
class Known:
    """By what an agent chooses: `pulls` and `means`, shape (K,), in slot t of T = `horizon`.

    `horizon` is times the number of agents that share.
    """

    pulls: FloatArray
    means: FloatArray
    t: int
    horizon: int
    parameters: Any
    draws: np.random.Generator


IndexRule = Callable[[Known], FloatArray]
"""Each arm's index, shape (K,); the agent pulls the arm of the largest."""


def thompson(known: Known) -> FloatArray:
    """A draw from Beta(1 + s_k, 1 + n_k - s_k) (Thompson 1933; Agrawal and Goyal 2012).

    Rewards between 0 and 1 count by their size.
    """
    won = known.pulls * known.means
    return known.draws.beta(1 + won, 1 + np.maximum(known.pulls - won, 0))


def kl_ucb(known: Known) -> FloatArray:
    """The largest q with n_k d(μ̂_k, q) <= log t (Garivier and Cappé 2011, equation 6, c = 0)."""
    low, high = known.means, np.ones_like(known.means)
    p = np.clip(known.means, 1e-12, 1 - 1e-12)
    for _ in range(40):
        q = (low + high) / 2
        inside = np.clip(q, 1e-12, 1 - 1e-12)
        d = p * np.log(p / inside) + (1 - p) * np.log((1 - p) / (1 - inside))
        fits = known.pulls * d <= math.log(known.t)
        low, high = np.where(fits, q, low), np.where(fits, high, q)
    return low


def epsilon_greedy(known: Known) -> FloatArray:
    """The means, or with probability ε nothing but chance (Sutton and Barto 2018, section 2.2)."""
    by_chance = known.draws.random() < known.parameters.explore
    return known.draws.random(len(known.means)) if by_chance else known.means


def moss(known: Known) -> FloatArray:
    """μ̂_k + sqrt(max(log(T / (K n_k)), 0) / n_k) (Audibert and Bubeck 2009, section 2)."""
    n = known.pulls
    return known.means + np.sqrt(np.log(np.maximum(known.horizon / (len(n) * n), 1)) / n)


@dataclass
class BaselineAgent:
    """Pulls each arm once, then the arm of the largest index; tells neighbours all that it knows.

    With neighbours it decides in slot t by what they sent after slot t - 1. `numbers` has pulls and
    sums, shape (2, K), and hops of every agent that it knows; `heard` the messages by slot and
    sender.
    """

    rank: int
    agents: int
    arms: int
    neighbours: tuple[int, ...]
    parameters: AloneHorizon
    ties: np.random.Generator
    draws: np.random.Generator
    index: IndexRule
    t: int = 0
    numbers: dict[int, tuple[FloatArray, int]] = field(default_factory=dict)
    heard: dict[int, dict[int, KnownSums]] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    waiting: bool = False

    def __post_init__(self) -> None:
        self.numbers[self.rank] = np.zeros((2, self.arms)), 0

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Started():
                return [self.choose()]
            case Pulled(arms, _, sums):
                return self.learn(arms[0], float(sums[0]))
            case Received(sender, KnownSums(slot) as told) if self.may_say(sender, told):
                self.heard.setdefault(slot, {})[sender] = told
            case PeerLost(peer):
                self.lost.add(peer)
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)
        return self.go_on() if self.waiting else []

    def may_say(self, sender: int, told: KnownSums) -> bool:
        """Whether a message fits its slot, and has possible numbers for each agent it names."""
        return (
            told.slot in (self.t, self.t + 1)
            and sender not in self.heard.get(told.slot, {})
            and len(told.hops) == len(told.agents)
            and len(told.pulls) == len(told.sums) == len(told.agents) * self.arms
            and all(0 <= agent < self.agents for agent in told.agents)
            and all(0 <= hops < self.agents for hops in told.hops)
            and all(0 <= s <= n <= told.slot for n, s in zip(told.pulls, told.sums, strict=True))
        )

    def learn(self, arm: int, reward: float) -> AgentEffects:
        """Count a reward, tell it to the neighbours, and go on when they have told theirs."""
        own, _ = self.numbers[self.rank]
        own[:, arm] += 1, reward
        said = [Broadcast(self.message())] if self.neighbours else []
        if self.t == self.parameters.horizon:
            return [*said, Finish("horizon", int(own[0].argmax()))]
        self.waiting = True
        return [*said, *self.go_on()]

    def message(self) -> KnownSums:
        """The numbers of all whose messages may travel one hop more."""
        gamma = getattr(self.parameters, "gamma", 0)
        near = [agent for agent in sorted(self.numbers) if self.numbers[agent][1] < gamma]
        table = np.array([self.numbers[agent][0] for agent in near])
        pulls: list[int] = table[:, 0].astype(int).ravel().tolist()
        hops = [self.numbers[agent][1] for agent in near]
        return KnownSums(self.t, near, hops, pulls, table[:, 1].ravel().tolist())

    def go_on(self) -> AgentEffects:
        """Begin the next slot, if all neighbours have spoken."""
        told = self.heard.get(self.t, {})
        if {*self.neighbours} - self.lost - {*told}:
            return []
        for sender in sorted(self.heard.pop(self.t, {})):
            self.merge(told[sender])
        self.waiting = False
        return [self.choose()]

    def merge(self, told: KnownSums) -> None:
        """Take each agent's numbers that are newer than those known: of more pulls."""
        shape = (len(told.agents), self.arms)
        tables = np.stack((np.reshape(told.pulls, shape), np.reshape(told.sums, shape)), axis=1)
        for agent, table, hops in zip(told.agents, tables.astype(float), told.hops, strict=True):
            before, _ = self.numbers.get(agent, (np.zeros_like(table), 0))
            if agent != self.rank and table[0].sum() > before[0].sum():
                self.numbers[agent] = table, hops + 1

    def choose(self) -> Pull:
        """The pull of the next slot; equal indices are decided by lot."""
        self.t += 1
        if self.t <= self.arms:
            return Pull((self.t - 1,), 1)
        pulls, sums = np.sum([self.numbers[agent][0] for agent in sorted(self.numbers)], axis=0)
        plays = self.parameters.horizon * len(self.numbers)
        known = Known(pulls, sums / pulls, self.t, plays, self.parameters, self.draws)
        index = self.index(known)
        return Pull((int(self.ties.choice(np.flatnonzero(index == index.max()))),), 1)


def _make(context: AgentContext, index: IndexRule) -> BaselineAgent:
    return BaselineAgent(
        rank=context.rank,
        agents=context.agents,
        arms=context.arms,
        neighbours=context.neighbours,
        parameters=context.parameters,
        ties=context.ties,
        draws=context.draws,
        index=index,
    )


def _links(spec: RunSpec, parameters: SharedHorizon, run: int) -> Network:
    return along(spec.graph(run))


def _systems(
    name: str,
    index: IndexRule,
    paper: str,
    parameters: tuple[type[AloneHorizon], type[SharedHorizon]] = (AloneHorizon, SharedHorizon),
) -> tuple[System, System]:
    """The baseline as agents alone, and as agents that share their sums."""
    make = partial(_make, index=index)
    common = partial(
        System, paper=paper, clocks=("slots",), unit_interval=UnitInterval(), one_form=True
    )
    return common(
        name=name,
        title=f"{name}, every agent alone",
        parameters=parameters[0],
        shape=Alone(make),
        claim=unprotected("Nothing is sent; whoever sees an agent's pulls learns of its rewards."),
    ), common(
        name=f"cooperative {name}",
        title=f"{name}, agents that tell each other their sums",
        parameters=parameters[1],
        shape=Mesh(AgentRole(make, (KnownSums,)), Wiring(_links, broadcasts=True)),
        claim=unprotected("Sums of rewards are sent as they are, after every reward."),
        loss=Loss("What the missing said last was used on.", "continue"),
    )


THOMPSON, COOPERATIVE_THOMPSON = _systems(
    "Thompson sampling", thompson, "Thompson 1933; Agrawal and Goyal 2012"
)
KL_UCB, COOPERATIVE_KL_UCB = _systems("KL-UCB", kl_ucb, "Garivier and Cappé 2011")
MOSS, COOPERATIVE_MOSS = _systems("MOSS", moss, "Audibert and Bubeck 2009")
EPSILON_GREEDY, COOPERATIVE_EPSILON_GREEDY = _systems(
    "ε-greedy", epsilon_greedy, "Sutton and Barto 2018", (AloneGreedy, SharedGreedy)
)
