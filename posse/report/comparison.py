"""One page for several series: a sweep, or different systems on the same arms."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from posse.measure.confidence import FEWEST, mean_interval, mean_of
from posse.measure.numbers import capital, number, short, with_interval
from posse.reading.folder import Series
from posse.report import privacy
from posse.report.differences import CHANCE, apart, brief, names, ordered, together, varied
from posse.report.drawing import FEWEST_JOINED, Chart, bars, canvas, large_numbers, points, to_svg
from posse.report.headline import Ranks, Several, several
from posse.report.page import (
    Cell,
    Page,
    RankedRow,
    Ranking,
    Section,
    mean_cell,
    some,
    table,
)
from posse.report.regret import regret
from posse.results.measures import (
    DATA_BYTES,
    PULLS,
    REGRET,
    REWARDS,
    ROUNDS,
    SECONDS,
    SLOTS,
    Measure,
)
from posse.results.verdict import alerts

_SHOWN = (
    ("rounds", ROUNDS, "rounds (activations)"),
    ("slots", SLOTS, "slots"),
    ("pulls", PULLS, "pulls by all agents"),
    ("final-regret", REGRET, "regret at the end"),
    ("rewards", REWARDS, "sum of rewards"),
    ("data-bytes", DATA_BYTES, "payload bytes of data"),
)
"""The name of the figure, the measure, and what it is called."""

_TIME = ("time", SECONDS, "seconds until the answer")
"""Shown where a network is declared; else it is the machine's speed."""


def several_page(series: list[Series], title: str, kicker: str) -> Page:
    """Everything side by side: what differs, what was found, regret, cost, privacy."""
    called = names(series)
    complete = [s for s in series if s.runs]
    labels = [name for s, name in zip(series, called, strict=True) if s.runs]
    result = several(series, called)
    warned = []
    if len({s.spec.seed for s in series if s.drawn_by_run}) > 1:
        warned.append(
            "arms.means has no seed, so each run drew its arms by its own: "
            "those of different seeds had different arms."
        )
    keys = varied(series)
    what = ", ".join(key.removeprefix("parameters.") for key in keys) or "nothing but the seed"
    networked = any(s.spec.network is not None for s in series)
    measured = (*_SHOWN, _TIME) if networked else _SHOWN
    overview = _overview(series, keys, measured)
    if result.measure is not None:
        overview = _ranked(series, called, result, result.measure, overview)
    sections = [overview]
    axis = _numeric_axis(complete, keys)
    charts = some(
        regret(complete, labels),
        *(
            _against(complete, axis, *shown) if axis else _bars(complete, labels, *shown)
            for shown in measured
            if axis or shown[1] is not result.measure  # its ranking shows it
        ),
        _time_against_bytes(complete, labels) if networked else None,
    )
    if charts:
        sections.append(Section(id="measured", title="Measured", charts=charts))
    if complete:
        sections.append(_privacy(complete, labels))
    costs = "; ".join(filter(None, (result.verdict.cost, result.verdict.epsilon)))
    best = f"Of the best: {costs}. " if costs else ""
    failed = [
        f"{name} ({s.name}): {s.failure}"
        for s, name in zip(series, called, strict=True)
        if s.failure is not None and s.live is None
    ]
    return Page(
        title=result.verdict.sentence or title,
        kicker=f"{kicker} · {title}",
        lead=f"{result.judged} {best}{len(series)} series of runs that differ in {what}.".strip(),
        alerts=[*failed, *alerts(result.verdict), *warned],
        sections=sections,
    )


def _ranked(
    series: list[Series], called: list[str], result: Several, measure: Measure, overview: Section
) -> Section:
    """A row per series, the best first, on one axis for each problem; the table folded below."""
    counts = {len(s.values(measure.read)) for s in series if s.runs}
    n = counts.pop() if len(counts) == 1 else 0
    runs = f"{n} runs of each" if n else "the runs of each"
    fewest = min(counts or {n})
    bar = ", a bar its 95% interval" if fewest >= FEWEST else ""
    return replace(
        overview,
        text=[f"A dot is the mean over {runs}{bar}."],
        rankings=[_ranking(series, called, measure, ranks, n) for ranks in result.ranks],
        tables=[replace(made, folded=True) for made in overview.tables],
    )


