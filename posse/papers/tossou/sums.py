"""The noisy sums of Tossou and Dimitrakakis 2015: how private, and how far off."""

import math
from typing import Any

import numpy as np

from agent.hybrid import HybridSums
from posse.papers.audit import ASSUMED, audit, audits, own_noise, releases, spends
from posse.papers.experiment import Axes, Computation, computed
from posse.papers.limits import at_most, rate
from posse.papers.statements import claim, ours

_DELTA, _STREAMS = 0.05, 2000


def missed(
    variant: Any, generator: np.random.Generator, constant: float, length: int
) -> dict[str, Any]:
    """How often the sum of n rewards is off by more than c (1/ε) log^1.5(n) log(1/δ); ε = 1."""
    sums = HybridSums(_STREAMS, 1.0, "half", own_noise(generator))
    error = np.zeros(_STREAMS)
    for _ in range(length):
        error = sums.insert(0, 0.0)
    bound = constant * math.log(length) ** 1.5 * math.log(1 / _DELTA)
    hits = int((np.abs(error) > bound).sum())
    return {"value": hits / _STREAMS, "hits": hits, "of": _STREAMS}


def nodes(variant: Any, generator: Any, size: int) -> float:
    """The most nodes of a binary mechanism of horizon T0 that one item enters, plus the doubling.

    Node at τ: the items τ - 2^i + 1 to τ, i the lowest set bit of τ; τ = T0 is the next doubling.
    """
    entered = np.zeros(size + 1, dtype=int)
    for tau in range(1, size):
        entered[tau - (tau & -tau) + 1 : tau + 1] += 1
    return float(entered.max() + 1)


def hybrid(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float, split: Any
) -> dict[str, Any]:
    """The hybrid mechanism's sums of 0, 0, x, 0 for x = 1 and x = 0.

    x is in one node of the first tree and in the doubling at t = 4. S: both releases exceed the one
    before x by more than 1. For `half` the probabilities' ratio is e^ε exactly.
    """
    noise = own_noise(generator)

    def release(changed: bool) -> bool:
        sums = HybridSums(1, epsilon, split, noise)
        _, before, node, doubled = (
            float(sums.insert(0, x)[0]) for x in (0.0, 0.0, float(changed), 0.0)
        )
        return node - before > 1 and doubled - before > 1

    return audit(trials, release, epsilon)


EXPERIMENTS = (
    audits(
        "tossou-audit", "Theorem 2", "How much privacy the hybrid mechanism spends",
        claim("the algorithm is ε-differentially private for each player", "Theorem 2",
              spends("split in half")),
        ours("it would be so with ε in both parts and the natural logarithm, as the authors' "
             "published code has it", spends("the authors' code")),
        lines=releases({
            "split in half": (hybrid, 1.0, "half"),
            "the authors' code": (hybrid, 1.0, "tossou"),
        }),
        variants=("corrected",),
        assumed=f"{ASSUMED} The sums of four rewards, ε = 1. Corollary 3 is in tossou-shared.",
    ),
    computed(
        "tossou-sums", "Algorithm 1, equations 9 and 10",
        "How often the bound on a noisy sum fails",
        claim("a sum is off by more than (1/ε) log(1/δ) log^1.5 n with probability at most δ",
              "Algorithm 1 with equations 9, 10", rate("constant 1", _DELTA)),
        ours("with the constant 3 it is so", rate("constant 3", _DELTA)),
        lines={f"constant {c:g}": {n: Computation(missed, c, n) for n in (7, 20, 100, 500, 1500)}
               for c in (1.0, 3.0)},
        axes=Axes("rewards n", "share of sums beyond the bound", "xy"), repeat=(5, 20),
        limit=_DELTA,
        assumed="Hybrid mechanism, ε = 1 split in half, δ = .05. Equations 9 and 10, after Chan, "
        "Shi and Song's Corollary 4.8, are an O(.); Algorithm 1 takes the constant 1.",
    ),
    computed(
        "tossou-parts", "", "Noisy parts that one reward is in (Chan, Shi and Song 2011)",
        ours("a reward is in at most log2(T0) + 1 noisy parts",
             at_most("parts of an item", lambda line, t: math.log2(t) + 1)),
        lines={"parts of an item": {t: Computation(nodes, t) for t in (4, 64, 1024)}},
        axes=Axes("horizon of the tree T0", "parts", "x"),
        assumed="Counted by the definition of the binary mechanism.",
    ),
)  # fmt: skip
