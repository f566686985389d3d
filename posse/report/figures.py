"""The figures of one series of runs; each returns None where the runs have nothing to show."""

from collections import Counter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from posse.measure.confidence import student
from posse.report import theory
from posse.report.drawing import (
    COLOUR,
    DASHES,
    SERIES,
    Chart,
    canvas,
    large_numbers,
    legend,
    thin,
    to_svg,
)
from posse.report.numbers import short
from posse.report.read import Series
from posse.theory.bounds import Bound

Floats = NDArray[np.float64]

_MOST_ARMS = 30

POINTS = 200
"""Points per drawn curve."""


def mean_curve(curves: list[list[list[float]]]) -> tuple[Floats, Floats, Floats]:
    """Times, mean and 95% half-width of curves [[t, y], …], each shape (≤ POINTS,).

    A curve that ended stays at its last value: a run that has found its arm regrets no more.
    """
    end = max(curve[-1][0] for curve in curves)
    times = np.linspace(0, end, POINTS)
    values = np.array(
        [np.interp(times, *np.array(curve, dtype=float)[:, :2].T) for curve in curves]
    )
    half = np.zeros(len(times))
    if len(curves) > 1:
        half = student(len(curves) - 1) * values.std(axis=0, ddof=1) / len(curves) ** 0.5
    return times, values.mean(axis=0), half


