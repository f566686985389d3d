"""An experiment of a paper as data: what the paper says, what is run, how it is drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from posse.extend import Variant
from posse_papers.sample import Metric, rounds
from posse_papers.statements import Place, Statement

SEED, SECOND_SEED = 1, 2
"""The seed of every experiment, and another one to see whether a limit was fitted to the first.

Repetitions differ by their number.
"""

VARIANTS: tuple[Variant, ...] = ("corrected", "printed")


class Computation:
    """A point that is no run of a system: `of(*arguments)` gives its numbers.

    `of` is a function of a module, so that other processes can call it; if it has a keyword
    `variant` or `generator` it is given these too. What it returns are the sample's `numbers`, of
    which "curve" is its regret over time, or the one that is called "value". Repetition n of every
    computation has the n-th generator of the seed.
    """

    def __init__(self, of: Callable[..., Any], *arguments: Any) -> None:
        self.of = of
        self.arguments = arguments

    def identity(self) -> list[Any]:
        """What it is, as plain data."""
        return [self.of.__module__, self.of.__qualname__, *self.arguments]

    def __call__(self, variant: str, number: int, seed: int = SEED) -> dict[str, Any]:
        """The numbers of one repetition."""
        sequence = np.random.SeedSequence(seed, spawn_key=(number,))
        there = {"variant": variant, "generator": np.random.default_rng(sequence)}
        asked = inspect.signature(self.of).parameters
        more = {name: value for name, value in there.items() if name in asked}
        found = self.of(*self.arguments, **more)
        return found if isinstance(found, dict) else {"value": found}


@dataclass(frozen=True)
class Runs:
    """What a point runs, if more is to be said than what.

    It is repeated `times` as often as the experiment's other points, in these `variants`.
    """

    run: dict[str, Any] | Computation
    times: int = 1
    variants: tuple[Variant, ...] = VARIANTS


def run_file(
    system: str, agents: int, arms: Mapping[str, Any], parameters: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """The tables of a run file that say what is run; `more` are further ones."""
    tables = {"system": system, "agents": {"count": agents}, "arms": arms}
    return {**tables, "parameters": parameters, **more}


Lines = Mapping[str, Any]
"""What each line runs, {line: run}, or {line: {place on the axis: run}}.

A run is a run specification without seed, repeat, variant and engine, a computation, or one of them
with more to say (`Runs`). A line that is called "left: ε = .1" lies in the panel "left".
"""


def along(
    made: Callable[[Any, Any], Any], lines: Mapping[str, Any] | Iterable[str], places: Iterable[Any]
) -> dict[str, dict[float, Any]]:
    """At each place x on each line `of(what the line stands for, x)`; a name stands for itself."""
    meant = lines if isinstance(lines, Mapping) else {line: line for line in lines}
    axis = tuple(places)
    return {line: {x: made(what, x) for x in axis} for line, what in meant.items()}


def panels(by_name: Mapping[str, Lines]) -> dict[str, Any]:
    """The lines of each panel, by its name."""
    return {
        f"{name}: {line}": run for name, lines in by_name.items() for line, run in lines.items()
    }


@dataclass(frozen=True)
class Axes:
    """How lines are drawn, and what stands beside the axes; `log` names the logarithmic ones.

    The shape is "points" (metric against x), "curves" (regret over time) or "bars" (x says
    nothing).
    """

    x: str
    y: str
    log: Literal["", "x", "y", "xy"] = ""
    shape: Literal["points", "curves", "bars"] = "points"


def curves(x: str, y: str) -> Axes:
    """Regret over time."""
    return Axes(x, y, shape="curves")


def bars(y: str, x: str = "") -> Axes:
    """A bar for each line."""
    return Axes(x, y, shape="bars")


class Experiment:
    """One figure, or one statement of theory.

    `figure` says what of the paper it is, "" for our own. `lines` are the settings, or give them
    for the quick form and the full; `repeat` is how often each is run, quick and in full. `metric`
    is what counts of a run, as "value" does of a computation. `assumed` says what the paper does
    not print and what was taken. `keep_log`: statements read the logs of runs. `limit` is drawn
    dashed: what was claimed of all lines.
    """

    def __init__(
        self,
        name: str,
        figure: str,
        title: str,
        *statements: Statement,
        lines: Lines | Callable[[bool], Lines],
        axes: Axes,
        repeat: tuple[int, int] = (1, 1),
        metric: Metric = rounds,
        variants: tuple[Variant, ...] = VARIANTS,
        assumed: str = "",
        keep_log: bool = False,
        limit: float | None = None,
    ) -> None:
        self.name, self.figure, self.title, self.statements = name, figure, title, statements
        self.lines, self.axes, self.repeat, self.metric = lines, axes, repeat, metric
        self.variants, self.assumed, self.keep_log, self.limit = variants, assumed, keep_log, limit
        self.paper = ""

    def but(self, **changes: Any) -> Experiment:
        """The same, some of it changed."""
        made = copy(self)
        vars(made).update(changes)
        return made

    def points(self, quick: bool) -> dict[Place, Runs]:
        """What is run, point by point."""
        return {
            (line, x): run if isinstance(run, Runs) else Runs(run)
            for line, runs in (self.lines(quick) if callable(self.lines) else self.lines).items()
            for x, run in (
                runs if isinstance(runs, dict) and "system" not in runs else {0.0: runs}
            ).items()
        }

    def systems(self, quick: bool) -> list[str]:
        """The systems that its points run."""
        runs = [point.run for point in self.points(quick).values() if isinstance(point.run, dict)]
        return list(dict.fromkeys(run["system"] for run in runs))


computed = partial(Experiment, variants=("corrected",))
"""An experiment of computations alone, of which there is one form."""


def panel(line: str) -> str:
    """The panel that a line lies in, "" if the figure has only one."""
    name, colon, _ = line.partition(": ")
    return name if colon else ""
