"""Arms that starve: Lemma 4 of Tossou and Dimitrakakis 2015 in the long run."""

from math import exp, log, sqrt
from typing import Any

import numpy as np

from posse.measure.confidence import wilson
from posse.papers.checks import check, within
from posse.papers.experiment import Axes, Computation, Experiment, Runs
from posse.papers.sample import Sample, value
from posse.papers.statements import Finding, Measured, claim, ours, verdict
from posse.papers.tossou.setting import BEST, HORIZONS, MEANS, run
from posse.theory.players import plays_with_bound


def starving(variant: Any, generator: Any, t: float, epsilon: float) -> float:
    """A lower bound on the expected plays of suboptimal arms up to t, printed algorithm, M = 1.

    After one pull the printed privacy term of the best arm is 0 and its noise Lap(2/ε). It is not
    pulled again while 1 + noise + sqrt(2 log t) < .1, what another arm has at least in the long
    run: with probability e^(-ε (.9 + sqrt(2 log t)) / 2) / 2 up to t.
    """
    chance = exp(-epsilon / 2 * (0.9 + sqrt(2 * log(t)))) / 2
    return chance * t


def printed_sum(variant: Any, generator: Any, t: float, epsilon: float) -> float:
    """Σ_a of Lemma 4 as printed, M = 1."""
    gaps = [max(MEANS) - mean for mean in MEANS if mean < max(MEANS)]
    plays = plays_with_bound(epsilon=epsilon, players=1, as_printed=True)
    return sum(float(plays(gap, np.array([t]))[0]) for gap in gaps)


_LEMMA, _STARVING = "Lemma 4, all arms", "at least, by starving"
_COMPUTED = {_LEMMA: printed_sum, _STARVING: starving}


def outgrows_lemma(measured: Measured) -> Finding:
    """Lemma 4's sum stays above what starving alone costs, at every horizon tried."""
    costs, sums = ([measured.values(line, t)[0] for t in HORIZONS] for line in (_STARVING, _LEMMA))
    over = [t for t, cost, most in zip(HORIZONS, costs, sums, strict=True) if cost > most]
    return verdict(
        not over, f"starving costs more from T = {over[0]:g} on" if over else "at all horizons"
    )


def best_pulls(sample: Sample) -> float:
    """How often the best arm was pulled."""
    return float(sample.pulls_per_arm[BEST])


@check
def fed(measured: Measured, epsilon: float) -> Finding:
    """The best arm is pulled more than once in all but 5 % of the runs (Wilson)."""
    samples = measured.runs["best arm", epsilon]
    starved = sum(best_pulls(sample) <= 1 for sample in samples)
    low, high = wilson(starved, len(samples))
    said = f"in {starved} of {len(samples)} runs it was pulled once ({low:.1%} to {high:.1%})"
    return Finding(within(low, high, most=0.05), said)


EXPERIMENTS = (
    Experiment(
        "tossou-lemma-4", "Lemma 4", "What starving alone costs in the long run",
        claim("the expected plays are at most those of Lemma 4, for all t", "Lemma 4",
              outgrows_lemma, "printed"),
        lines={line: {t: Computation(of, t, 1.0) for t in HORIZONS}
               for line, of in _COMPUTED.items()},
        axes=Axes("horizon T", "plays of suboptimal arms", "xy"), metric=value,
        variants=("printed",),
        assumed="M = 1, ε = 1; a lower bound by the printed term, which is 0 at n = 1 where the "
        "noise is not. tossou-starved has the runs.",
    ),
    Experiment(
        "tossou-starved", "", "An arm whose first noise is very negative",
        ours("ε = .1: the best arm is pulled again in 95 % of the runs", fed(0.1)),
        ours("ε = 1: the same", fed(1.0)),
        # at ε = 1 few runs starve, and it takes many to say how few
        lines=lambda quick: {"best arm": {
            epsilon: Runs(run("tdfs-private-bound", 1, 3000 if quick else 20_000, epsilon=epsilon),
                          times=times)
            for epsilon, times in ((0.1, 1), (1.0, 5))
        }},
        axes=Axes("ε", "pulls of the best arm", "x"), metric=best_pulls, repeat=(60, 100),
        assumed="One player, T = 20,000 (quick: 3,000). The printed term is 0 at n = 1, where the "
        "noise is not.",
    ),
)  # fmt: skip
