"""Run an experiment, check what the paper says about it, and lay out its page."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posse import api
from posse.papers.base import Experiment, Finding, Measured, Point
from posse.record import RunRecord
from posse.report.drawing import (
    MARKERS,
    SERIES,
    Chart,
    canvas,
    large_numbers,
    legend,
    to_svg,
)
from posse.report.figures import mean_curve
from posse.report.page import Page, Section, Verdict, mean_cell, table
from posse.spec import parse

SEED = 1
_CSS = {"borne out": "yes", "not borne out": "no", "undecided": "open", "cannot be": "open"}


@dataclass
class Outcome:
    """What an experiment's runs gave: by variant the measured points and what they say."""

    experiment: Experiment
    quick: bool
    engine: str
    measured: dict[str, Measured]
    findings: dict[str, list[Finding]]
    agreement: list[tuple[str, Any, Any]]
    seconds: float
    warnings: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether both engines gave the same."""
        return all(memory == processes for _, memory, processes in self.agreement)

    def document(self) -> dict[str, Any]:
        """Plain data: what outcome.json holds."""
        return {
            "name": self.experiment.name,
            "paper": self.experiment.paper,
            "figure": self.experiment.figure,
            "title": self.experiment.title,
            "form": "quick" if self.quick else "full",
            "engine": self.engine,
            "engines_agree": self.agrees if self.agreement else None,
            "seconds": round(self.seconds, 1),
            "assumed": self.experiment.assumed,
            "statements": [
                {
                    "text": statement.text,
                    **{
                        variant: {"answer": found[i].answer, "evidence": found[i].evidence}
                        for variant, found in self.findings.items()
                    },
                }
                for i, statement in enumerate(self.experiment.statements)
            ],
        }


def conduct(
    experiment: Experiment,
    *,
    quick: bool,
    engine: str = "memory",
    progress: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Run every point in both variants, then one point on both engines."""
    began = time.monotonic()
    points = experiment.points(quick)
    repeat = experiment.repeat[0 if quick else 1]
    measured: dict[str, Measured] = {}
    for variant in experiment.variants:
        measured[variant] = Measured(variant, experiment.metric)
        for number, point in enumerate(points, start=1):
            progress(f"{experiment.name} {variant} {number}/{len(points)}: {point.line}")
            measured[variant].runs[point.line, point.x] = _run(point, variant, repeat, engine)
    findings = {
        variant: [statement.check(runs) for statement in experiment.statements]
        for variant, runs in measured.items()
    }
    progress(f"{experiment.name}: one point on both engines")
    agreement = both_engines(experiment, points)
    seconds = time.monotonic() - began
    return Outcome(experiment, quick, engine, measured, findings, agreement, seconds)


def _specification(point: Point, variant: str, repeat: int, engine: str) -> dict[str, Any]:
    return {
        **point.run,
        "seed": SEED,
        "repeat": repeat,
        "variant": variant,
        "engine": {"kind": engine},
    }


def _run(point: Point, variant: str, repeat: int, engine: str) -> list[RunRecord]:
    records = api.run(parse(_specification(point, variant, repeat, engine))).runs
    for record in records:
        # a figure needs none of these, and a thousand agents' links are large
        record.links, record.agent_logs, record.log = [], [], {}
    return records


def both_engines(experiment: Experiment, points: list[Point]) -> list[tuple[str, Any, Any]]:
    """(quantity, memory, processes) of one run of the smallest point, or of `agreement`."""
    if experiment.agreement is not None:
        point = Point(line="", x=0, run=experiment.agreement)
    else:
        point = min(points, key=lambda p: int(p.run["agents"]["count"]))
    variant = experiment.variants[0]
    runs = [_run(point, variant, 1, engine)[0] for engine in ("memory", "processes")]
    told: list[tuple[str, Callable[[RunRecord], Any]]] = [
        ("status", lambda r: r.status),
        ("answer", lambda r: r.best_arm),
        ("rounds", lambda r: r.rounds),
        ("slots", lambda r: r.slots),
        ("pulls", lambda r: r.pulls),
        ("regret", lambda r: r.regret),
        ("data messages", lambda r: r.communication["data"]["messages"]),
        ("data payload bytes", lambda r: r.communication["data"]["payload_bytes"]),
    ]
    return [(name, of(runs[0]), of(runs[1])) for name, of in told]


