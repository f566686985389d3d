"""The page of an experiment: the figure, what the paper says about it, every number."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from posse.measure.numbers import number
from posse.papers.conduct import Outcome
from posse.papers.experiment import SEED, Experiment, panel
from posse.papers.outcome import Judged
from posse.papers.statements import Measured
from posse.progress import duration
from posse.report.drawing import (
    COLOUR,
    MARKERS,
    SERIES,
    Chart,
    band,
    canvas,
    large_numbers,
    legend,
    name_rows,
    to_svg,
    whiskers,
)
from posse.report.page import Page, Section, Verdict, mean_cell, table
from posse.report.regret import mean_curve

_CSS = {"borne out": "yes", "not borne out": "no", "undecided": "open", "not run": "open"}


def outcome_page(outcome: Outcome) -> Page:
    """The figure, the statements beside it, every number, and both engines."""
    experiment = outcome.experiment
    form = "quick" if outcome.quick else "full"
    place = [experiment.axes.x] if experiment.axes.shape == "points" else []
    numbers = table(
        "",
        ("variant", "line", *place, experiment.axes.y, "runs", "ended"),
        [
            (
                variant,
                line,
                *([x] if place else []),
                mean_cell(measured.values(line, x)),
                len(samples),
                ", ".join(sorted({sample.status for sample in samples})),
            )
            for variant, measured in outcome.measured.items()
            for (line, x), samples in measured.runs.items()
        ],
    )
    answers = [found.answer for said in outcome.statements for found in said.found.values()]
    tally = ", ".join(f"{answers.count(a)} {a}" for a in _CSS if a in answers)
    of = ", ".join(filter(None, (experiment.paper, experiment.figure)))
    return Page(
        title=experiment.title,
        kicker=f"{experiment.name} · {of} · {form} form · "
        + (f"engine {outcome.engine}" if outcome.agreement else "computed, no runs of systems")
        + f" · {duration(outcome.processor_seconds)} of processor time",
        lead=f"Of {len(answers)} answers: {tally}.",
        alerts=[] if outcome.agrees else ["The two engines do not agree; see below."],
        sections=[
            Section(
                id="figure",
                title="The figure",
                text=[f"Not printed in the paper and taken here: {experiment.assumed}"]
                if experiment.assumed
                else [],
                charts=draw(experiment, outcome.measured),
            ),
            *_statements(outcome),
            Section(
                id="numbers",
                title="Every point",
                text=[f"Mean ± 95% half-width, seed {SEED}."],
                tables=[numbers],
            ),
            *_engines(outcome),
        ],
    )


def _statements(outcome: Outcome) -> list[Section]:
    """What the paper says, and what only we ask."""
    claims = Section(id="statements", title="What the paper says, and what we find")
    ours = Section(id="checks", title="Checks of our own")
    for statement in outcome.statements:
        (claims if statement.place else ours).verdicts += _verdicts(statement)
    return [section for section in (claims, ours) if section.verdicts]


def _verdicts(statement: Judged) -> list[Verdict]:
    """One verdict per variant that judges, or one for all where they say the same."""
    distinct: dict[tuple[str, str], list[str]] = {}
    for variant, finding in statement.found.items():
        distinct.setdefault((finding.answer, finding.said), []).append(variant)
    claim = statement.text + (f" ({statement.place})" if statement.place else "")
    return [
        Verdict(
            css=_CSS[answer],
            word=answer + (f" ({variants[0]})" if len(distinct) > 1 else ""),
            claim=claim,
            evidence=said,
        )
        for (answer, said), variants in distinct.items()
    ]


def _engines(outcome: Outcome) -> list[Section]:
    """The comparison of both engines, where anything was run."""
    if not outcome.agreement:
        return []
    return [
        Section(
            id="engines",
            title="A small run on both engines",
            text=[
                f"The figure was made by the {outcome.engine} engine. One small run of each of "
                "its systems, of the same seed, on both:"
            ],
            tables=[
                table(
                    "",
                    ("quantity", "memory", "processes", "same"),
                    [
                        (name, number(m), number(p), "yes" if m == p else "no")
                        for name, m, p in outcome.agreement
                        if m is not None or p is not None
                    ],
                )
            ],
        )
    ]


Limits = tuple[float, float]


def draw(experiment: Experiment, measured: dict[str, Measured]) -> list[Chart]:
    """The paper's figure, panel by panel, for each variant; once where all variants are the same.

    The variants of a panel are drawn on one scale.
    """
    panels: dict[str, None] = {}
    for runs in measured.values():
        panels |= dict.fromkeys(map(panel, runs.lines()))
    return [chart for name in panels for chart in _panel(experiment, measured, name)]


def _panel(experiment: Experiment, measured: dict[str, Measured], name: str) -> list[Chart]:
    distinct: dict[str, list[str]] = {}
    for variant, runs in measured.items():
        with canvas() as (_, axes):
            if rows := _plot(experiment, runs, axes, name):
                distinct.setdefault(str(rows), []).append(variant)
    shown = {variants[0]: variants for variants in distinct.values()}
    limits = []
    for variant in shown:
        with canvas() as (_, axes):
            _plot(experiment, measured[variant], axes, name)
            limits.append(_value_limits(experiment, axes))
    common = (
        min((low for low, _ in limits), default=0.0),
        max((high for _, high in limits), default=1.0),
    )
    return [
        _chart(experiment, measured[variant], " and ".join(variants), common, name)
        for variant, variants in shown.items()
    ]


def _value_limits(experiment: Experiment, axes: Axes) -> Limits:
    low, high = axes.get_xlim() if experiment.axes.shape == "bars" else axes.get_ylim()
    return float(low), float(high)


def _chart(
    experiment: Experiment, measured: Measured, variants: str, limits: Limits, name: str
) -> Chart:
    title = f"{name}, {variants}" if name else variants.capitalize()
    part = "".join(c if c.isalnum() else "-" for c in name.lower())
    file = "-".join(filter(None, (experiment.name, part, measured.variant)))
    bars = experiment.axes.shape == "bars"
    lines = len([line for line in measured.lines() if panel(line) == name])
    with canvas(1.6 + 0.42 * lines if bars else 3.6) as (figure, axes):
        rows = _plot(experiment, measured, axes, name)
        if bars:
            axes.set_xlim(limits)
            axes.set_xlabel(experiment.axes.y)
            large_numbers(axes, x=True, y=False)
            if experiment.limit is not None:
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), ncols=1)
        else:
            axes.set_ylim(limits)
            axes.set_xlabel(experiment.axes.x)
            axes.set_ylabel(experiment.axes.y)
            large_numbers(axes, x=experiment.axes.shape == "curves" or "x" in experiment.axes.log)
            legend(axes)
        svg = to_svg(figure, file, experiment.title)
    return Chart(
        name=file,
        title=title,
        caption="Bars and bands are 95% intervals.",
        svg=svg,
        header=("line", experiment.axes.x, "mean", "ci95"),
        rows=rows,
    )


def _plot(
    experiment: Experiment, measured: Measured, axes: Axes, name: str
) -> list[tuple[Any, ...]]:
    """Draw one panel of one variant; the rows of its CSV file."""
    rows: list[tuple[Any, ...]] = []
    keys = [line for line in measured.lines() if panel(line) == name]
    lines = [line.removeprefix(f"{name}: ") for line in keys]
    if "x" in experiment.axes.log:
        axes.set_xscale("log", base=2)
    if "y" in experiment.axes.log:
        axes.set_yscale("log")
    for index, (key, line) in enumerate(zip(keys, lines, strict=True)):
        colour = SERIES[index % len(SERIES)]
        if experiment.axes.shape == "curves":
            curves = [sample.curve for sample in measured.runs[key, 0.0] if sample.curve]
            times, mean, half = mean_curve(curves)
            axes.plot(times, mean, color=colour, label=line)
            band(axes, times, mean, half, colour)
            rows += [(line, *map(float, p)) for p in zip(times, mean, half, strict=True)]
            continue
        places = [x for x in measured.places(key) if measured.values(key, x)]
        means = np.array([measured.mean(key, x) for x in places]).reshape(-1, 2)
        rows += [(line, x, *map(float, m)) for x, m in zip(places, means, strict=True)]
        if experiment.axes.shape == "bars":
            axes.barh([index] * len(places), means[:, 0], xerr=whiskers(*means.T), color=colour)
            continue
        axes.errorbar(
            places, means[:, 0], yerr=whiskers(*means.T), color=colour, label=line,
            marker=MARKERS[index % len(MARKERS)], markersize=5, capsize=3,
        )  # fmt: skip
    style: Any = {"color": COLOUR["bad"], "linestyle": "--", "linewidth": 1.4, "label": "claimed"}
    if experiment.axes.shape == "bars":
        name_rows(axes, lines)
        if experiment.limit is not None:
            axes.axvline(experiment.limit, **style)
    elif experiment.limit is not None:
        axes.axhline(experiment.limit, **style)
    return rows
