"""The noisy sums of Tossou and Dimitrakakis 2015, and other counters: how private, how far off."""

import math
from functools import partial
from typing import Any, Literal

import numpy as np

from agent.hybrid import HybridSums
from agent.noise import Noise
from agent.players import Counter
from agent.tree import HonakerSums, TreeSums
from posse.papers.audit import ASSUMED, audit, audits, mechanisms, own_noise, spends
from posse.papers.checks import at_most, falling, rate
from posse.papers.experiment import Axes, Computation, along, computed
from posse.papers.statements import claim, ours

_DELTA, _MANY = 0.05, 2000
_LENGTHS = (7, 20, 100, 500, 1500)
_OWN = "constant 1, δ = t⁻⁴: over δ"


def missed(constant: float, length: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """How often the sum of n rewards is off by more than c (1/ε) log^1.5(n) log(1/δ); ε = 1."""
    sums = HybridSums(_MANY, 1.0, "half", own_noise(generator))
    error = np.zeros(_MANY)
    for _ in range(length):
        error = sums.insert(0, 0.0)
    bound = constant * math.log(length) ** 1.5 * math.log(1 / _DELTA)
    hits = int((np.abs(error) > bound).sum())
    return {"value": hits / _MANY, "hits": hits, "of": _MANY}


def over_delta(length: int) -> float:
    """How many times δ = t^-4 it happens with the constant 1 and t = n rewards, at least; ε = 1.

    Of m nodes of scale b alone, whose sum is b times the difference of two Gamma(m) numbers: it is
    beyond a number at least half as often with more noise added, and on either side.
    """
    from scipy.integrate import quad  # noqa: PLC0415
    from scipy.stats import gamma  # noqa: PLC0415

    doubled = 1 << (length.bit_length() - 1)
    m, b = (length - doubled).bit_count(), 2 * math.log2(doubled)
    far = 4 * math.log(length) ** 2.5 / b
    beyond, _ = quad(lambda y: gamma.pdf(y, m) * gamma.sf(far + y, m), 0, math.inf)
    return float(beyond * length**4)


_T, _STREAMS = 20_000, 40
_TREES = {"tree": TreeSums, "honaker": HonakerSums}
_NAMES = ("hybrid", *_TREES)


def made(counter: str, noise: Noise) -> Counter:
    """A counter of 40 streams that are never longer than T, ε = 1."""
    if counter == "hybrid":
        return HybridSums(_STREAMS, 1.0, "half", noise)
    return _TREES[counter](_STREAMS, 1.0, _T, noise)


def error(counter: str, t: int, *, generator: np.random.Generator) -> float:
    """The root of the mean square error of the releases in (t/2, t], ε = 1, T = 20,000."""
    sums = made(counter, own_noise(generator))
    squares = [np.mean(sums.insert(0, 0.0) ** 2) for _ in range(t)]
    return float(np.sqrt(np.mean(squares[t // 2 :])))


def tree(
    trials: int, epsilon: float, of: Literal["tree", "honaker"], *, generator: np.random.Generator
) -> dict[str, Any]:
    """The sums of x, 0, 0, 0 over a horizon of 4, for x = 1 and x = 0.

    x is in a node of each of the three levels, which the releases at 1, 2 and 4 disclose; Honaker's
    estimates blend a node with its children, whose known part is taken off. S: each exceeds what x
    adds to it. For the tree the probabilities' ratio is e^ε exactly.
    """
    noise = own_noise(generator)
    # how much of a node's estimate is its own noisy sum, by level (agent/tree.py)
    own = (1.0, 1.0, 1.0) if of == "tree" else (1.0, 2 / 3, 4 / 7)

    def release(changed: bool) -> bool:
        sums = _TREES[of](1, epsilon, 4, noise)
        one, two, _, four = (float(sums.insert(0, x)[0]) for x in (float(changed), 0.0, 0.0, 0.0))
        seen = (one, two - (1 - own[1]) * one, four - (1 - own[2]) * two)
        return all(part > weight for part, weight in zip(seen, own, strict=True))

    return audit(trials, release, epsilon)


EXPERIMENTS = (
    computed(
        "tossou-sums", "Algorithm 1, equations 9 and 10",
        "How often the bound on a noisy sum fails",
        claim("a sum is off by more than (1/ε) log(1/δ) log^1.5 n with probability at most δ",
              "Algorithm 1 with equations 9, 10", rate("constant 1", _DELTA)),
        claim("the same for its own δ = t⁻⁴ (here: t = n; how often over δ, at least)",
              "Algorithm 1", at_most(_OWN, 1.0)),
        ours("with the constant 3 it is so", rate("constant 3", _DELTA)),
        lines={
            **along(partial(Computation, missed), {"constant 1": 1.0, "constant 3": 3.0}, _LENGTHS),
            _OWN: {n: Computation(over_delta, n) for n in _LENGTHS},
        },
        axes=Axes("rewards n", "share of sums beyond the bound", "xy"), repeat=(5, 20),
        limit=_DELTA,
        assumed="Hybrid mechanism, ε = 1 split in half, δ = .05 but for the last. Equations 9 and "
        "10, after Chan, Shi and Song's Corollary 4.8, are an O(.); Algorithm 1 takes the constant "
        "1.",
    ),
    computed(
        "tossou-counters", "", "The error of a noisy sum, by what keeps it",
        ours("from t = 1,024 on a tree with the known horizon errs less than the hybrid mechanism, "
             "and with Honaker's estimate less still",
             falling(*_NAMES, where=lambda t: t >= 1024)),
        ours("up to t = 64 the hybrid mechanism, whose first trees are small, errs least",
             falling("tree", "hybrid", where=lambda t: t <= 64)),
        lines=along(partial(Computation, error), _NAMES, [2**k for k in range(3, 15)]),
        axes=Axes("rewards t", "error of the sum", "xy"), repeat=(5, 40),
        assumed="ε = 1, T = 20,000; root of the mean square of the noise over (t/2, t]. The hybrid "
        "mechanism does not know T, the trees do.",
    ),
    audits(
        "tossou-counters-audit", "", "How much privacy counters on a tree spend",
        *(
            ours(f"`counter = \"{name}\"` is ε-differentially private", spends(name))
            for name in _TREES
        ),
        lines=mechanisms({name: (tree, 1.0, name) for name in _TREES}),
        assumed=f"{ASSUMED} The sums of four rewards, ε = 1.",
    ),
)  # fmt: skip
