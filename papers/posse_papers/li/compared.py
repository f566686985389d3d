"""What Li and Song 2022 compare DDP-MAB with: gossip with noise on a tree, and other graphs."""

from math import inf, log
from typing import Any

import numpy as np

from posse.extend import FloatArray
from posse_papers.audit import own_noise
from posse_papers.checks import above, equal, exponent
from posse_papers.experiment import Axes, Computation, Experiment, bars
from posse_papers.li.figures import GRAPHS, ddp
from posse_papers.sample import Sample, cost, cost_of_a_round, regret
from posse_papers.statements import claim, ours, over
from posse_systems.algorithms import Graph, HybridSums, ring

_MEANS = (0.9, 0.7, 0.5, 0.3, 0.1)
_AGENTS, _EPSILON = 8, 1.0


def weights(graph: Graph) -> FloatArray:
    """Metropolis weights: 1/(1 + the larger degree) for an edge, the rest for oneself."""
    found = np.zeros((graph.agents, graph.agents))
    for i, j in graph.edges():
        found[i, j] = found[j, i] = 1 / (1 + max(graph.degrees[i], graph.degrees[j]))
    return found + np.diag(1 - found.sum(axis=1))


def gossip(horizon: int, private: bool, *, generator: np.random.Generator) -> dict[str, Any]:
    """Federated UCB by gossip on a ring, in the manner of Zhu et al. 2021: cost and regret.

    In each slot an agent averages its neighbours' estimates by the weights and adds the change of
    its own mean, whose sum is the hybrid mechanism's at ε (`private`) or exact. The index adds
    sqrt(2 log t / (M n)) and the deviation of the noise, 2 log2^1.5(n) / (√M ε n). A slot costs one
    use of each edge, c2 = 1, as Table I counts them.
    """
    graph, noise, arms = ring(_AGENTS), own_noise(generator), len(_MEANS)
    mixing, gaps = weights(graph), max(_MEANS) - np.array(_MEANS)
    sums = [[HybridSums(1, _EPSILON, "half", noise) for _ in range(arms)] for _ in range(_AGENTS)]
    pulls, own, estimates = (np.zeros((_AGENTS, arms)) for _ in range(3))
    rows, lost = np.arange(_AGENTS), 0.0
    for t in range(1, horizon + 1):
        chosen = np.full(_AGENTS, t - 1)
        if t > arms:
            deviation = private * 2 / _EPSILON * np.log2(np.maximum(pulls, 2)) ** 1.5
            bonus = np.sqrt(2 * log(t) * pulls) + deviation
            chosen = (estimates + bonus / (np.sqrt(_AGENTS) * pulls)).argmax(axis=1)
        lost += float(gaps[chosen].sum())
        pulls[rows, chosen] += 1
        rewards = generator.random(_AGENTS) < np.take(_MEANS, chosen)
        before = own.copy()
        for agent, (arm, reward) in enumerate(zip(chosen, rewards, strict=True)):
            counter = sums[agent][arm]
            released = counter.insert(0, float(reward))[0]
            total = released if private else counter.sums[0]
            own[agent, arm] = total / pulls[agent, arm]
        estimates = mixing @ estimates + own - before
    return {"value": float(horizon * graph.size), "regret": lost}


def lost(sample: Sample) -> float | None:
    """The regret of a run, or of a computation."""
    return sample.regret if sample.status != "computed" else sample.numbers["regret"]


_GOSSIP, _OPEN = "gossip, noise on a tree", "gossip without noise"
_DDP, _PRINTED = "DDP-MAB, ε for each agent", "DDP-MAB, M ε as printed"
_TIMES = (2000, 8000)
_ARMS = {"kind": "bernoulli", "means": list(_MEANS)}


def _ddp(horizon: int, noise: str) -> dict[str, Any]:
    """DDP-MAB on the ring; its noise gives each agent ε, as the tree's does, if "per_agent"."""
    given = {"agents": _AGENTS, "arms": _ARMS, "horizon": horizon, "epsilon": _EPSILON}
    return ddp(GRAPHS["ring"], noise=noise, **given)


def several_stars(stars: int, leaves: int) -> list[list[int]]:
    """The edges of a multi-star: stars whose centres, agents 0 to `stars` - 1, are all linked."""
    centres = [[i, j] for i in range(stars) for j in range(i + 1, stars)]
    return centres + [[leaf % stars, leaf] for leaf in range(stars, stars * (leaves + 1))]


_TWENTY: dict[str, dict[str, Any]] = {
    "star": GRAPHS["star"],
    "multi-star": {"kind": "edges", "edges": several_stars(4, 4)},
    "4-regular": {"kind": "regular", "degree": 4},
    "ring": GRAPHS["ring"],
    "complete": GRAPHS["complete"],
}
_SPARSE = ("star", "multi-star")


EXPERIMENTS = (
    Experiment(
        "li-gossip", "section V-B4", "DDP-MAB against gossip with noise on a tree",
        claim("DDP-MAB's cost grows as log T, gossip's as T: by a small power of T", "V-B4",
              over(lambda at_most: exponent(_DDP, -inf, at_most), at_most=(0.1, 0.25, 0.5))),
        claim("more communication needs more noise, and so has more regret", "V-B4",
              over(lambda noise, horizon: above(_GOSSIP, noise, horizon, lost),
                   noise={"ε for each agent": _DDP, "M ε as printed": _PRINTED},
                   horizon=_TIMES)),
        ours("without its noise gossip has less regret than DDP-MAB",
             above(_DDP, _OPEN, metric=lost)),
        lines={
            _GOSSIP: {t: Computation(gossip, t, True) for t in _TIMES},
            _OPEN: {t: Computation(gossip, t, False) for t in _TIMES},
            _DDP: {t: _ddp(t, "per_agent") for t in _TIMES},
            _PRINTED: {t: _ddp(t, "printed") for t in _TIMES},
        },
        axes=Axes("horizon T", "cost of all links", "xy"), metric=cost, repeat=(6, 50),
        variants=("corrected",),
        assumed="A ring of M = 8, K = 5, means .9, .7, .5, .3, .1, ε = 1 for each agent, c2 = "
        "1. The paper compares bounds, by their order in T. Gossip is ours, after Zhu et al. 2021: "
        "its index adds one deviation of the noise.",
    ),
    Experiment(
        "li-sparse", "Table I, section V-B3", "DDP-MAB on a multi-star and a regular graph",
        claim("star and multi-star, with few edges and a small diameter, cost least", "V-B3",
              above(("4-regular", "ring", "complete"), _SPARSE, metric=cost_of_a_round)),
        claim("and have less regret than the ring", "V-B3",
              above("ring", _SPARSE, metric=regret)),
        claim("a round costs c2 d_G Σ d_i / 2 on a multi-star: 3 · 22", "Theorem 3, V-B1",
              equal({"multi-star": 66.0}, cost_of_a_round)),
        lines={name: ddp(graph, agents=20, arms=_ARMS) for name, graph in _TWENTY.items()},
        axes=bars("cost of a round"), metric=cost_of_a_round, repeat=(12, 100),
        variants=("corrected",),
        assumed="M = 20, K = 5, means .9, .7, .5, .3, .1, T = 10⁵, ε = 1, c2 = 1. Multi-star: four "
        "stars of five, their centres linked. 4-regular graphs are drawn for each run; their "
        "diameter is 3 or 4.",
    ),
)  # fmt: skip
