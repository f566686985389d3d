"""Means over the runs of a series."""

from collections.abc import Iterable, Sequence

import msgspec

from posse.measure.confidence import mean_ci
from posse.results.measures import MEASURES, Measure
from posse.results.record import RunRecord


class Mean(msgspec.Struct):
    """A mean over `n` runs; `ci95` is half the width of Student's 95 % interval.

    It is None for one run, and for a share.
    """

    mean: float
    ci95: float | None
    n: int


def mean_of(runs: Iterable[RunRecord], measure: Measure) -> Mean | None:
    """The mean of a measure over the runs that have it; None if none has."""
    values = [float(value) for run in runs if (value := measure.of(run)) is not None]
    if not values:
        return None
    mean, ci95 = mean_ci(values)
    return Mean(mean, None if measure.share else ci95, len(values))


def means(runs: Sequence[RunRecord]) -> dict[str, Mean]:
    """The means of all measures that any of the runs has, by name."""
    found = {measure.name: mean_of(runs, measure) for measure in MEASURES}
    return {name: mean for name, mean in found.items() if mean is not None}
