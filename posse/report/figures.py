"""How runs went over time: regret, and the figures that their system declares."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from matplotlib.ticker import MaxNLocator

from posse.errors import PosseError
from posse.reading.folder import Series
from posse.report.drawing import (
    COLOUR,
    Chart,
    canvas,
    curve,
    large_numbers,
    note,
    thin,
    to_svg,
)
from posse.report.page import Section, some
from posse.report.regret import mean_curve, of_runs, regret
from posse.results.figures import Figure, Pairs, Style, Values
from posse.results.record import RunRecord

_MOST_ROWS = 30
_MOST_LINES = 20
_FEWEST_STEPS = 4
"""Fewer moments, the beginning among them, make no figure."""


def section(series: Series) -> Section | None:
    """Regret, and what the system declares: votes, arms left, collisions, rewards."""
    charts = some(regret([series]), *draw_declared(series))
    return Section(id="figures", title="How it went", charts=charts) if charts else None


def draw_declared(series: Series) -> list[Chart]:
    """The figures that the system of a series declares, as far as its runs have their values.

    Raises `PosseError` if a system's code fails.
    """
    figures = series.system.figures if series.system is not None else ()
    return some(*(_STYLES[figure.style](figure, series) for figure in figures))


def _values(figure: Figure, values: Values, run: RunRecord, series: Series) -> Pairs:
    """The values of a run; `PosseError` if the system's code fails or they are no numbers."""
    try:
        pairs = values(run, series.spec.arms.arm_count())
        return [(float(x), float(y)) for x, y in pairs]
    except Exception as error:
        why = str(error) if isinstance(error, PosseError) else f"{type(error).__name__}: {error}"
        raise PosseError(
            f"the figure {figure.name} of {series.spec.system} cannot be drawn: {why}"
        ) from None


def _of_runs(figure: Figure, series: Series) -> list[tuple[RunRecord, Pairs]]:
    each = [(run, _values(figure, figure.values, run, series)) for run in series.runs]
    return [(run, pairs) for run, pairs in each if pairs]


def _x_label(figure: Figure, series: Series) -> str:
    return figure.x or f"time ({series.clock_unit})"


def _line(figure: Figure, series: Series) -> Chart | None:
    """Mean and 95 % band over the runs."""
    curves = [[list(pair) for pair in pairs] for _, pairs in _of_runs(figure, series)]
    if not curves:
        return None
    times, mean, low, high = mean_curve(curves)
    with canvas() as (drawing, axes):
        curve(axes, 1, figure.y, times, mean, low, high)
        axes.set(xlabel=_x_label(figure, series), ylabel=figure.y, xlim=(0, None))
        large_numbers(axes, x=True)
    return Chart(
        name=figure.name,
        title=figure.title,
        caption=f"{figure.caption} {of_runs(len(curves))}".strip(),
        svg=to_svg(drawing, figure.name, f"{figure.title} over time"),
        header=("time", "mean", "low", "high"),
        rows=[tuple(map(float, point)) for point in zip(times, mean, low, high, strict=True)],
    )


def _steps(figure: Figure, series: Series) -> Chart | None:
    """One line per run, level between its moments."""
    each = _of_runs(figure, series)
    if max((len({x for x, _ in pairs}) for _, pairs in each), default=0) < _FEWEST_STEPS:
        return None
    with canvas() as (drawing, axes):
        for _, pairs in each[:_MOST_LINES]:
            xs, ys = zip(*pairs, strict=True)
            axes.step(xs, ys, where="post", color=COLOUR["s0"], alpha=0.55, linewidth=1.4)
            axes.plot(xs[-1:], ys[-1:], "o", color=COLOUR["s0"], markersize=4)
        axes.set(xlabel=_x_label(figure, series), ylabel=figure.y)
        axes.set(xlim=(0, None), ylim=(0, None))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        large_numbers(axes, x=True, y=False)
    most = f" (the first {_MOST_LINES})" if len(each) > _MOST_LINES else ""
    return Chart(
        name=figure.name,
        title=figure.title,
        caption=f"{figure.caption} One line per run{most}.".strip(),
        svg=to_svg(drawing, figure.name, f"{figure.title} over time"),
        header=("run", "time", figure.y),
        rows=[(run.run, x, y) for run, pairs in each for x, y in pairs],
    )


def _points(figure: Figure, series: Series) -> Chart | None:
    """The moments of the first run that has any, a row for each y, and how many there are."""
    run, pairs = next(iter(_of_runs(figure, series)), (None, []))
    if run is None:
        return None
    by_row: dict[float, list[float]] = defaultdict(list)
    for x, y in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
        by_row[y].append(x)
    rows = list(by_row)[:_MOST_ROWS]
    crosses = _values(figure, figure.crosses, run, series)
    with canvas(1.5 + 0.24 * max(len(rows), 5)) as (drawing, axes):
        for place, y in enumerate(rows):
            moments = thin(by_row[y], 150)
            places = [place] * len(moments)
            axes.plot(moments, places, "o", color=COLOUR["s0"], alpha=0.5, markersize=4.5)
            marked = [x for x, row in crosses if row == y]
            axes.plot(marked, [place] * len(marked), "X", color=COLOUR["s1"], markersize=8)
            right = {"xycoords": ("axes fraction", "data"), "fontsize": 10}
            note(axes, f"{len(by_row[y])}", (1.0, place), (6, 0), **right)
        axes.set_yticks(range(len(rows)), [f"{y:g}" for y in rows])
        axes.invert_yaxis()
        axes.margins(y=0.08)
        axes.set(xlabel=_x_label(figure, series), ylabel=figure.y)
        large_numbers(axes, x=True, y=False)
    omitted = len(by_row) - len(rows)
    more = f" {omitted} more rows are in the CSV file." if omitted else ""
    return Chart(
        name=figure.name,
        title=figure.title,
        caption=f"Run {run.run}: {figure.caption}{more}",
        svg=to_svg(drawing, figure.name, f"{figure.title} over time"),
        header=(figure.y, "time", "count"),
        rows=[(y, x, count) for y, xs in by_row.items() for count, x in enumerate(xs, start=1)],
    )


def _bars(figure: Figure, series: Series) -> Chart | None:
    """The mean height at each x, over the runs that have it."""
    heights: dict[float, list[float]] = defaultdict(list)
    for _, pairs in _of_runs(figure, series):
        for x, y in pairs:
            heights[x].append(y)
    if not heights:
        return None
    rows = [(x, float(np.mean(heights[x])), len(heights[x])) for x in sorted(heights)]
    with canvas() as (drawing, axes):
        axes.bar([x for x, *_ in rows], [y for _, y, _ in rows], width=0.72, color=COLOUR["s0"])
        axes.grid(visible=False, axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(xlabel=_x_label(figure, series), ylabel=figure.y)
        large_numbers(axes)
    return Chart(
        name=figure.name,
        title=figure.title,
        caption=f"{figure.caption} Mean of the runs that have it.".strip(),
        svg=to_svg(drawing, figure.name, figure.title),
        header=(figure.x or "x", figure.y, "runs"),
        rows=rows,
    )


_STYLES: dict[Style, Callable[[Figure, Series], Chart | None]] = {
    "line": _line,
    "steps": _steps,
    "points": _points,
    "bars": _bars,
}
