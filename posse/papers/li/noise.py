"""The privacy of Li and Song 2022, and the noise of their averages, by the real machines."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agent.federated import CdpAgent
from posse.papers.audit import ASSUMED, audit, audits, counted, mechanisms, own_noise, spends
from posse.papers.checks import matches, rate
from posse.papers.experiment import Axes, Computation, along, computed
from posse.papers.statements import claim, ours
from protocol.federated import Active, Means, Schedule
from protocol.machine import (
    COORDINATOR,
    AgentEffects,
    FloatArray,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from protocol.shared import SharedNoise

_MORE = 50
_FEW, _ARMS, _EPSILON = 10, 100, 0.1


def answer(
    agent: CdpAgent, effects: AgentEffects, sums: Callable[[int], FloatArray]
) -> tuple[FloatArray, int]:
    """The means that an agent sends when n pulls of its arms give these sums, and n."""
    (pull,) = (e for e in effects if isinstance(e, Pull))
    answered = agent.handle(Pulled(pull.arms, pull.times, sums(pull.times)), 0.0)
    (sent,) = (e.message for e in answered if isinstance(e, Send))
    assert isinstance(sent, Means)
    return np.frombuffer(sent.means, dtype="<f8"), pull.times


def averages(
    generator: np.random.Generator, r: int, mean: float
) -> tuple[FloatArray, int, Schedule]:
    """Round r's averages of ten agents' means, all rewards of this mean; S(r); the schedule."""
    schedule = Schedule(arms=_ARMS, senders=_FEW, horizon=10**12, epsilon=_EPSILON)
    noise, everything = own_noise(generator), tuple(range(_ARMS))
    means = np.zeros((_FEW, _ARMS))
    observed = 0
    for number in range(_FEW):
        agent = CdpAgent(_ARMS, schedule, noise)
        effects = agent.handle(Started(), 0.0)
        for step in range(1, r + 1):
            means[number], _ = answer(
                agent, effects, lambda n: generator.binomial(n, mean, _ARMS).astype(float)
            )
            observed = agent.observed
            if step < r:
                effects = agent.handle(Received(COORDINATOR, Active(step + 1, everything)), 0.0)
    return means.mean(axis=0), observed, schedule


def deviation(r: int, *, generator: np.random.Generator) -> float:
    """The deviation of the averages of the noise alone, over sqrt(2r) / (M^1.5 ε S(r))."""
    average, observed, _ = averages(generator, r, 0.0)
    told = math.sqrt(2 * r) / (_FEW**1.5 * _EPSILON * observed)
    return float(np.sqrt((average**2).mean()) / told)


def event(r: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """How many averages of Bernoulli(1/2) rewards lie farther than C(r) from 1/2."""
    average, observed, schedule = averages(generator, r, 0.5)
    far = int((np.abs(average - 0.5) > schedule.radius(r, _ARMS, observed)).sum())
    return {"value": far / _ARMS, "hits": far, "of": _ARMS}


def first_message(
    trials: int,
    agents: int,
    epsilon: float,
    reading: Any,
    claimed: float,
    *,
    generator: np.random.Generator,
) -> dict[str, Any]:
    """The first means that an agent of CDP-MAB sends. S: the mean exceeds the larger true one."""
    noise = own_noise(generator)
    schedule = Schedule(arms=2, senders=agents, horizon=10_000, epsilon=epsilon, noise=reading)

    def release(changed: bool) -> bool:
        agent = CdpAgent(2, schedule, noise)
        sums = np.array([float(changed), 0.0])
        means, pulls = answer(agent, agent.handle(Started(), 0.0), lambda n: sums)
        return bool(means[0] > 1 / pulls)

    return audit(trials, release, claimed)


def shared_sum(
    trials: int, agents: int, epsilon: float, delta: float, *, generator: np.random.Generator
) -> dict[str, Any]:
    """What the server reads of an arm and a round with shared noise, if half the agents are honest.

    The others add nothing and tell it their sums, so that the sum of the honest agents' noisy sums
    is left. S: it exceeds the larger true one by two deviations. Gaussian noise of such a δ' hides
    far more than ε in all but the rarest cases, so that it takes `_MORE` times as many releases.
    """
    noise = own_noise(generator)
    shared = SharedNoise(agents, epsilon, delta, honest=0.5, precision=16)
    trials *= _MORE

    def hits(reward: float) -> int:
        total = np.zeros(trials, dtype=np.int64)
        for agent in range(shared.honest_agents):
            mine = shared.to_integers(np.full(trials, reward if agent == 0 else 0.0))
            total += noise.discrete_gaussian(mine, shared.share)
        return int((total > shared.sensitivity + 2 * shared.deviation).sum())

    return counted(hits(1.0), hits(0.0), trials, epsilon, delta)


EXPERIMENTS = (
    audits(
        "li-audit", "", "How much privacy CDP-MAB with other noise spends",
        ours("with noise for each agent by itself its messages are ε-private",
             spends("noise per agent, ε")),
        ours("with shared noise the sum that the server reads is (ε, δ')-private, even if half of "
             "the agents tell it theirs", spends("shared noise, (ε, δ')")),
        lines=mechanisms({
            "noise per agent, ε": (first_message, 4, 0.5, "per_agent", 0.5),
            "shared noise, (ε, δ')": (shared_sum, 4, 0.5, 1e-6),
        }),
        assumed=f"{ASSUMED} M = 4, ε = .5, the first message of one agent. With shared noise (δ' "
        "= 10⁻⁶, half of the agents honest) the server reads a sum over all, no message of one.",
    ),
    computed(
        "li-noise", "Theorem 1, event E_R",
        "The noise of an average, and how often it is too large",
        claim("ȳ_k is within C(r) of the mean but for a small probability (here: .1 %)",
              "Theorem 1, equations 15, 19", rate("beyond C(r)", 0.001, pooled=True)),
        ours("the noise of ȳ_k has deviation sqrt(2r) / (M^1.5 ε S(r))",
             # the mean square is unbiased where its root is not
             matches("deviation", 1.0, widened=1.4, metric=lambda of: of.numbers["value"] ** 2)),
        lines=along(Computation, {"deviation": deviation, "beyond C(r)": event}, (1, 2, 3, 4, 5)),
        axes=Axes("round r", "deviation over the computed; share beyond C(r)"), repeat=(20, 100),
        assumed="M = 10, K = 100, ε = .1, no arm is dropped; T = 10¹² only in the logarithms. "
        "Fact 2 of the proof needs P_r = log(8Kr²T) < M, which fails at M = 5 and at M = 10.",
    ),
)  # fmt: skip