def _ranking(
    series: list[Series], called: list[str], measure: Measure, ranks: Ranks, n_of_each: int
) -> Ranking:
    rows = []
    sent = any(any(series[n].values(DATA_BYTES.read)) for n in ranks.order)
    for n in ranks.order:
        values = series[n].values(measure.read)
        mean, low, high = mean_interval(values)
        known = len(values) >= FEWEST
        css = "best" if n == ranks.winner else "level" if n in ranks.level else ""
        rows.append(
            RankedRow(
                name=called[n],
                value=mean,
                low=low if known else None,
                high=high if known else None,
                text=with_interval(mean_of(values), n_of_each),
                cells=_cells(series[n], sent=sent),
                css=css if len(ranks.order) > 1 else "",
            )
        )
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    axis = f"{measure.label}" + (f", {unit}" if (unit := measure.counts(series[0].runs[0])) else "")
    left = min(0.0, *ends)
    return Ranking(title=ranks.problem, axis=axis, rows=rows, left=left, right=max(*ends, left))


def _cells(series: Series, *, sent: bool) -> list[tuple[str, str]]:
    """What stands beside a rank: bytes if anybody `sent` some, ε, how often it was right."""
    verdict = series.verdict
    cells = []
    if sent and (sizes := series.values(DATA_BYTES.read)):
        cells.append(("bytes", short(float(np.mean(sizes)))))
    cells.append(("", verdict.epsilon))
    if known := [run.right for run in series.runs if run.right is not None]:
        cells.append(("right", f"{sum(known)} of {len(known)}"))
    if verdict.state != "done":
        cells.append(("", f"{verdict.state}: {len(series.runs)} of {series.spec.repeat} runs"))
    return cells


def _overview(
    series: list[Series], keys: list[str], measured: tuple[tuple[str, Measure, str], ...]
) -> Section:
    """All numbers in a table: what differs, and the means of what was measured."""
    counts = {len(s.runs) for s in series if s.runs}
    n = counts.pop() if len(counts) == 1 else 0
    tables = [s.keys for s in series]
    columns: list[tuple[str, list[Any]]] = [
        ("system", [s.spec.system for s in series]),
        *(
            (key.removeprefix("parameters."), [_cell(flat_spec.get(key)) for flat_spec in tables])
            for key in keys
            if key != "system"
        ),
        ("ended", [_statuses(s) for s in series]),
        ("arm", [_answers(s) for s in series]),
        *(
            (label, [mean_cell(s.values(m.read), n) for s in series])
            for _, m, label in measured
            if any(any(s.values(m.read)) for s in series)  # a column of zeros says nothing
        ),
        ("folder", [None if s.at else s.name for s in series]),
    ]
    shown = [(name, values) for name, values in columns if any(map(_has_text, values))]
    header, cells = zip(*shown, strict=True)
    intervals = ", with their 95% intervals" if min(counts or {n}, default=0) >= FEWEST else ""
    text = f"Means over the runs of each{f' (n = {n})' * bool(n)}{intervals}."
    made = table("All numbers", header, zip(*cells, strict=True))
    return Section(id="overview", title="Side by side", text=[text], tables=[made])


_TERMS = ("Protected", "Against", "Promised", "Spent", "In the lab", "Does it hold?")


_LONG = 40
"""A text with more characters is said once, at the first series that has it."""


def _privacy(series: list[Series], labels: list[str]) -> Section:
    """What is said of all alike, and a table of the rest."""
    all_terms = [privacy.terms(s) for s in series]
    columns = {
        term: [" ".join(text for name, text in terms if name == term) or "–" for terms in all_terms]
        for term in _TERMS
    }
    alike = {term for term, texts in columns.items() if len(set(texts)) == 1}
    apart = [term for term in _TERMS if term not in alike]
    groups: dict[tuple[str, ...], list[str]] = {}
    for n, label in enumerate(labels):
        groups.setdefault(tuple(columns[term][n] for term in apart), []).append(label)
    rows = []
    for texts, same in groups.items():
        first = {text: other for shared, (other, *_) in reversed(groups.items()) for text in shared}
        cells = [
            text if len(text) <= _LONG or first[text] == same[0] else f"as for {first[text]}"
            for text in texts
        ]
        rows.append(("; ".join(same), *cells))
    return Section(
        id="privacy",
        title="Privacy",
        terms=[
            (term, columns[term][0])
            for term in _TERMS
            if term in alike and _has_text(columns[term][0])
        ],
        tables=[table("", ("run", *apart), rows)] if apart else [],
    )


def _has_text(value: Any) -> bool:
    return value not in ("–", None) and not (isinstance(value, Cell) and value.text == "–")


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float) or value is None else brief(value)


def _statuses(series: Series) -> str:
    counts = Counter(run.status for run in series.runs)
    return ", ".join(f"{status} {n}" for status, n in counts.most_common()) or "–"


def _answers(series: Series) -> str:
    counts = Counter(run.best_arm for run in series.runs if run.best_arm is not None)
    return ", ".join(f"{arm} ({n})" for arm, n in counts.most_common(3)) or "–"