def regret(all_series: list[Series]) -> Chart | None:
    """Mean regret over time with its 95% band, one line per series; for one, theory's bound."""
    shown = [(s, [r["regret_curve"] for r in s.runs if r["regret_curve"]]) for s in all_series]
    shown = [(s, curves) for s, curves in shown if curves]
    if not shown:
        return None
    units = {s.clock_unit for s, _ in shown}
    rows: list[tuple[Any, ...]] = []
    with canvas(7.4 if len(shown) > 1 else 5.6, 4.2 if len(shown) > 1 else 3.6) as (figure, axes):
        for index, (series, curves) in enumerate(shown):
            times, mean, half = mean_curve(curves)
            colour = SERIES[index % len(SERIES)]
            if len(shown) == 1:
                for curve in curves[:10]:
                    xs, ys = np.array(thin(curve, 80), dtype=float)[:, :2].T
                    axes.plot(xs, ys, color=COLOUR["muted"], linewidth=0.6, alpha=0.35)
            axes.fill_between(times, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
            axes.plot(
                times,
                mean,
                color=colour,
                linestyle=DASHES[index // 8 % 4],
                label=series.name if len(shown) > 1 else "measured",
            )
            rows += [
                (series.name, *(round(float(v), 6) for v in point))
                for point in zip(times, mean, half, strict=True)
            ]
        said = ""
        if len(shown) == 1 and (bound := theory.bound(shown[0][0])) is not None:
            said, promised = _bound(axes, bound, times, mean)
            rows = promised + rows
        axes.set_xlabel(f"time ({' or '.join(sorted(units))})")
        axes.set_ylabel("cumulative regret")
        if axes.get_xscale() == "linear":
            axes.set_xlim(left=0)
        else:
            axes.set_xlim(left=times[-1] / POINTS)
        if axes.get_yscale() == "linear":
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        large_numbers(axes, x=True)
        legend(axes, len(axes.get_legend_handles_labels()[1]))
        svg = to_svg(figure, "regret", "Regret over time")
    runs = {len(curves) for _, curves in shown}
    count = f"{min(runs)}" if len(runs) == 1 else f"{min(runs)} to {max(runs)}"
    caption = "One run."
    if runs != {1}:
        caption = f"Mean of {count} runs with its 95% interval."
    if len(shown) == 1 and runs != {1}:
        caption += " Thin lines: single runs." if max(runs) <= 10 else " Thin lines: ten runs."
    return Chart(
        name="regret",
        title="Regret",
        caption=f"{caption} {said}".strip(),
        svg=svg,
        header=("series", "time", "mean", "ci95"),
        rows=rows,
        wide=len(shown) > 1,
    )


def _bound(
    axes: Axes, bound: Bound, times: Floats, mean: Floats
) -> tuple[str, list[tuple[Any, ...]]]:
    """Draw a bound, dashed; what is to be said of it, and its rows of the CSV file."""
    style: Any = {"color": COLOUR["bad"], "linestyle": "--", "linewidth": 1.4}
    words: list[str] = []
    rows: list[tuple[Any, ...]] = []
    if bound.regret is not None:
        limit = bound.regret(times)
        rows = [(bound.label, float(t), float(b), 0.0) for t, b in zip(times, limit, strict=True)]
        ratio = float(limit[-1] / mean[-1]) if mean[-1] > 0 else float("inf")
        if ratio <= theory.FAR:
            axes.plot(times, limit, label=bound.label, **style)
            words.append(f"Dashed: {bound.label}, {short(ratio)} times what was measured.")
            if ratio > theory.NEAR:
                axes.set_yscale("log")
                seen = float(mean[mean > 0].min())
                axes.set_ylim(bottom=max(seen, float(mean[-1]) / 1e3) / 2)
        else:
            words.append(
                f"{_capital(bound.label)} allows {short(float(limit[-1]))} at the end, "
                f"{ratio:,.0f} times what was measured, too far to draw."
            )
    if bound.rounds is not None:
        rows.append((bound.label, bound.rounds, "", ""))
        ratio = bound.rounds / float(times[-1])
        if ratio <= theory.FAR:
            axes.axvline(bound.rounds, label=bound.label, **style)
            words.append(f"Dashed: {bound.label} by round {bound.rounds:,.0f}.")
            if ratio > theory.NEAR:
                axes.set_xscale("log")
        else:
            words.append(
                f"{_capital(bound.label)} by round {bound.rounds:,.0f}, {ratio:,.0f} times the "
                "longest run, too far to draw."
            )
    return " ".join([*words, bound.note]), rows


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def pulls_per_arm(series: Series, means: list[float] | None) -> Chart | None:
    """How often each arm was pulled, all agents together."""
    counts = np.array([run["pulls_per_arm"] for run in series.runs if run["pulls_per_arm"]])
    if not counts.size:
        return None
    mean = counts.mean(axis=0)
    found = Counter(r["best_arm"] for r in series.runs if r["best_arm"] is not None)
    answer = found.most_common(1)[0][0] if found else None
    with canvas() as (figure, axes):
        axes.bar(
            range(len(mean)),
            mean,
            width=0.72,
            color=[COLOUR["s1" if k == answer else "s0"] for k in range(len(mean))],
        )
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("arm")
        axes.set_ylabel("pulls by all agents")
        if len(mean) <= 20:
            axes.set_xticks(range(len(mean)))
        large_numbers(axes)
        svg = to_svg(figure, "pulls", "Pulls per arm")
    return Chart(
        name="pulls",
        title="Pulls per arm",
        caption="Mean over the runs."
        + (f" The answer, arm {answer}, has the other colour." if answer is not None else ""),
        svg=svg,
        header=("arm", "mean_of_arm", "pulls"),
        rows=[(k, means[k] if means else "", float(pulls)) for k, pulls in enumerate(mean)],
    )


def votes(series: Series) -> Chart | None:
    """When each arm was voted against and when it left, in the first run that has any votes."""
    run = next((r for r in series.runs if r["log"].get("votes")), None)
    if run is None:
        return None
    by_arm: dict[int, list[float]] = {}
    for now, _, arm in run["log"]["votes"]:
        by_arm.setdefault(int(arm), []).append(float(now))
    left = {int(row[1]): float(row[0]) for row in run["log"].get("eliminations", [])}
    arms = sorted(by_arm)[:_MOST_ARMS]
    rows = [
        (arm, now, count)
        for arm, times in sorted(by_arm.items())
        for count, now in enumerate(sorted(times), start=1)
    ]
    with canvas(5.6, 1.5 + 0.24 * max(len(arms), 5)) as (figure, axes):
        for row, arm in enumerate(arms):
            times = [now for (now,) in thin([(now,) for now in sorted(by_arm[arm])], 150)]
            axes.plot(times, [row] * len(times), "o", color=COLOUR["s0"], alpha=0.5, markersize=4.5)
            if arm in left:
                axes.plot([left[arm]], [row], "X", color=COLOUR["s1"], markersize=8)
            axes.annotate(
                str(len(by_arm[arm])),
                (1.0, row),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=10,
                color=COLOUR["muted"],
            )
        axes.set_yticks(range(len(arms)), [str(arm) for arm in arms])
        axes.invert_yaxis()
        axes.margins(y=0.08)
        axes.set_xlabel(f"time ({series.clock_unit})")
        axes.set_ylabel("arm")
        large_numbers(axes, x=True, y=False)
        svg = to_svg(figure, "votes", "Votes over time")
    omitted = len(by_arm) - len(arms)
    return Chart(
        name="votes",
        title="Votes and eliminations",
        caption=f"Run {run['run']}: a dot is a vote against the arm, a cross the moment it left "
        "for everybody; on the right the votes against it."
        + (f" {omitted} more arms are in the CSV file." if omitted else ""),
        svg=svg,
        header=("arm", "time", "votes"),
        rows=rows,
    )


def arms_left(series: Series) -> Chart | None:
    """How many arms were left over time, one line per run."""
    shown = []
    for run in series.runs:
        rows = run["log"].get("eliminations")
        if rows:
            shown.append((run, sorted(float(row[0]) for row in rows)))
    if max((len(set(times)) for _, times in shown), default=0) < 3:
        return None
    rows = []
    with canvas() as (figure, axes):
        for _, times in shown[:20]:
            arms = series.arms
            xs = [0.0, *times]
            left = [arms - gone for gone in range(len(times) + 1)]
            axes.step(xs, left, where="post", color=COLOUR["s0"], alpha=0.55, linewidth=1.4)
            axes.plot(xs[-1:], left[-1:], "o", color=COLOUR["s0"], markersize=4)
        for run, times in shown:
            arms = series.arms
            rows += [(run["run"], now, arms - gone) for gone, now in enumerate(times, start=1)]
        axes.set_xlabel(f"time ({series.clock_unit})")
        axes.set_ylabel("arms left")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        large_numbers(axes, x=True, y=False)
        svg = to_svg(figure, "arms-left", "Arms left over time")
    return Chart(
        name="arms-left",
        title="Arms left",
        caption=f"One line per run{' (the first 20)' if len(shown) > 20 else ''}.",
        svg=svg,
        header=("run", "time", "arms_left"),
        rows=rows,
    )


def collisions(series: Series) -> Chart | None:
    """Collisions over time, where players share arms."""
    tables = [run.get("detail", {}).get("players") for run in series.runs]
    curves = [table["collision_curve"] for table in tables if table]
    if not curves:
        return None
    times, mean, half = mean_curve(curves)
    with canvas() as (figure, axes):
        axes.fill_between(
            times, mean - half, mean + half, color=COLOUR["s1"], alpha=0.2, linewidth=0
        )
        axes.plot(times, mean, color=COLOUR["s1"])
        axes.set_xlabel("time (slots)")
        axes.set_ylabel("collisions so far")
        large_numbers(axes, x=True)
        svg = to_svg(figure, "collisions", "Collisions over time")
    return Chart(
        name="collisions",
        title="Collisions",
        caption=f"Mean of {len(curves)} runs with its 95% interval.",
        svg=svg,
        header=("time", "mean", "ci95"),
        rows=[tuple(map(float, point)) for point in zip(times, mean, half, strict=True)],
    )


def delay(series: Series) -> Chart | None:
    """Seconds from send to receipt, all messages of all runs, as a distribution."""
    counts: Counter[float] = Counter()
    for run in series.runs:
        for seconds, count in (run["delay"] or {}).get("histogram", []):
            counts[float(seconds)] += int(count)
    if not counts:
        return None
    seconds = np.array(sorted(counts))
    numbers = np.array([counts[s] for s in seconds])
    with canvas() as (figure, axes):
        axes.bar(
            1e3 * seconds,
            100 * numbers / numbers.sum(),
            width=1e3 * seconds * 0.085,
            color=COLOUR["s0"],
        )
        axes.set_xscale("log")
        axes.set_xlabel("delay (ms)")
        axes.set_ylabel("messages (%)")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        svg = to_svg(figure, "delay", "Delay of messages")
    return Chart(
        name="delay",
        title="Delay",
        caption=f"From send to receipt, control messages included; {numbers.sum():,} messages "
        "of all runs.",
        svg=svg,
        header=("seconds", "messages"),
        rows=list(zip(seconds.tolist(), numbers.tolist(), strict=True)),
    )


def bytes_by_kind(series: Series) -> Chart | None:
    """Frame bytes per kind of message, data apart from control."""
    table: Counter[tuple[str, str]] = Counter()
    for run in series.runs:
        for plane in ("data", "world", "control"):
            kinds = run["communication"].get(plane, {}).get("kinds", {})
            for kind, counts in kinds.items():
                table[plane, kind] += counts["frame_bytes"]
    if not table:
        return None
    order = {"data": 0, "world": 1, "control": 2}
    keys = sorted(table, key=lambda key: (order[key[0]], -table[key]))
    values = [table[key] / len(series.runs) for key in keys]
    colours = {"data": "s1", "world": "s2", "control": "s7"}
    with canvas(5.6, 1.3 + 0.3 * len(keys)) as (figure, axes):
        seen: set[str] = set()
        for row, (key, value) in enumerate(zip(keys, values, strict=True)):
            label = None if key[0] in seen else key[0]
            seen.add(key[0])
            axes.barh(row, value, height=0.68, color=COLOUR[colours[key[0]]], label=label)
            axes.annotate(
                f"{short(value)}B",
                (value, row),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9.5,
                color=COLOUR["muted"],
            )
        axes.set_yticks(range(len(keys)), [kind for _, kind in keys])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.16)
        axes.set_xlabel("bytes handed to ZeroMQ, a run")
        large_numbers(axes, x=True, y=False)
        axes.legend(loc="lower right")
        svg = to_svg(figure, "bytes", "Bytes per kind of message")
    return Chart(
        name="bytes",
        title="Bytes by kind",
        caption="Control messages belong to the lab (clock, reports); in the field most of them "
        "do not exist.",
        svg=svg,
        header=("plane", "kind", "frame_bytes"),
        rows=[(*key, value) for key, value in zip(keys, values, strict=True)],
    )


def epsilon_spent(series: Series) -> Chart | None:
    """ε that each agent spent, in the run in which the most was spent."""
    spent = [(run["privacy"] or {}).get("spent_per_agent") or [] for run in series.runs]
    if not spent or not any(max(row, default=0) for row in spent):
        return None
    row = max(spent, key=lambda values: max(values, default=0))
    claim = next(run["privacy"]["claim"] for run in series.runs if run["privacy"])
    with canvas(5.6, 3.0) as (figure, axes):
        ordered = sorted(row, reverse=True)
        axes.fill_between(
            range(len(ordered) + 1),
            [*ordered, ordered[-1]],
            step="post",
            color=COLOUR["s0"],
            alpha=0.75,
            linewidth=0,
        )
        if claim["epsilon"]:
            axes.axhline(claim["epsilon"], color=COLOUR["bad"], linestyle="--", label="claimed")
            axes.legend(loc="upper right", bbox_to_anchor=(1, 1.18))
        axes.set_xlabel("agents, from the most exposed")
        axes.set_ylabel("ε spent")
        axes.set_xlim(0, len(ordered))
        axes.set_ylim(bottom=0)
        svg = to_svg(figure, "epsilon", "Privacy spent per agent")
    return Chart(
        name="epsilon",
        title="ε spent per agent",
        caption="What the ledger adds up to for the most exposed reward of each agent"
        + (f", at δ = {claim['delta']:.2g} and after the fact" if claim["delta"] else "")
        + (", in the run that spent most." if len(spent) > 1 else "."),
        svg=svg,
        header=("agent", "epsilon_spent"),
        rows=list(enumerate(row)),
    )