def outcome_page(outcome: Outcome) -> Page:
    """The figure, the paper's statements beside it, every number, and both engines."""
    experiment = outcome.experiment
    form = "quick" if outcome.quick else "full"
    repeat = experiment.repeat[0 if outcome.quick else 1]
    statements = Section(id="statements", title="What the paper says, and what we find")
    for i, statement in enumerate(experiment.statements):
        for variant, found in outcome.findings.items():
            statements.verdicts.append(
                Verdict(
                    css=_CSS[found[i].answer],
                    word=found[i].answer + (f" ({variant})" if len(outcome.findings) > 1 else ""),
                    claim=statement.text,
                    evidence=found[i].evidence,
                )
            )
    charts = [draw(experiment, measured) for measured in outcome.measured.values()]
    numbers = table(
        "",
        ("variant", "line", experiment.x_label, experiment.y_label, "runs", "ended"),
        [
            (
                variant,
                line,
                x,
                mean_cell(measured.values(line, x)),
                len(records),
                ", ".join(sorted({record.status for record in records})),
            )
            for variant, measured in outcome.measured.items()
            for (line, x), records in measured.runs.items()
        ],
    )
    answers = [found.answer for finding in outcome.findings.values() for found in finding]
    tally = ", ".join(f"{answers.count(a)} {a}" for a in _CSS if a in answers)
    return Page(
        title=experiment.title,
        kicker=f"{experiment.name} · {experiment.paper}, {experiment.figure} · {form} form · "
        f"engine {outcome.engine}",
        lead=f"Of {len(answers)} answers: {tally}.",
        alerts=[] if outcome.agrees else ["The two engines do not agree; see below."],
        sections=[
            Section(
                id="figure",
                title="The figure",
                text=[f"Not printed in the paper and taken here: {experiment.assumed}"]
                if experiment.assumed
                else [],
                charts=charts,
            ),
            statements,
            Section(
                id="numbers",
                title="Every point",
                text=[f"Mean ± 95% half-width of {repeat} runs, seed {SEED}."],
                tables=[numbers],
            ),
            Section(
                id="engines",
                title="One point on both engines",
                text=[
                    f"The figure was made by the {outcome.engine} engine. One run of one point, "
                    "of the same seed, on both:"
                ],
                tables=[
                    table(
                        "",
                        ("quantity", "memory", "processes", "same"),
                        [
                            (name, str(m), str(p), "yes" if m == p else "no")
                            for name, m, p in outcome.agreement
                        ],
                    )
                ],
            ),
        ],
    )


def draw(experiment: Experiment, measured: Measured) -> Chart:
    """The paper's figure for one variant."""
    name = f"{experiment.name}-{measured.variant}"
    rows: list[tuple[Any, ...]] = []
    lines = measured.lines()
    with canvas(5.8, 4.4) as (figure, axes):
        for index, line in enumerate(lines):
            colour = SERIES[index % len(SERIES)]
            if experiment.shape == "curves":
                curves = [r.regret_curve for r in measured.runs[line, 0.0] if r.regret_curve]
                times, mean, half = mean_curve(curves)
                axes.plot(times, mean, color=colour, label=line)
                axes.fill_between(
                    times, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0
                )
                rows += [(line, *map(float, p)) for p in zip(times, mean, half, strict=True)]
                continue
            places = measured.places(line)
            means = np.array([measured.mean(line, x) for x in places])
            rows += [(line, x, *map(float, m)) for x, m in zip(places, means, strict=True)]
            if experiment.shape == "bars":
                axes.bar([index], means[:1, 0], yerr=means[:1, 1], color=colour, label=line)
                continue
            axes.errorbar(
                places, means[:, 0], yerr=means[:, 1], color=colour, label=line,
                marker=MARKERS[index % len(MARKERS)], markersize=5, capsize=3,
            )  # fmt: skip
        if experiment.log_x:
            axes.set_xscale("log", base=2)
        if experiment.log_y:
            axes.set_yscale("log")
        axes.set_xlabel(experiment.x_label)
        axes.set_ylabel(experiment.y_label)
        if experiment.shape == "bars":
            axes.set_xticks([])
        large_numbers(axes, x=experiment.shape == "curves" or experiment.log_x)
        legend(axes, len(lines))
        svg = to_svg(figure, name, experiment.title)
    return Chart(
        name=name,
        title=f"{measured.variant.capitalize()}",
        caption="Bars and bands are 95% intervals.",
        svg=svg,
        header=("line", experiment.x_label, "mean", "ci95"),
        rows=rows,
    )
