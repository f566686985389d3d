"""Theorems and lemmas of Dubey and Pentland 2020, run, by numbers, and audited; Remark 6."""

from collections.abc import Callable, Iterable
from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np

from posse.extend import FloatArray
from posse_papers.audit import AUDITED, audit, audits, mechanisms, own_noise, seed, spends
from posse_papers.checks import above, at_most, inside, rate, under_theory
from posse_papers.dubey.figures import REGRET
from posse_papers.dubey.plain import V
from posse_papers.experiment import (
    VARIANTS,
    Axes,
    Computation,
    Experiment,
    Runs,
    along,
    bars,
    computed,
    run_file,
)
from posse_papers.sample import regret
from posse_papers.statements import Check, Mutant, claim, ours, over
from posse_papers.worlds import beside, by_chance, multiplied
from posse_systems.algorithms import PrivateMeans, TrimmedMeans, release_counts, zeta

_RATE, _DELTA, _ARMS = 1e-3, 1e-6, 200


def missed(mean: float, samples: int, *, variant: Any, generator: np.random.Generator) -> Any:
    """How often |μ_R - μ| > σ sqrt(ε) + sqrt(σ log(1/δ) / N), N half of the samples, of 200 arms.

    Each reward is replaced by 1 with probability ε.
    """
    estimator = TrimmedMeans(_ARMS, variant)
    rewards = generator.binomial(1, mean, _ARMS * samples).astype(float)
    rewards[generator.random(len(rewards)) < _RATE] = 1.0
    estimator.add(np.repeat(np.arange(_ARMS), samples), rewards)
    sigma = sqrt(mean * (1 - mean))
    allowed = sigma * sqrt(_RATE) + sqrt(sigma * log(1 / _DELTA) / (samples // 2))
    error = np.abs(estimator.estimate(_RATE, [_DELTA])[0] - mean)
    hits = int((error > allowed).sum())
    return {"value": hits / _ARMS, "hits": hits, "of": _ARMS}


_SHAPES: dict[str, Any] = {
    "√(σ log(1/δ)/N)": lambda sigma, rest: sqrt(sigma * rest),
    "σ √(log(1/δ)/N)": lambda sigma, rest: sigma * sqrt(rest),
    "σ √(2 log(1/δ)/N)": lambda sigma, rest: sigma * sqrt(2 * rest),
}
_WIDE, _OFTEN = 100.0, 0.05


def missed_in_units(
    shape: str, samples: int, *, variant: Any, generator: np.random.Generator
) -> dict[str, Any]:
    """The same of 200 sets of Gaussian samples, σ = 100, none of them false, at δ = .05."""
    half = samples // 2
    allowed = _SHAPES[shape](_WIDE, log(1 / _OFTEN) / half)
    hits = 0
    for _ in range(_ARMS):
        estimator = TrimmedMeans(1, variant)
        estimator.add(np.zeros(samples, dtype=int), generator.normal(0.0, _WIDE, samples))
        hits += abs(float(estimator.estimate(0.0, [_OFTEN])[0][0])) > allowed
    return {"value": hits / _ARMS, "hits": hits, "of": _ARMS}


_LAWS_OF = {
    "Bernoulli, means .3 to .7": ("μ = 0.3", "μ = 0.5", "μ = 0.7"),
    "Bernoulli, means .1, .2, .8, .9": ("μ = 0.1", "μ = 0.2", "μ = 0.8", "μ = 0.9"),
}
_GAUSSIAN = {shape: f"Gaussian, σ = 100: {shape}" for shape in _SHAPES}


def misses(law: str) -> Check:
    """How often the printed bound of Theorem 4.2 is missed, for rewards of a law."""
    if law in _LAWS_OF:
        return rate(_LAWS_OF[law], _DELTA)
    return rate(next(iter(_GAUSSIAN.values())), _OFTEN)


_TRUE = (0.0, 1e-3, 1e-2)
_INSTANCES = {"means .9, .1": [0.9, 0.1], "means .8, .5, .2": [0.8, 0.5, 0.2]}
_BOUNDED, _SLOTS = 10, 1000


def telling(system: str, instance: str, **parameters: Any) -> dict[str, Any]:
    """A setting in which play by chance costs many times the bound: M = 10, complete, T = 1,000."""
    arms = {"kind": "bernoulli", "means": _INSTANCES[instance]}
    given = {"horizon": _SLOTS, "gamma": 1, **parameters}
    return run_file(system, _BOUNDED, arms, given, topology={"kind": "complete"})


def theorem_7_1(instance: str, epsilon: float) -> Callable[[FloatArray], FloatArray]:
    """Theorem 7.1 at σ = 1/2, χ̄ = γ = 1, whose 8σ²/Δ Theorem 3.7 restates as 8/Δ."""
    means = _INSTANCES[instance]
    gaps = [max(means) - mean for mean in means if mean < max(means)]
    constant = _BOUNDED + 2 + _BOUNDED * (1 / epsilon + zeta(1.5))

    def bound(times: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(times, 1.0))
        return sum(2 / gap for gap in gaps) * logs + sum(gaps) * constant

    return bound


def under_private(instance: str, theorem: str, epsilon: float) -> Check:
    """The regret of private cooperation is below one of the two theorems."""
    own = theorem_7_1(instance, epsilon) if theorem != "3.7" else None
    return under_theory(instance, epsilon, own)


def lower_bound(gap: float) -> float:
    """Δ/D of Theorem 2.1, Bernoulli means 1/2 ± Δ/2."""
    best, other = 0.5 + gap / 2, 0.5 - gap / 2
    return gap / (best * log(best / other) + (1 - best) * log((1 - best) / (1 - other)))


def private_over_it(gap: float) -> float:
    """8/Δ of Theorem 3.7, χ̄ = 1."""
    return 8 / gap / lower_bound(gap)


def half_over_it(gap: float) -> float:
    """8σ²/Δ of Theorem 7.1, χ̄ = 1, σ = 1/2."""
    return 2 / gap / lower_bound(gap)


def byzantine_over_it(gap: float) -> float:
    """4σ²/Δ² of Theorem 4.3, χ̄ = 1, ε = 0 and σ² = (1 - Δ²)/4."""
    return (1 - gap**2) / gap**2 / lower_bound(gap)


def releases(variant: str, epsilon: float, last: int) -> list[int]:
    """The pulls W_1 < W_2 < … at which an arm's mean is released; `printed`: to the letter."""
    return list(release_counts(epsilon, V, last, as_printed=variant == "printed"))


def steps(epsilon: float, pulls: int, *, variant: Any) -> float:
    """The mean interval between releases up to `pulls` pulls, times ε."""
    return epsilon * pulls / len(releases(variant, epsilon, pulls))


def spent(epsilon: float, pulls: int, *, variant: Any) -> float:
    """The releases' cost Σ x^(-v/2) over Lemma 3.6's ε t^(1-v/2) / (1-v/2)."""
    total = sum(x ** (-V / 2) for x in releases(variant, epsilon, pulls))
    return float(total * (1 - V / 2) / (epsilon * pulls ** (1 - V / 2)))


def squares(epsilon: float, pulls: int, *, variant: Any) -> float:
    """The releases' squared costs Σ x^-v over ε ζ(v)."""
    total = sum(x**-V for x in releases(variant, epsilon, pulls))
    return float(total / (epsilon * zeta(V)))


_STEPS, _SPENT, _SQUARES = (
    {f"{name}, ε = {epsilon:g}": partial(Computation, computed, epsilon) for epsilon in (0.1, 0.5)}
    for name, computed in (
        ("interval × ε", steps),
        ("cost over Lemma 3.6", spent),
        ("squares over ε ζ(v)", squares),
    )
)


def _twice(lines: Iterable[str]) -> Mutant:
    """Twice as many releases, or the factor 2 forgotten."""
    return multiplied("twice the releases", lines, 2.0)


_EPSILONS = (0.25, 0.5, 1.0)
_OVER = {
    "(8/Δ) / (Δ/D)": private_over_it,
    "(8σ²/Δ) / (Δ/D)": half_over_it,
    "(4σ²/Δ²) / (Δ/D)": byzantine_over_it,
}
_RATIO, _HALF, _TRUTHFUL = _OVER
_READINGS = {"to the letter": 1.0, "up to a factor 20": 20.0}


def at_most_of(theorem: str, reading: float) -> Check:
    """A theorem's leading term over that of the lower bound, by what "matches" means."""
    return at_most(theorem, reading)


def laplace(trials: int, scale: float, *, generator: np.random.Generator) -> dict[str, Any]:
    """Laplace noise of scale β on 1 and on 0. S: the release exceeds 1.

    Lemma 3.2 prints β/s(f), s(f) = 1 here; the mechanism gives s(f)/β.
    """
    noise = own_noise(generator)

    def release(changed: bool) -> bool:
        return bool(noise.noisy(np.array([float(changed)]), 1.0, scale)[0] > 1)

    return audit(trials, release, scale)


def message(
    trials: int, epsilon: float, *, variant: Any, generator: np.random.Generator
) -> dict[str, Any]:
    """Private Multi-Agent UCB, two arms, first rewards x and 1/2. S: the arm of x is chosen third.

    The counts that are sent after the third slot say which arm that was; the claim is the cost
    n^(-v/2) of that one message with the least n it can carry, n = 1.
    """
    noise, ties = own_noise(generator), seed(generator)
    due = release_counts(epsilon, V, 3)

    def release(changed: bool) -> bool:
        agent = PrivateMeans(2, ties, epsilon=epsilon, variant=variant, noise=noise, releases=due)
        pulled = []
        for t, reward in enumerate((float(changed), 0.5, 0.0), start=1):
            pulled.append(agent.choose(t))
            agent.learn(pulled[-1], reward)
        first, _, third = pulled
        counts = agent.message["counts"][0]
        return bool(third == first and counts[first] > 1)

    return audit(trials, release, 1.0)


def message_by_raw_sums(
    trials: int, epsilon: float, *, generator: np.random.Generator
) -> dict[str, Any]:
    """The same, of an agent that decides by its raw sums."""
    return message(trials, epsilon, variant="printed", generator=generator)


def stale(epsilon: float, pulls: int, *, variant: Any) -> float:
    """What the mean in the message after `pulls` pulls costs, over the n^(-v/2) of Lemma 3.5.

    Line 9 of Algorithm 1 sends the current count n with the mean of the last release, of x rewards
    and with the noise for x^(-v/2).
    """
    last = max(x for x in releases(variant, epsilon, pulls) if x <= pulls)
    return float((last / pulls) ** (-V / 2))


def union(power: int, t: int) -> float:
    """Σ_{s<=t} δ at δ = t^-power, of which equation 45 says that it is at most t^-3; over that."""
    return float(t ** (1 - power) / t**-3)


def summed(t: int) -> float:
    """Σ_{s<=t} s^-4, as equation 45 is printed, over t^-3."""
    return float(sum(s**-4.0 for s in range(1, t + 1)) * t**3)


_UNION = {
    "δ = t⁻⁴": partial(Computation, union, 4),
    "δ = t⁻², Algorithm 3": partial(Computation, union, 2),
    "printed": partial(Computation, summed),
}

_THREE_ARMS = {"kind": "bernoulli", "means": [0.6, 0.5, 0.5]}
_GRAPHS: dict[str, Any] = {
    "ring": {"kind": "ring"},
    "Erdős–Rényi": {"kind": "erdos-renyi", "p": 0.3},
    "complete": {"kind": "complete"},
}
_LAWS: dict[str, Any] = {
    "mass at 0": {"law": "point", "value": 0.0},
    "opposite": {"law": "opposite"},
    "informed": {"law": "informed"},
}
_M = 20
_ROBUST, _MEAN = "robust", "mean, as private-ucb"
_SETTING = (
    "M = 20, Erdős–Rényi p = .3, γ = diameter/2, K = 3 with means .6, .5, .5, T = 1,500 "
    "(in full 20,000), ε = 1; liars lie in every message, agents believe the true share. "
    "Quick: twice as many runs without liars, four times on Erdős and Rényi's graph."
)
_compared = partial(
    Experiment, metric=regret, repeat=(5, 50), variants=("corrected",), assumed=_SETTING
)


def _against_liars(
    quick: bool,
    estimator: str,
    share: float,
    law: str = "informed",
    epsilon: float = 1.0,
    graph: str = "Erdős–Rényi",
) -> dict[str, Any]:
    """One setting; `estimator` is "robust", "mean", or "byzantine", which is not private."""
    liars = round(share * _M)
    lies = {"agents": liars, "rate": 1.0, **_LAWS[law]} if liars else {"agents": 0, "rate": 0.0}
    system = "robust-private-ucb"
    more: dict[str, Any] = {"epsilon": epsilon, "estimator": estimator}
    if estimator == "byzantine":
        system, more = "byzantine-ucb", {"assumed_contamination": share}
    given = {"horizon": 1500 if quick else 20_000, "contamination": lies, **more}
    return run_file(system, _M, _THREE_ARMS, given, topology=_GRAPHS[graph])


def _alone(quick: bool, epsilon: float = 1.0) -> dict[str, Any]:
    given = {"horizon": 1500 if quick else 20_000, "epsilon": epsilon}
    return run_file("adap-ucb", _M, _THREE_ARMS, given)


def _often(quick: bool, times: int, estimator: str, share: float, **more: Any) -> Runs:
    """More often in the quick form, where less would not tell the two estimators apart."""
    return Runs(_against_liars(quick, estimator, share, **more), times if quick else 1)


EXPERIMENTS = (
    Experiment(
        "dubey-coverage", "Theorem 4.2", "How often the robust mean misses its confidence bound",
        claim("|μ_R − μ| <= σ√ε + √(σ log(1/δ)/N) with probability 1 − δ, for any law of finite "
              "variance", "Theorem 4.2",
              over(misses, law=(*_LAWS_OF, "Gaussian, σ = 100"))),
        ours("with σ√(log(1/δ)/N) in its place it is so for Gaussian rewards",
             rate(_GAUSSIAN["σ √(log(1/δ)/N)"], _OFTEN)),
        ours("with σ√(2 log(1/δ)/N)", rate(_GAUSSIAN["σ √(2 log(1/δ)/N)"], _OFTEN)),
        lines={
            **along(partial(Computation, missed),
                    {f"μ = {mean:g}": mean for mean in (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9)},
                    (150, 300, 550, 1000)),
            **{
                line: {300: Computation(missed_in_units, shape, 300)}
                for shape, line in _GAUSSIAN.items()
            },
        },
        axes=Axes("samples |S|", "share of estimates beyond the bound", "x"),
        repeat=(10, 50),
        assumed="Bernoulli rewards, ε = .001 (replaced by 1), δ = 10⁻⁶ as at t = 1000, "
        "σ² = μ(1 − μ), N = |S|/2. Gaussian: ε = 0, δ = .05; in other units σ is as large as one "
        "likes, and √σ grows less than the deviation.",
    ),
    Experiment(
        "dubey-theorem-4-3", "Theorem 4.3",
        "Regret of byzantine-proof cooperation against its bound",
        *(
            claim(f"ε = {rate:g}: regret is below the bound", "Theorem 4.3",
                  over(partial(under_theory, x=rate), line=(*_INSTANCES,)),
                  wrong=by_chance(_INSTANCES))
            for rate in _TRUE
        ),
        lines=along(lambda line, rate: telling("byzantine-ucb", line, contamination={"rate": rate}),
                    (*_INSTANCES,), _TRUE),
        axes=Axes("contamination ε", REGRET), metric=regret, repeat=(6, 50),
        assumed="M = 10, a complete graph, γ = 1, T = 1,000, where play by chance costs many times "
        "the bound; 2σ√ε < Δ, which the proof needs where the theorem prints 2σε < Δ.",
    ),
    Experiment(
        "dubey-theorem-3-7", "Theorem 3.7", "Regret of private cooperation against its bound",
        *(
            claim(f"ε = {epsilon:g}: regret is below the bound", "Theorem 3.7, Theorem 7.1",
                  over(partial(under_private, epsilon=epsilon), instance=(*_INSTANCES,),
                       theorem={"3.7, 8/Δ": "3.7", "7.1, 8σ²/Δ": "7.1"}), "printed",
                  by_chance(_INSTANCES))
            for epsilon in _EPSILONS
        ),
        lines=along(lambda line, epsilon: telling("private-ucb", line, epsilon=epsilon),
                    (*_INSTANCES,), _EPSILONS),
        axes=Axes("ε", REGRET), metric=regret, repeat=(16, 50), variants=("printed",),
        assumed="M = 10, a complete graph, γ = 1, T = 1,000, v = 1.1, where play by chance costs "
        "many times the bound. Theorem 7.1: σ = 1/2. The proof needs γ < 1/ε, which fails at ε = "
        "1, and equation 13 adds means without their counts.",
    ),
    computed(
        "dubey-optimal", "Theorems 2.1, 3.7 and 4.3",
        "The leading terms of the bounds against the lower bound",
        claim("at γ = diameter the bound matches the lower bound up to additive constants",
              "Section 2, Theorem 2.1, Remark 4",
              over(at_most_of, theorem={"3.7, 8/Δ": _RATIO, "7.1, 8σ²/Δ": _HALF},
                   reading=_READINGS),
              wrong=multiplied("1/Δ² in place of 1/Δ", _OVER, lambda gap: 1 / gap)),
        claim("the byzantine-proof one does when all agents are truthful", "Remark 5",
              over(partial(at_most_of, _TRUTHFUL), reading=_READINGS),
              wrong=multiplied("1/Δ² in place of 1/Δ", _OVER, lambda gap: 1 / gap)),
        lines=along(Computation, _OVER, (0.01, 0.05, 0.1, 0.3, 0.5)),
        axes=Axes("gap Δ", "upper over lower", "xy"), limit=1.0,
        assumed="γ = diameter, so that χ̄ = 1; two arms, Bernoulli, means 1/2 ± Δ/2. By Pinsker's "
        "inequality the first ratio is at least 16 for all arms, the second 4. Theorem 4.3 drops "
        "the factor Δ of its equation 51; with it the third would be 1.6 to 2.",
    ),
    Experiment(
        "dubey-releases", "Lemmas 3.4 and 3.6", "When means are released, and what that costs",
        ours("an interval is about 1/ε long", over(
            lambda within: inside(_STEPS, 1 - within, 1 + within), within=(0.1, 0.3, 0.5)
        ), "corrected"),
        claim("the releases up to t cost at most ε t^(1−v/2) / (1−v/2)", "Lemma 3.6",
              at_most(_SPENT, 1.0), "corrected", _twice(_SPENT)),
        claim("the squares of their costs add up to at most ε ζ(v)", "Lemma 3.6",
              at_most(_SQUARES, 1.0), "corrected", _twice(_SQUARES)),
        lines=along(lambda f, pulls: f(pulls), _STEPS | _SPENT | _SQUARES, (100, 1000, 10_000)),
        axes=Axes("pulls of the arm", "ratio", "x"),
        assumed="v = 1.1. Lemma 3.4 has 1/(ε y'^v), whose y' it does not define; read as √x', "
        "which its left side has too, a release is due when the interval's sum of i^(-v/2) reaches "
        "x^(-v/2)/ε (corrected), and Lemma 3.6 follows. The other form reads x'^v.",
    ),
    audits(
        "dubey-audit", "Lemmas 3.2 and 3.5",
        "How much privacy noise and a message spend",
        claim("Laplace noise of scale β gives β/s(f)-differential privacy, β = 1/2", "Lemma 3.2",
              spends("Laplace noise of scale 1/2")),
        claim("a message is n^(−v/2)-differentially private, if the reward may change what is "
              "pulled, which Definition 3.1 leaves out", "Lemma 3.5, end to end",
              spends("one message"), "printed"),
        ours("a message is n^(−v/2)-private if the agent decides by what it released",
             spends("one message"), "corrected",
             beside("it decides by its raw sums", {"one message": "one message by raw sums"})),
        lines=mechanisms({
            "Laplace noise of scale 1/2": (laplace, 0.5),
            "one message": (message, 1.0),
            "one message by raw sums": (message_by_raw_sums, 1.0),
        }),
        variants=VARIANTS,
        assumed=f"{AUDITED} A message: three slots at ε = 1, K = 2, first rewards (x, 1/2).",
    ),
    computed(
        "dubey-stale", "Lemma 3.5", "A current count with an old mean",
        claim("within Definition 3.1, whose histories have the same actions: a message after n "
              "pulls costs at most n^(−v/2)", "Lemma 3.5; Algorithm 1, line 9",
              at_most("the mean that is sent", 1.0), "corrected"),
        lines={"the mean that is sent": {
            n: Computation(stale, 0.1, n) for n in (7, 10, 15, 16, 25, 46, 55)
        }},
        axes=Axes("pulls n", "cost over n^(−v/2)"), limit=1.0,
        assumed="ε = .1, v = 1.1. Means are released after 7, 16, 26, 36, 46 pulls.",
    ),
    computed(
        "dubey-union", "equation 45", "The union bound of Theorem 4.3's proof",
        claim("events A and B have together at most the probability 2/t³", "45; Algorithm 3",
              at_most("δ = t⁻², Algorithm 3", 1.0)),
        claim("2 Σ_{s≤t} s⁻⁴ is at most 2/t³", "45", at_most("printed", 1.0)),
        ours("with δ = t⁻⁴ for each of the t counts it is", at_most("δ = t⁻⁴", 1.0),
             wrong=beside("δ = t⁻²", {"δ = t⁻⁴": "δ = t⁻², Algorithm 3"})),
        lines=along(lambda f, t: f(t), _UNION, (2, 10, 100, 1000)),
        axes=Axes("trial t", "the sum over t⁻³", "xy"), limit=1.0,
        assumed="A sum over the t counts that an arm may have. Printed, the sum over s of s⁻⁴ is "
        "at least 1. With Algorithm 3's δ = t⁻² the failures of all trials add up to 2 ln T and "
        "no constant.",
    ),
    _compared(
        "robust-liars",
        "", "Private cooperation against liars",
        *(
            ours(f"{law}: better than the mean as soon as somebody lies",
                 above(f"{law}: {_MEAN}", f"{law}: {_ROBUST}", where=lambda x: x > 0))
            for law in _LAWS
        ),
        ours("without liars no worse than the mean",
             above(f"informed: {_MEAN}", f"informed: {_ROBUST}", where=0)),
        lines=lambda quick: {
            f"{law}: {line}": {
                0.0: _often(quick, 2, estimator, 0.0),
                0.2: _against_liars(quick, estimator, 0.2, law),
            }
            for law in _LAWS
            for line, estimator in ((_ROBUST, "robust"), (_MEAN, "mean"))
        } | ({} if quick else {
            "opposite: byzantine-ucb, not private": {
                share: _against_liars(quick, "byzantine", share, "opposite") for share in (0.0, 0.2)
            },
        }),
        axes=Axes("share of agents that lie", REGRET),
    ),
    _compared(
        "robust-epsilon",
        "", "Private cooperation against a tenth of liars, over ε",
        ours("better than the mean at every ε", above(_MEAN, _ROBUST)),
        ours("better than acting alone from ε = .3 on",
             above("alone (AdaP-UCB)", _ROBUST, where=lambda x: x >= 0.3)),
        lines=lambda quick: {
            _ROBUST: {e: _against_liars(quick, "robust", 0.1, epsilon=e) for e in (0.1, 0.3, 1.0)},
            _MEAN: {e: _against_liars(quick, "mean", 0.1, epsilon=e) for e in (0.1, 0.3, 1.0)},
            "alone (AdaP-UCB)": {e: _alone(quick, e) for e in (0.1, 0.3, 1.0)},
        },
        axes=Axes("ε", REGRET, "x"), repeat=(2, 50),
    ),
    _compared(
        "robust-graphs",
        "", "Private cooperation against a tenth of liars, on three graphs",
        *(
            ours(f"{graph}: better than the mean",
                 above(f"{graph}, mean", f"{graph}, robust"))
            for graph in _GRAPHS
        ),
        lines=lambda quick: {
            f"{graph}, {estimator}":
                _often(quick, 4 if "Rényi" in graph else 1, estimator, 0.1, graph=graph)
            for graph in _GRAPHS
            for estimator in ("robust", "mean")
        },
        axes=bars(REGRET), repeat=(2, 50),
    ),
)  # fmt: skip
