"""An experiment of a paper as data: what is run, how it is drawn, what the paper says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

from posse.papers.points import VARIANTS, Point, Variant
from posse.papers.sample import Metric
from posse.papers.sample import rounds as _rounds
from posse.papers.sample import value as _value
from posse.papers.statements import Statement


@dataclass(frozen=True)
class Experiment:
    """One figure, or one statement of theory.

    `figure` says what of the paper it is, "" for our own. `points(quick)` are the settings;
    `repeat` is how often each is run, quick and in full; `shape` is "points" (metric against x),
    "curves" (regret over time) or "bars" (x says nothing). `log` names the logarithmic axes.
    `assumed` says what the paper does not print and what was taken. `keep_log`: statements read the
    logs of runs. `limit` is drawn dashed: what was claimed of all lines.
    """

    name: str
    figure: str
    title: str
    _: KW_ONLY
    paper: str = ""
    x_label: str = ""
    y_label: str
    points: Callable[[bool], list[Point]]
    statements: tuple[Statement, ...]
    repeat: tuple[int, int]
    shape: Literal["points", "curves", "bars"] = "points"
    metric: Metric = _rounds
    log: Literal["", "x", "y", "xy"] = ""
    variants: tuple[Variant, ...] = VARIANTS
    assumed: str = ""
    keep_log: bool = False
    limit: float | None = None

    def systems(self, quick: bool) -> list[str]:
        """The systems that its points run."""
        runs = [point.run for point in self.points(quick) if isinstance(point.run, dict)]
        return list(dict.fromkeys(run["system"] for run in runs))


computed = partial(Experiment, metric=_value, variants=("corrected",))
"""An experiment of computations alone, of which there is one form."""


def of_paper(paper: str, *modules: Any) -> tuple[Experiment, ...]:
    """The experiments of a paper's modules."""
    return tuple(replace(one, paper=paper) for module in modules for one in module.EXPERIMENTS)


def panel(line: str) -> str:
    """The panel that a line lies in, "" if the figure has only one."""
    name, colon, _ = line.partition(": ")
    return name if colon else ""
