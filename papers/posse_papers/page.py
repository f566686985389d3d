"""The page of an experiment: the figure, what the paper says about it, every number."""

import numpy as np
from matplotlib.axes import Axes

from posse.experiments import duration, mean_interval, number
from posse.extend import FloatArray
from posse.pages import (
    COLOUR,
    Chart,
    Page,
    Section,
    Verdict,
    bars,
    canvas,
    curve,
    large_numbers,
    mean_cell,
    mean_curve,
    points,
    table,
    to_svg,
)
from posse_papers.conduct import Outcome
from posse_papers.experiment import Experiment, panel
from posse_papers.outcome import Judged, Tried
from posse_papers.statements import Measured

_CSS = {"borne out": "yes", "not borne out": "no"}
"""By answer; what is neither stays open."""


def outcome_page(outcome: Outcome) -> Page:
    """The figure, the statements beside it, every number, and both engines."""
    experiment, summary = outcome.experiment, outcome.told
    assumed = f"Not printed in the paper and taken here: {experiment.assumed}"
    source = ", ".join(filter(None, (experiment.paper, experiment.figure)))
    return Page(
        title=experiment.title,
        kicker=f"{experiment.name} · {source} · {summary.form} form · "
        + (f"engine {summary.engine}" if outcome.agreement else "computed, no runs of systems")
        + f" · {duration(summary.processor_seconds)} of processor time",
        lead=f"Of {len(summary.statements)} statements: {summary.tally}.",
        alerts=["The two engines do not agree; see below."] * (summary.engines_agree is False),
        sections=[
            Section(
                id="figure",
                title="The figure",
                text=[assumed] if experiment.assumed else [],
                charts=draw(experiment, outcome.measured),
            ),
            *_statements(summary.statements),
            _numbers(outcome),
            *_engines(outcome),
        ],
    )


def _numbers(outcome: Outcome) -> Section:
    """A row for each point."""
    axes = outcome.experiment.axes
    place = axes.shape == "points"
    rows = []
    for variant, measured in outcome.measured.items():
        for (line, x), samples in measured.runs.items():
            mean = mean_cell(measured.values(line, x))
            ended = ", ".join(sorted({sample.status for sample in samples}))
            rows.append((variant, line, *[x] * place, mean, len(samples), ended))
    header = ("variant", "line", *[axes.x] * place, axes.y, "runs", "ended")
    text = "Means with their 95% intervals from five runs on."
    return Section(id="numbers", title="Every point", text=[text], tables=[table("", header, rows)])


def _statements(statements: list[Judged]) -> list[Section]:
    """What the paper says, and what only we ask."""
    claims = Section(id="statements", title="What the paper says, and what we find")
    ours = Section(id="checks", title="Checks of our own")
    for statement in statements:
        (claims if statement.place else ours).verdicts += _verdicts(statement)
    return [section for section in (claims, ours) if section.verdicts]


def _evidence(found: Tried) -> str:
    """What was measured under a choice, and which wrong worlds the same test refuted."""
    power = [
        f" {does} {'; '.join(mutants)}."
        for does, mutants in (("Refutes", found.refuted), ("Does not refute", found.passed))
        if mutants
    ]
    return f"{found.said}{found.looks_said}.{''.join(power)}"


def _verdicts(statement: Judged) -> list[Verdict]:
    """The verdict under all choices, and what each choice gave."""
    claim = statement.text + (f" ({statement.place})" if statement.place else "")
    holds, tried = statement.holds
    choices = f"Borne out under {holds} of {tried} choices. " if tried > 1 else ""
    said = " ".join(
        f"{found.choice_said}{f'{found.answer}, ' if tried > 1 else ''}{_evidence(found)}"
        for found in statement.found
    )
    css = _CSS.get(statement.verdict, "open")
    return [Verdict(css=css, word=statement.verdict, claim=claim, evidence=choices + said)]


