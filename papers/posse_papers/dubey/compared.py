"""What Dubey and Pentland 2020 set intervals against, trees, and a life between whole numbers."""

from math import inf, log
from typing import Any

import numpy as np

from posse_papers.audit import own_noise
from posse_papers.checks import about_ratio, above, exponent, ratio
from posse_papers.dubey.figures import REGRET
from posse_papers.dubey.plain import drawn_graph, rings, spread
from posse_papers.experiment import Axes, Computation, Experiment, bars, computed, run_file
from posse_papers.sample import regret
from posse_papers.statements import claim, ours, over
from posse_systems.algorithms import HybridSums

_MEANS = (0.9, 0.7, 0.5, 0.3, 0.1)
_SLOTS = 300
_AGENTS = (4, 8, 32)


def with_trees(agents: int, trees: int, power: float, *, generator: np.random.Generator) -> float:
    """The regret of M agents that decide by the sums of hybrid mechanisms, ε = 1, in every slot.

    All agents know all sums one slot later, as on a complete graph. `trees` is how many an arm has:
    M (section 3.2), or one for all rewards. The noise of n rewards' sum has about the deviation
    2 log2^1.5(n)/ε, and the index adds as much for each tree; `power` 1 adds deviations, 2 their
    squares, as of independent noise.
    """
    gaps = max(_MEANS) - np.array(_MEANS)
    noise, arms = own_noise(generator), len(_MEANS)
    sums = [[HybridSums(1, 1.0, "half", noise) for _ in range(arms)] for _ in range(trees)]
    released, pulls = np.zeros((trees, arms)), np.zeros((trees, arms), dtype=int)
    lost = 0.0
    for t in range(1, _SLOTS + 1):
        arm = t - 1
        if t > arms:
            total = pulls.sum(axis=0)
            deviations = 2 * np.log2(np.maximum(pulls, 2)) ** 1.5
            error = (deviations**power).sum(axis=0) ** (1 / power)
            index = (released.sum(axis=0) + error) / total + np.sqrt(2 * log(t) / total)
            arm = int(index.argmax())
        for agent, reward in enumerate(generator.random(agents) < _MEANS[arm]):
            tree = agent % trees
            released[tree, arm] = sums[tree][arm].insert(0, float(reward))[0]
            pulls[tree, arm] += 1
        lost += agents * float(gaps[arm])
    return lost


def lives(share: float, quick: bool, *, generator: np.random.Generator) -> float:
    """The same on a graph of section 5 with means U[0, 1], ε = 1; quick: a smaller one."""
    agents, p, horizon = (30, 0.25, 150) if quick else (200, 0.1, 1000)
    means = generator.uniform(0, 1, 5)
    hops = rings(drawn_graph(agents, p, generator), 2)
    return spread(hops, share, 1.0, means, horizon, generator)


_TREES, _ONE, _INDEPENDENT, _INTERVALS = (
    "M trees", "one tree for all", "M trees, squares added", "intervals, Algorithm 2"
)  # fmt: skip
_INDICES = {"deviations added": _TREES, "squares added, equation 17": _INDEPENDENT}
_LIVES = {"γ = 1": 0.0, "γ = 1.5": 0.5, "γ = 2": 1.0}


def _against_trees(epsilon: float) -> Any:
    arms = {"kind": "bernoulli", "means": list(_MEANS)}
    given = {"horizon": _SLOTS, "epsilon": epsilon, "gamma": 1}
    return {
        m: run_file("private-ucb", m, arms, given, topology={"kind": "complete"}) for m in _AGENTS
    }


EXPERIMENTS = (
    Experiment(
        "dubey-trees", "section 3.2", "A tree for each agent, or intervals",
        claim("M trees cost a factor M in regret", "3.2",
              over(lambda index, at_least: exponent(index, at_least, inf),
                   index=_INDICES, at_least=(0.5, 0.7, 0.9)), "printed"),
        claim("intervals have a much smaller than O(M) dependence", "3.2",
              over(lambda epsilon, at_most: exponent(epsilon, -inf, at_most),
                   epsilon={"1": _INTERVALS, ".1": f"{_INTERVALS}, ε = .1"},
                   at_most=(0.3, 0.5, 0.7)), "printed"),
        claim("and greatly improve regret (M = 32)", "3.2",
              over(lambda index, times: ratio((index, 32), (_INTERVALS, 32), times, inf),
                   index=_INDICES, times=(1.2, 2.0, 5.0)), "printed"),
        ours("one tree of all rewards costs less", above(_TREES, _ONE), "printed"),
        lines={
            _TREES: {m: Computation(with_trees, m, m, 1.0) for m in _AGENTS},
            _INDEPENDENT: {m: Computation(with_trees, m, m, 2.0) for m in _AGENTS},
            _ONE: {m: Computation(with_trees, m, 1, 1.0) for m in _AGENTS},
            _INTERVALS: _against_trees(1.0),
            f"{_INTERVALS}, ε = .1": _against_trees(0.1),
        },
        axes=Axes("number of agents M", REGRET, "xy"), metric=regret, repeat=(8, 50),
        variants=("printed",),
        assumed="Complete graph, ε = 1, K = 5, means .9, .7, .5, .3, .1, T = 300. The paper gives "
        "no algorithm with trees: UCB over the hybrid mechanism of Tossou and Dimitrakakis, whose "
        "index adds the noise's deviation for each tree.",
    ),
    computed(
        "dubey-half", "section 5", "A life of one and a half",
        ours("as a mixture of 1 and 2 it has less regret than 1", above("γ = 1", "γ = 1.5")),
        ours("and about that of 2, which our figures take",
             about_ratio(("γ = 1.5", 0.0), ("γ = 2", 0.0))),
        lines=lambda quick: {
            line: Computation(lives, share, quick) for line, share in _LIVES.items()
        },
        axes=bars(REGRET), repeat=(30, 100),
        assumed="Section 5 has γ = diameter/2, which is 1.5 on graphs of diameter 3. Mixture: each "
        "message lives 1 slot or 2, with probability 1/2. Algorithms 1 and 2 as printed, ε = 1, in "
        "plain numbers; M, p and T as in Figure 1.",
    ),
)  # fmt: skip