def _numeric_axis(series: list[Series], keys: list[str]) -> str | None:
    """The number in which the series differ most often; None if none has a value in all of them."""
    values_of = {key: [s.keys.get(key) for s in series] for key in keys if key not in CHANCE}
    numeric = [
        key
        for key, values in values_of.items()
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]
    return max(numeric, key=lambda key: len(set(values_of[key])), default=None)


def _geometric(places: list[float]) -> bool:
    """Whether places in order are spread by factors rather than by steps."""
    if len(places) < FEWEST_JOINED or places[0] <= 0:
        return False
    factors = np.divide(places[1:], places[:-1])
    wide = places[-1] >= 8 * places[0]
    return wide and bool(places[-1] >= 100 * places[0] or factors.max() <= 1.7 * factors.min())


def _against(
    series: list[Series], axis: str, name: str, measure: Measure, label: str
) -> Chart | None:
    """A metric against the number that was varied, one line for each of the rest."""
    lines: dict[str, list[tuple[float, ...]]] = {}
    for s, line in zip(series, apart(series, axis), strict=True):
        values = s.values(measure.read)
        if values:
            lines.setdefault(line, []).append((float(s.keys[axis]), *mean_interval(values)))
    if not lines:
        return None
    rows = [(line, *point) for line, means in lines.items() for point in sorted(means)]
    alike: dict[tuple[tuple[float, ...], ...], list[str]] = {}
    for line, means in lines.items():
        alike.setdefault(tuple(sorted(means)), []).append(line)
    shades = len(alike) if ordered(list(lines)) else 0
    with canvas() as (figure, axes):
        for index, (means_, called) in enumerate(alike.items()):
            points(axes, index, together(called), *np.array(means_).T, shades=shades)
        places = sorted({point[0] for means in lines.values() for point in means})
        if _geometric(places):
            axes.set_xscale("log")
            axes.set_xticks(places, [number(place) for place in places])
            axes.minorticks_off()
        axes.set(xlabel=axis.removeprefix("parameters."), ylabel=label)
        if len(places) < FEWEST_JOINED:
            axes.set_ylim(min(0.0, axes.get_ylim()[0]))
        if min(mean for means in lines.values() for _, mean, *_ in means) >= 0:
            axes.set_ylim(max(0.0, axes.get_ylim()[0]))  # no count is negative
        large_numbers(axes)
    return Chart(
        name=name,
        title=capital(label),
        caption=f"Against {axis.removeprefix('parameters.')}.",
        svg=to_svg(figure, name, f"{label} against {axis}"),
        header=("line", axis, "mean", "low", "high"),
        rows=rows,
    )


def _time_against_bytes(series: list[Series], labels: list[str]) -> Chart | None:
    """How long each takes until its answer over its network, and what it sends for it."""
    rows = [
        (called, float(np.mean(sizes)), *mean_interval(times))
        for called, s in zip(labels, series, strict=True)
        if (times := s.values(SECONDS.read)) and (sizes := s.values(DATA_BYTES.read))
    ]
    if not rows:
        return None
    name, label = "time-bytes", _TIME[2]
    alike: dict[tuple[float, ...], list[str]] = {}
    for called, *point in rows:
        alike.setdefault((*point,), []).append(called)
    shades = len(alike) if ordered(labels) else 0
    with canvas() as (figure, axes):
        for index, (point_, same) in enumerate(alike.items()):
            points(axes, index, together(same), *np.array([point_]).T, shades=shades)
        axes.set(xlabel=_SHOWN[-1][2], ylabel=label)
        large_numbers(axes, x=True)
    return Chart(
        name=name,
        title="Time against bytes",
        caption="What is near the origin answers early and sends little.",
        svg=to_svg(figure, name, f"{label} against bytes"),
        header=("run", "bytes", "seconds", "low", "high"),
        rows=rows,
    )


def _bars(
    series: list[Series], labels: list[str], name: str, measure: Measure, label: str
) -> Chart | None:
    """A metric as one bar per series; none where the table alone shows that all are equal."""
    measured = [
        (called, *mean_interval(values))
        for called, s in zip(labels, series, strict=True)
        if (values := s.values(measure.read))
    ]
    if len({(*numbers,) for _, *numbers in measured}) < 2:
        return None
    with canvas(1.2 + 0.42 * len(measured)) as (figure, axes):
        bars(axes, measured, shades=len(measured) if ordered(labels) else 0)
        axes.set(xlabel=label, xlim=(min(0.0, axes.get_xlim()[0]), None))
    return Chart(
        name=name,
        title=capital(label),
        caption="",
        svg=to_svg(figure, name, label),
        header=("run", "mean", "low", "high"),
        rows=measured,
    )