def _engines(outcome: Outcome) -> list[Section]:
    """The comparison of both engines, where anything was run."""
    if not outcome.agreement:
        return []
    text = (
        f"The figure was made by the {outcome.told.engine} engine. One small run of each of its "
        "systems, of the same seed, on both:"
    )
    rows = [
        (name, number(memory), number(processes), "yes" if memory == processes else "no")
        for name, memory, processes in outcome.agreement
        if memory is not None or processes is not None
    ]
    compared = table("", ("quantity", "memory", "processes", "same"), rows)
    title = "A small run on both engines"
    return [Section(id="engines", title=title, text=[text], tables=[compared])]


Series = list[tuple[str, FloatArray]]
"""The lines of a panel, each with its rows: place, mean and half of its 95 % interval."""


def draw(experiment: Experiment, measured: dict[str, Measured]) -> list[Chart]:
    """The paper's figure, panel by panel, for each variant; once where all variants are the same.

    The variants of a panel are drawn on one scale.
    """
    charts = []
    for name in dict.fromkeys(panel(line) for runs in measured.values() for line in runs.lines()):
        distinct: dict[str, tuple[Series, list[str]]] = {}
        for variant, runs in measured.items():
            if series := _series(experiment, runs, name):
                key = str([(line, rows.tolist()) for line, rows in series])
                distinct.setdefault(key, (series, []))[1].append(variant)
        with canvas() as (_, axes):
            for series, _ in distinct.values():
                _plot(experiment, axes, series)
            scale = axes.get_xlim() if experiment.axes.shape == "bars" else axes.get_ylim()
        charts += [_chart(experiment, *pair, scale, name) for pair in distinct.values()]
    return charts


def _series(experiment: Experiment, measured: Measured, name: str) -> Series:
    """What one variant's panel shows."""
    found = []
    for key in measured.lines():
        if panel(key) != name:
            continue
        if experiment.axes.shape == "curves":
            curves = [sample.curve for sample in measured.runs[key, 0.0] if sample.curve]
            rows = np.column_stack(mean_curve(curves))
        else:
            points_of = ((x, measured.values(key, x)) for x in measured.places(key))
            rows = np.array(
                [(x, *mean_interval(values)) for x, values in points_of if values]
            ).reshape(-1, 4)
        found.append((key.removeprefix(f"{name}: "), rows))
    return found


def _chart(
    experiment: Experiment,
    series: Series,
    variants: list[str],
    scale: tuple[float, float],
    name: str,
) -> Chart:
    said, how = " and ".join(variants), experiment.axes
    part = "".join(c if c.isalnum() else "-" for c in name.lower())
    file = "-".join(filter(None, (experiment.name, part, variants[0])))
    lying = how.shape == "bars"
    with canvas(1.6 + 0.42 * len(series) if lying else 3.6) as (figure, axes):
        _plot(experiment, axes, series)
        if lying:
            axes.set(xlim=scale, xlabel=how.y)
            if experiment.limit is not None:
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), ncols=1)
        else:
            axes.set(ylim=scale, xlabel=how.x, ylabel=how.y)
            large_numbers(axes, x=how.shape == "curves" or "x" in how.log)
        svg = to_svg(figure, file, experiment.title)
    return Chart(
        name=file,
        title=f"{name}, {said}" if name else said.capitalize(),
        caption="Bars and bands are 95% intervals.",
        svg=svg,
        header=("line", how.x, "mean", "low", "high"),
        rows=[(line, *map(float, row)) for line, rows in series for row in rows],
    )


def _plot(experiment: Experiment, axes: Axes, series: Series) -> None:
    """Draw the lines of a panel."""
    how = experiment.axes
    if "x" in how.log:
        axes.set_xscale("log", base=2)
    if "y" in how.log:
        axes.set_yscale("log")
    if how.shape == "bars":
        bars(axes, [(line, *ends) for line, rows in series for _, *ends in rows.tolist()])
    else:
        for index, (line, rows) in enumerate(series):
            (points if how.shape == "points" else curve)(axes, index, line, *rows.T)
    if experiment.limit is not None:
        (axes.axvline if how.shape == "bars" else axes.axhline)(
            experiment.limit, color=COLOUR["bad"], linestyle="--", linewidth=1.4, label="claimed"
        )
