"""Arms that starve: Lemma 4 of Tossou and Dimitrakakis 2015 in the long run."""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

import numpy as np

from posse.measure.confidence import wilson
from posse.papers.checks import within
from posse.papers.experiment import Experiment
from posse.papers.points import Computation, Point, always
from posse.papers.sample import Sample, value
from posse.papers.statements import Finding, Measured, claim, ours, verdict
from posse.papers.tossou.setting import BEST, MEANS, run
from posse.theory.players import plays_with_bound

_HORIZONS = (1e5, 1e6, 1e7, 1e8, 1e9, 1e10)


def starving(variant: Any, generator: Any, t: float, epsilon: float) -> dict[str, Any]:
    """A lower bound on the expected plays of suboptimal arms up to t, printed algorithm, M = 1.

    After one pull the printed privacy term of the best arm is 0 and its noise Lap(2/ε). It is not
    pulled again while 1 + noise + sqrt(2 log t) < .1, what another arm has at least in the long
    run: with probability e^(-ε (.9 + sqrt(2 log t)) / 2) / 2 up to t.
    """
    chance = exp(-epsilon / 2 * (0.9 + sqrt(2 * log(t)))) / 2
    return {"value": chance * t}


def printed_sum(variant: Any, generator: Any, t: float, epsilon: float) -> dict[str, Any]:
    """Σ_a of Lemma 4 as printed, M = 1."""
    gaps = [max(MEANS) - mean for mean in MEANS if mean < max(MEANS)]
    plays = plays_with_bound(epsilon=epsilon, players=1, as_printed=True)
    return {"value": sum(float(plays(gap, np.array([t]))[0]) for gap in gaps)}


_LEMMA, _STARVING = "Lemma 4, all arms", "at least, by starving"


def outgrows_lemma(measured: Measured) -> Finding:
    """Lemma 4's sum stays above what starving alone costs, at every horizon tried."""
    over = [
        t for t in _HORIZONS if measured.values(_STARVING, t)[0] > measured.values(_LEMMA, t)[0]
    ]
    return verdict(
        not over, f"starving costs more from T = {over[0]:g} on" if over else "at all horizons"
    )


def _starved_points(quick: bool) -> list[Point]:
    horizon = 3000 if quick else 20_000
    return [
        # at ε = 1 few runs starve, and it takes many to say how few
        Point(line="best arm", x=epsilon, times=times,
              run=run("tdfs-private-bound", 1, horizon, epsilon=epsilon))
        for epsilon, times in ((0.1, 1), (1.0, 5))
    ]  # fmt: skip


def best_pulls(sample: Sample) -> float:
    """How often the best arm was pulled."""
    return float(sample.pulls_per_arm[BEST])


@dataclass(frozen=True)
class Fed:
    """The best arm is pulled more than once in all but 5 % of the runs (Wilson)."""

    epsilon: float

    def __call__(self, measured: Measured) -> Finding:
        samples = measured.runs["best arm", self.epsilon]
        starved = sum(best_pulls(sample) <= 1 for sample in samples)
        low, high = wilson(starved, len(samples))
        return Finding(
            answer=within(low, high, most=0.05),
            said=f"in {starved} of {len(samples)} runs it was pulled once "
            f"({low:.1%} to {high:.1%})",
        )


EXPERIMENTS = (
    Experiment(
        "tossou-lemma-4", "Lemma 4", "What starving alone costs in the long run",
        x_label="horizon T",
        y_label="plays of suboptimal arms",
        points=always({line: {t: Computation(of, t, 1.0) for t in _HORIZONS}
                       for line, of in ((_LEMMA, printed_sum), (_STARVING, starving))}),
        repeat=(1, 1),
        metric=value,
        log="xy",
        variants=("printed",),
        assumed="M = 1, ε = 1; a lower bound by the printed term, which is 0 at n = 1 where the "
        "noise is not. tossou-starved has the runs.",
        statements=(
            claim("the expected plays are at most those of Lemma 4, for all t", "Lemma 4",
                  outgrows_lemma, "printed"),
        ),
    ),
    Experiment(
        "tossou-starved", "", "An arm whose first noise is very negative",
        x_label="ε",
        y_label="pulls of the best arm",
        points=_starved_points,
        repeat=(60, 100),
        metric=best_pulls,
        log="x",
        assumed="One player, T = 20,000 (quick: 3,000). The printed term is 0 at n = 1, where the "
        "noise is not.",
        statements=(
            ours("ε = .1: the best arm is pulled again in 95 % of the runs", Fed(0.1)),
            ours("ε = 1: the same", Fed(1.0)),
        ),
    ),
)  # fmt: skip
