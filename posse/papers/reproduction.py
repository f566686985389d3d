"""docs/reproduction.md from the outcomes of the experiments: the papers' claims, and ours."""

from collections import Counter
from collections.abc import Iterable, Mapping

from posse.papers.checks import pm
from posse.papers.outcome import DEPENDS, Cost, Judged, PointMean, Told

_HEAD = """# Reproduction

Written by `posse paper --all --quick --document docs/reproduction.md`; do not edit. What we make of
it is in [findings.md](findings.md); which experiment shows what of a paper is in
[experiments.md](experiments.md). First the claims of the papers, each with its place, then checks
of our own, which no paper makes, then the numbers of every experiment.

- **borne out**: every comparison holds by more than the 95 % interval of its difference;
- **undecided**: none is clearly the other way, and not all are clear; more runs may decide;
- **not borne out**: at least one is clearly the other way (of equals one in forty, by chance);
- **depends on the form**: the printed algorithm says otherwise than the corrected one.

The quick form has fewer repetitions and, for long experiments, smaller networks and shorter
horizons; *paper size* has the paper's, as far as they are known, and is empty where that has not
been run (a table below says what it would cost). *In numbers* is of paper size where there is one.

A claim is judged by the *printed* form of an algorithm where the corrected one is another
algorithm, by the *corrected* form where only that can be run or the paper's own runs were so, else
by both.
Statements about privacy are audited: many releases on two inputs that differ in one reward give a
lower bound on the ε that is spent, too large with probability at most .01; **borne out** means
there that the claim was not refuted. ± is the half-width of a 95 % interval.
"""

_ENGINES = {True: "both engines agree", False: "the engines do not agree", None: "computed"}

_PARTS = (
    ("Claims of the papers", True, "", "| claim | where |"),
    ("Checks of our own", False, ": ours", "| check |"),
)


def text(
    quick: Mapping[str, Told],
    full: Mapping[str, Told],
    costs: Mapping[str, Cost],
    names: Iterable[str],
) -> str:
    """The document, from the outcomes of both forms by name, and what full forms would cost."""
    either = {**full, **quick}
    told = [(either[name], full.get(name)) for name in names if name in either]
    out = [_HEAD, _tally("", quick.values()), _tally(", paper size", full.values())]
    if missing := [f"`{name}`" for name in names if name not in either]:
        out.append(f"\nNot run here: {', '.join(missing)}.\n")
    for title, is_claim, ours, first in _PARTS:
        columns = f"{first} experiment | verdict | paper size | in numbers |\n"
        columns += "|---" * (columns.count("|") - 1) + "|\n"
        rows: dict[str, str] = {}
        for one, large in told:
            rows[one.paper] = rows.get(one.paper, "") + _rows(one, large, is_claim)
        out.append(f"\n## {title}\n")
        out += [f"\n### {paper}{ours}\n\n{columns}{row}" for paper, row in rows.items() if row]
    out.append(_paper_size(full, costs, [one.name for one, _ in told]))
    out.append("\n## The numbers\n")
    out += [_numbers(large or one) for one, large in told]
    return "".join(out)


def _tally(form: str, outcomes: Iterable[Told]) -> str:
    out, statements = "", [said for outcome in outcomes for said in outcome.statements]
    for title, is_claim, *_ in _PARTS:
        counts = Counter(said.verdict for said in statements if bool(said.place) == is_claim)
        if counts:
            each = ", ".join(f"{n} {answer}" for answer, n in counts.most_common())
            out += f"\n{title}{form}: {each}.\n"
    return out


def _rows(outcome: Told, large: Told | None, is_claim: bool) -> str:
    """The rows of an experiment."""
    rows = ""
    for i, statement in enumerate(outcome.statements):
        if bool(statement.place) != is_claim:
            continue
        same = large.statements[i] if large and i < len(large.statements) else None
        if same and same.text != statement.text:
            same = None
        judged = (same or statement).judging
        said = list(dict.fromkeys(finding.said for finding in judged.values()))
        each = "; ".join(f"*{variant}* {finding.said}" for variant, finding in judged.items())
        cells = [
            statement.text,
            *([statement.place] if is_claim else []),
            f"[`{outcome.name}`](#{outcome.name})",
            _word(statement),
            _word(same) if same else "",
            said[0] if len(said) == 1 else each,
        ]
        rows += _row(cells)
    return rows


def _row(cells: Iterable[str]) -> str:
    whole = (cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(whole)} |\n"


def _word(statement: Judged) -> str:
    answer = statement.verdict
    if answer == DEPENDS:
        found = statement.judging.items()
        each = ", ".join(f"{variant}: {finding.answer}" for variant, finding in found)
        return f"**{answer}** ({each})"
    by = f" ({statement.by})" if statement.by != "both" else ""
    return f"**{answer}**{by}"


def _paper_size(full: Mapping[str, Told], costs: Mapping[str, Cost], names: list[str]) -> str:
    """What was run in full and what that took; what the rest would cost, where it is known."""
    if not full and not costs:
        return ""
    minutes = sum(told.processor_seconds for told in full.values()) / 60
    of = len({*names, *costs})
    out = f"\n## Paper size\n\n{len(full)} of {of} experiments were run at paper size, in "
    out += f"{minutes:,.1f} processor minutes. Experiments share repetitions: what one has run the "
    out += "next need not.\n"
    if small := [f"`{name}`" for name in names if name not in full and name not in costs]:
        out += f"\nIn quick form alone: {', '.join(small)}.\n"
    if rest := {name: cost for name, cost in costs.items() if name not in full}:
        out += "\nThe others would cost, by one repetition of each point:\n\n"
        rows = []
        for name, cost in rest.items():
            done = f"{cost.kept:,} of {cost.repetitions:,} repetitions"
            rows.append([f"`{name}`", f"{cost.processor_seconds / 60:,.1f}", done])
        out += _table(["experiment", "processor minutes", "done"], rows)
    return out


def _numbers(outcome: Told) -> str:
    """One experiment's table: lines against places."""
    of = f" ({outcome.figure})" if outcome.figure else ""
    head = (
        f"\n### {outcome.name}\n\n{outcome.paper}{of}: {outcome.title}. "
        f"{outcome.form.capitalize()} form, {outcome.repeat} "
        f"repetition{'s' if outcome.repeat > 1 else ''}, "
        f"{outcome.processor_seconds:,.0f} s of processor time, "
        f"{_ENGINES[outcome.engines_agree]}. {outcome.assumed}".rstrip()
        + "\n\n"
    )
    tables = {variant: rows for variant, rows in outcome.numbers.items() if rows}
    one = next(iter(tables.values()), [])
    if all(rows == one for rows in tables.values()):
        tables = {"": one}
    table = _over_places if outcome.shape == "points" else _side_by_side
    return head + table(outcome, tables)


def _side_by_side(outcome: Told, tables: Mapping[str, list[PointMean]]) -> str:
    """A row for each line, a column for each form."""
    at = {form: {row.line: pm(row.mean, row.half) for row in tables[form]} for form in tables}
    columns = [outcome.y_label, *tables] if len(tables) > 1 else ["line", outcome.y_label]
    lines = dict.fromkeys(line for means in at.values() for line in means)
    return _table(columns, [[line, *(at[form].get(line, "") for form in at)] for line in lines])


def _over_places(outcome: Told, tables: Mapping[str, list[PointMean]]) -> str:
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
    return _table([*form, by, *(f"{x:g}" for x in places)], out)


def _table(columns: list[str], rows: Iterable[list[str]]) -> str:
    return _row(columns) + f"|{'---|' * len(columns)}\n" + "".join(map(_row, rows))
