"""docs/reproduction.md from the outcomes of the experiments: the papers' claims, and ours."""

from collections import Counter
from collections.abc import Iterable, Mapping

import jinja2

from posse_papers.checks import pm
from posse_papers.outcome import DEPENDS, Cost, Judged, PointMean, Told

_ENGINES = {True: "both engines agree", False: "the engines do not agree", None: "computed"}

_PARTS = {"Claims of the papers": True, "Checks of our own": False}
"""By title whether its statements are claims."""

Both = tuple[Told, Told | None]
"""An experiment's outcome, and that of paper size if there is one."""

Table = tuple[list[str], list[list[str]]]
"""Columns and rows."""


def text(
    quick: Mapping[str, Told],
    full: Mapping[str, Told],
    costs: Mapping[str, Cost],
    names: Iterable[str],
) -> str:
    """The document, from the outcomes of both forms by name, and what full forms would cost."""
    either = {**full, **quick}
    known = [name for name in names if name in either]
    told: dict[str, list[Both]] = {}
    for name in known:
        told.setdefault(either[name].paper, []).append((either[name], full.get(name)))
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("posse_papers"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"row": _row, "rows": _rows, "tally": _tally}
    return environment.get_template("reproduction.md.j2").render(
        parts=_PARTS,
        told=told,
        quick=quick.values(),
        full=full.values(),
        costs=costs,
        rest={name: cost for name, cost in costs.items() if name not in full},
        engines=_ENGINES,
        numbers=_numbers,
        alone=[name for name in known if name not in full and name not in costs],
        not_run=[name for name in names if name not in either],
        larger={name: full.get(name, either[name]) for name in known},
    )


def _tally(outcomes: Iterable[Told], claims: bool) -> str:
    """How many statements have each answer."""
    said = [statement for outcome in outcomes for statement in outcome.statements]
    counts = Counter(one.verdict for one in said if bool(one.place) == claims)
    return ", ".join(f"{n} {answer}" for answer, n in counts.most_common())


def _rows(told: Iterable[Both], claims: bool) -> list[list[str]]:
    """A row for each statement: what it says, which experiment shows it, what was found."""
    rows = []
    for one, large in told:
        larger = dict(enumerate(large.statements if large else ()))
        for i, statement in enumerate(one.statements):
            if bool(statement.place) != claims:
                continue
            same = larger.get(i)
            if same and same.text != statement.text:
                same = None
            judged = (same or statement).judging
            said = list(dict.fromkeys(finding.said for finding in judged.values()))
            each = "; ".join(f"*{variant}* {finding.said}" for variant, finding in judged.items())
            rows.append([
                statement.text,
                *[statement.place] * claims,
                f"[`{one.name}`](#{one.name})",
                _word(statement),
                _word(same) if same else "",
                said[0] if len(said) == 1 else each,
            ])  # fmt: skip
    return rows


def _row(cells: Iterable[str]) -> str:
    whole = (cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(whole)} |"


def _word(statement: Judged) -> str:
    answer = statement.verdict
    if answer == DEPENDS:
        found = statement.judging.items()
        each = ", ".join(f"{variant}: {finding.answer}" for variant, finding in found)
        return f"**{answer}** ({each})"
    by = f" ({statement.by})" if statement.by != "both" else ""
    return f"**{answer}**{by}"


def _numbers(outcome: Told) -> Table:
    """One experiment's table: lines against places, or forms."""
    tables = {variant: rows for variant, rows in outcome.numbers.items() if rows}
    one = next(iter(tables.values()), [])
    if all(rows == one for rows in tables.values()):
        tables = {"": one}
    table = _over_places if outcome.shape == "points" else _side_by_side
    return table(outcome, tables)


def _side_by_side(outcome: Told, tables: Mapping[str, list[PointMean]]) -> Table:
    """A row for each line, a column for each form."""
    at = {form: {row.line: pm(row.mean, row.half) for row in tables[form]} for form in tables}
    columns = [outcome.y_label, *tables] if len(tables) > 1 else ["line", outcome.y_label]
    lines = dict.fromkeys(line for means in at.values() for line in means)
    return columns, [[line, *(at[form].get(line, "") for form in at)] for line in lines]


def _over_places(outcome: Told, tables: Mapping[str, list[PointMean]]) -> Table:
    """A row for each line and form (both, where they agree), a column for each place."""
    places = sorted({row.x for rows in tables.values() for row in rows})
    found: dict[tuple[str, ...], str] = {}
    for variant, rows in tables.items():
        at = {(row.line, row.x): pm(row.mean, row.half) for row in rows}
        for line in dict.fromkeys(row.line for row in rows):
            cells = (line, *(at.get((line, x), "") for x in places))
            found[cells] = "both" if cells in found else variant
    form = ["form"] if len(tables) > 1 else []
    by = f"{outcome.y_label} against {outcome.x_label}" if outcome.x_label else outcome.y_label
    out = [[*([variant] if form else []), *cells] for cells, variant in found.items()]
    return [*form, by, *(f"{x:g}" for x in places)], out
