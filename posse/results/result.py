"""What a series of runs turned out to be; the one document that `posse run --json` prints."""

from collections.abc import Iterable
from typing import Any

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


class Result(msgspec.Struct, kw_only=True):
    """A series of runs of one specification; `network` tells of the first run's.

    `links`: "local" (all on this machine), "keys" (CURVE on every link) or "insecure".
    """

    system: str
    variant: str
    engine: str
    seed: int
    runs: list[RunRecord]
    specification: dict[str, Any]
    links: str = "local"
    network: dict[str, Any] = {}
    warnings: list[str] = []

    def summary(self) -> dict[str, Mean]:
        """The means of all measures that any run has, by name."""
        found = {measure.name: mean_of(self.runs, measure) for measure in MEASURES}
        return {name: mean for name, mean in found.items() if mean is not None}

    def document(self) -> dict[str, Any]:
        """The one document that `posse run --json` prints."""
        return {
            "system": self.system,
            "variant": self.variant,
            "engine": self.engine,
            "links": self.links,
            "seed": self.seed,
            "runs": [run.document() for run in self.runs],
            "summary": msgspec.to_builtins(self.summary()),
            "network": self.network,
            "warnings": self.warnings,
        }
