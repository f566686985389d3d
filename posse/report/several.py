"""One page for several series: a sweep, or different systems on the same arms."""

from collections import Counter
from typing import Any

import msgspec

from posse.errors import InputError
from posse.measure.confidence import mean_ci
from posse.measure.numbers import capital
from posse.report import privacy
from posse.report.drawing import (
    COLOUR,
    MARKERS,
    SERIES,
    Chart,
    canvas,
    large_numbers,
    legend,
    to_svg,
)
from posse.report.page import Cell, Page, Section, mean_cell, table
from posse.report.read import Series
from posse.report.regret import regret
from posse.results.measures import DATA_BYTES, PULLS, REGRET, ROUNDS, SLOTS, Measure

_SHOWN: dict[str, tuple[Measure, str]] = {
    "rounds": (ROUNDS, "rounds (activations)"),
    "slots": (SLOTS, "slots"),
    "pulls": (PULLS, "pulls by all agents"),
    "final-regret": (REGRET, "regret at the end"),
    "data-bytes": (DATA_BYTES, "payload bytes of data"),
}
"""By the name of the figure the measure, and what it is called."""

_CHANCE = ("seed", "repeat")
"""Keys in which series may differ without being of another kind."""


def fit(series: list[Series]) -> None:
    """Raise `InputError` unless all had the same arms, with a sentence on what differs."""
    first = series[0]
    for other in series[1:]:
        mine, theirs = _plain(first)["arms"], _plain(other)["arms"]
        if mine != theirs:
            raise InputError(
                f"{first.path} and {other.path} do not fit together: their arms differ "
                f"({_difference(mine, theirs)}); compare runs on the same [arms]"
            )


