"""Regret over time, of one series or of several, and what theory says of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posse.measure.confidence import FEWEST, interval
from posse.measure.numbers import capital, short
from posse.protocol.arrays import FloatArray
from posse.reading.folder import Bound, Series
from posse.report.differences import ordered, together
from posse.report.drawing import (
    COLOUR,
    Chart,
    canvas,
    curve,
    end_labels,
    large_numbers,
    thin,
    to_svg,
)
from posse.results.figures import POINTS

FAR = 3.0
"""A bound beyond this many times what was measured is told, not drawn: all figures of regret have
even axes from 0, so that those of one run and of several are read alike."""


def mean_curve(
    curves: list[list[list[float]]],
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times, and mean, low and high end of its 95% interval, of curves [[t, y], …].

    Each has shape (≤ POINTS,); the ends are NaN for fewer curves than have an interval. A curve
    that ended stays at its last value: a run that has found its arm regrets no more.
    """
    end = max(curve[-1][0] for curve in curves)
    times = np.linspace(0, end, POINTS)
    values = np.array(
        [np.interp(times, *np.array(curve, dtype=float)[:, :2].T) for curve in curves]
    )
    return times, values.mean(axis=0), *interval(values)


def regret(all_series: list[Series], names: Sequence[str] = ("measured",)) -> Chart | None:
    """Mean regret over time with its 95% band, one line per series; for one, theory's bound."""
    alike: list[tuple[Series, list[str], list[Any]]] = []
    for s, name in zip(all_series, names, strict=True):
        if not (curves := [r.regret_curve for r in s.runs if r.regret_curve]):
            continue
        # what a swept parameter does not change is one line
        same = next((called for _, called, drawn in alike if drawn == curves), None)
        if same is None:
            alike.append((s, [name], curves))
        else:
            same.append(name)
    if not alike:
        return None
    shown = [(s, together(called), curves) for s, called, curves in alike]
    units = {s.clock_unit for s, _, _ in shown}
    rows: list[tuple[Any, ...]] = []
    shades = len(shown) if ordered([name for _, called, _ in alike for name in called]) else 0
    last: list[tuple[str, float, float]] = []
    with canvas() as (figure, axes):
        for index, (_, name, curves) in enumerate(shown):
            times, mean, *ends = mean_curve(curves)
            last.append((name, float(times[-1]), float(mean[-1])))
            if len(shown) == 1:
                for single in curves[:10]:
                    xs, ys = np.array(thin(single, 80), dtype=float)[:, :2].T
                    axes.plot(xs, ys, color=COLOUR["muted"], linewidth=0.6, alpha=0.35)
            curve(axes, index, name, times, mean, *ends, shades=shades)
            rows += [
                (name, *(round(float(v), 6) for v in point))
                for point in zip(times, mean, *ends, strict=True)
            ]
        remark = ""
        if len(shown) == 1 and (bound := shown[0][0].bound) is not None:
            remark, promised = _draw_bound(axes, bound, times, mean)
            rows = promised + rows
        axes.set(xlabel=f"time ({' or '.join(sorted(units))})", ylabel="cumulative regret")
        axes.set(xlim=(0, None), ylim=(min(0.0, axes.get_ylim()[0]), None))
        large_numbers(axes, x=True)
        end_labels(axes, last, shades=shades)
    runs = [len(curves) for _, _, curves in shown]
    least, most = min(runs), max(runs)
    caption = of_runs(least, most)
    if most > 1 and len(shown) == 1:
        caption += f" Thin lines: {'single' if most <= 10 else 'ten'} runs."
    return Chart(
        name="regret",
        title="Regret",
        caption=f"{caption} {remark}".strip(),
        svg=to_svg(figure, "regret", "Regret over time"),
        header=("series", "time", "mean", "low", "high"),
        rows=rows,
    )


def _draw_bound(
    axes: Axes, bound: Bound, times: FloatArray, mean: FloatArray
) -> tuple[str, list[tuple[Any, ...]]]:
    """Draw a bound, dashed; what is to be said of it, and its rows of the CSV file."""
    style: Any = {"color": COLOUR["bad"], "linestyle": "--", "linewidth": 1.4}
    words: list[str] = []
    rows: list[tuple[Any, ...]] = []
    if bound.regret is not None:
        limit = bound.regret(times)
        rows = [
            (bound.label, float(t), float(b), "", "") for t, b in zip(times, limit, strict=True)
        ]
        ratio = float(limit[-1] / mean[-1]) if mean[-1] > 0 else float("inf")
        if ratio <= FAR:
            axes.plot(times, limit, label=bound.label, **style)
            words.append(f"Dashed: {bound.label}, {short(ratio)} times what was measured.")
        else:
            words.append(
                f"{capital(bound.label)} allows {short(float(limit[-1]))} at the end, "
                f"{ratio:,.0f} times what was measured, too far to draw."
            )
    if bound.rounds is not None:
        rows.append((bound.label, bound.rounds, "", "", ""))
        ratio = bound.rounds / float(times[-1])
        if ratio <= FAR:
            axes.axvline(bound.rounds, label=bound.label, **style)
            words.append(f"Dashed: {bound.label} by round {bound.rounds:,.0f}.")
        else:
            words.append(
                f"{capital(bound.label)} by round {bound.rounds:,.0f}, {ratio:,.0f} times the "
                "longest run, too far to draw."
            )
    return " ".join([*words, bound.note]), rows


def of_runs(least: int, most: int | None = None) -> str:
    """What a curve is of this many runs; of the fewest and the `most`, where there are several."""
    most = most or least
    if most == 1:
        return "One run."
    count = f"{least} to {most}" if least < most else f"{most}"
    return f"Mean of {count} runs{' with its 95% interval' * (most >= FEWEST)}."