def _difference(mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    keys = [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]
    return "; ".join(f"{k}: {_brief(mine.get(k))} against {_brief(theirs.get(k))}" for k in keys)


def _brief(value: Any) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _plain(series: Series) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(series.spec)
    return plain


def flat(specification: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A specification as `{"parameters.epsilon": 0.1, …}`."""
    out: dict[str, Any] = {}
    for name, value in specification.items():
        if isinstance(value, dict):
            out |= flat(value, f"{prefix}{name}.")
        else:
            out[prefix + name] = value
    return out


def keys_of(series: Series) -> dict[str, Any]:
    """All keys of a series; those that were swept also where its system has no place for them."""
    return flat(_plain(series)) | series.at


def varied(series: list[Series]) -> list[str]:
    """The keys in which the series differ; where they were run from is none of them."""
    tables = [keys_of(s) for s in series]
    names = sorted({name for table_ in tables for name in table_})
    return [
        name
        for name in names
        if name not in ("base", "repeat") and len({str(table_.get(name)) for table_ in tables}) > 1
    ]


def several_page(series: list[Series], title: str, kicker: str) -> Page:
    """Everything side by side: what differs, what was found, regret, cost, privacy."""
    complete = [s for s in series if s.runs]
    alerts = [f"{s.name} did not finish: {s.failure}." for s in series if s.failure is not None]
    keys = varied(series)
    tables = [keys_of(s) for s in series]
    rows = []
    for s, flat_spec in zip(series, tables, strict=True):
        rows.append(
            [
                s.name,
                s.spec.system,
                *(_cell(flat_spec.get(key)) for key in keys if key != "system"),
                _statuses(s),
                _answers(s),
                *(mean_cell(s.values(measure.of)) for measure, _ in _SHOWN.values()),
            ]
        )
    header = [
        "run",
        "system",
        *(key.removeprefix("parameters.") for key in keys if key != "system"),
        "ended",
        "arm",
        *(label for _, label in _SHOWN.values()),
    ]
    shown = [i for i in range(len(header)) if any(_told(row[i]) for row in rows)]
    sections = [
        Section(
            id="overview",
            title="Side by side",
            text=["Mean ± 95% half-width over the runs of each."],
            tables=[
                table("", [header[i] for i in shown], [[row[i] for i in shown] for row in rows])
            ],
        )
    ]
    over_time = regret(complete)
    charts = [over_time] if over_time else []
    axis = _numeric_axis(complete, keys)
    for name, (measure, label) in _SHOWN.items():
        chart = (
            _against(complete, axis, name, measure, label)
            if axis
            else _bars(complete, name, measure, label)
        )
        if chart is not None:
            charts.append(chart)
    if charts:
        sections.append(Section(id="measured", title="Measured", charts=charts))
    sections.append(
        Section(
            id="privacy",
            title="Privacy",
            tables=[
                table(
                    "",
                    ("run", *_TERMS),
                    [
                        (s.name, *(dict(privacy.terms(s)).get(term, "–") for term in _TERMS))
                        for s in complete
                    ],
                )
            ],
        )
    )
    return Page(
        title=title,
        kicker=kicker,
        lead=_lead(series, keys),
        alerts=alerts,
        sections=sections,
    )


_TERMS = ("Protected", "Against", "Promised", "Spent", "Does it hold?")


def _told(value: Any) -> bool:
    return value not in ("–", None) and not (isinstance(value, Cell) and value.text == "–")


def _lead(series: list[Series], keys: list[str]) -> str:
    what = (
        ", ".join(key.removeprefix("parameters.") for key in keys)
        if keys
        else "nothing but the seed"
    )
    return f"{len(series)} series of runs that differ in {what}."


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float) or value is None else _brief(value)


def _statuses(series: Series) -> str:
    counts = Counter(run.status for run in series.runs)
    return ", ".join(f"{status} {n}" for status, n in counts.most_common()) or "–"


def _answers(series: Series) -> str:
    counts = Counter(run.best_arm for run in series.runs if run.best_arm is not None)
    return ", ".join(f"{arm} ({n})" for arm, n in counts.most_common(3)) or "–"


def _numeric_axis(series: list[Series], keys: list[str]) -> str | None:
    """The number in which the series differ most often; None if none has a value in all of them."""
    told = {key: [keys_of(s).get(key) for s in series] for key in keys if key not in _CHANCE}
    numeric = [
        key
        for key, values in told.items()
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]
    return max(numeric, key=lambda key: len(set(told[key])), default=None)


def _named(key: str, value: Any) -> str:
    """What a line is of: a system by its name, any other key with its value."""
    name = key.rpartition(".")[2]
    if key == "system":
        return _brief(value)
    return f"default {name}" if value is None else f"{name} = {_brief(value)}"


def _against(
    series: list[Series], axis: str, name: str, measure: Measure, label: str
) -> Chart | None:
    """A metric against the number that was varied, one line for each of the rest."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    others = [key for key in varied(series) if key not in (axis, *_CHANCE)]
    others.sort(key=lambda key: key != "system")
    for s in series:
        values = s.values(measure.of)
        if values:
            table_ = keys_of(s)
            line = ", ".join(_named(key, table_.get(key)) for key in others) or s.spec.system
            mean, half = mean_ci(values)
            lines.setdefault(line, []).append((float(table_[axis]), mean, half or 0.0))
    if not lines:
        return None
    rows = []
    with canvas() as (figure, axes):
        for index, (line, points) in enumerate(lines.items()):
            xs, means, halves = zip(*sorted(points), strict=True)
            axes.errorbar(
                xs,
                means,
                yerr=halves,
                color=SERIES[index % len(SERIES)],
                marker=MARKERS[index % len(MARKERS)],
                markersize=5,
                capsize=3,
                label=line,
            )
            rows += [(line, *point) for point in sorted(points)]
        places = [x for points in lines.values() for x, _, _ in points]
        if min(places) > 0 and max(places) >= 100 * min(places):
            axes.set_xscale("log")
        axes.set_xlabel(axis.removeprefix("parameters."))
        axes.set_ylabel(label)
        large_numbers(axes)
        legend(axes, len(lines))
        svg = to_svg(figure, name, f"{label} against {axis}")
    return Chart(
        name=name,
        title=capital(label),
        caption=f"Against {axis.removeprefix('parameters.')}; bars are 95% intervals.",
        svg=svg,
        header=("line", axis, "mean", "ci95"),
        rows=rows,
    )


def _bars(series: list[Series], name: str, measure: Measure, label: str) -> Chart | None:
    """A metric as one bar per series."""
    measured = [(s.name, *mean_ci(values)) for s in series if (values := s.values(measure.of))]
    if not measured or not any(mean for _, mean, _ in measured):
        return None
    with canvas(5.6, 1.2 + 0.42 * len(measured)) as (figure, axes):
        for row, (_, mean, half) in enumerate(measured):
            axes.barh(row, mean, height=0.62, color=SERIES[row % len(SERIES)])
            axes.errorbar([mean], [row], xerr=[half or 0.0], color=COLOUR["ink"], capsize=3)
        axes.set_yticks(range(len(measured)), [name_ for name_, _, _ in measured])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(label)
        axes.set_xlim(left=0)
        large_numbers(axes, x=True, y=False)
        svg = to_svg(figure, name, label)
    return Chart(
        name=name,
        title=capital(label),
        caption="Mean over runs; bars are 95% intervals.",
        svg=svg,
        header=("run", "mean", "ci95"),
        rows=measured,
    )
