"""docs/reproduction.md from the outcomes of the experiments: the papers' claims, and ours."""

from collections import Counter
from collections.abc import Sequence

from posse.measure.numbers import number
from posse.papers.outcome import DEPENDS, Judged, Told
from posse.papers.statements import Finding

_HEAD = """# Reproduction

Written by `posse paper --all --quick --document docs/reproduction.md`; do not edit. What we make of
it is in [findings.md](findings.md); which experiment shows what of a paper is in
[experiments.md](experiments.md). First the claims of the papers, each with its place, then checks
of our own, which no paper makes, then the numbers of every experiment.

- **borne out**: every comparison holds by more than the 95 % interval of its difference;
- **undecided**: none is clearly the other way, and not all are clear; more runs may decide;
- **not borne out**: at least one is clearly the other way;
- **depends on the form**: the printed algorithm says otherwise than the corrected one.

A claim is judged by the *printed* form of an algorithm where the corrected one is another
algorithm, by the *corrected* form where only that can be run or the paper's own runs were so, else
by both.
Statements about privacy are audited: many releases on two inputs that differ in one reward give a
lower bound on the ε that is spent, too large with probability at most .001; **borne out** means
there that the claim was not refuted. ± is the half-width of a 95 % interval.

"""

_ENGINES = {
    True: "both engines agree",
    False: "the engines do not agree",
    None: "computed",
}


def text(outcomes: list[Told], missing: Sequence[str] = ()) -> str:
    """The document; `missing` are the experiments that have no outcome."""
    out = [_HEAD, _tally(outcomes)]
    if missing:
        out.append(f"\nNot run here: {', '.join(f'`{name}`' for name in missing)}.\n")
    for title, is_claim in (("Claims of the papers", True), ("Checks of our own", False)):
        out.append(f"\n## {title}\n")
        for paper, rows in _rows(outcomes, is_claim).items():
            last = "| claim | where |" if is_claim else "| check |"
            line = "|---|---|---|---|---|" if is_claim else "|---|---|---|---|"
            out.append(f"\n### {paper}{'' if is_claim else ': ours'}\n\n")
            out.append(f"{last} experiment | verdict | in numbers |\n{line}\n")
            out += rows
    out.append("\n## The numbers\n")
    out += [_numbers(outcome) for outcome in outcomes]
    return "".join(out)


def _tally(outcomes: list[Told]) -> str:
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for outcome in outcomes:
        for statement in outcome.statements:
            counts[bool(statement.place)][statement.verdict] += 1
    said = [
        f"{name}: " + ", ".join(f"{n} {answer}" for answer, n in counts[of].most_common())
        for name, of in (("Claims of the papers", True), ("Checks of our own", False))
    ]
    return ".\n\n".join(said) + ".\n"


def _rows(outcomes: list[Told], is_claim: bool) -> dict[str, list[str]]:
    """The rows of each paper's table."""
    rows: dict[str, list[str]] = {}
    for outcome in outcomes:
        for statement in outcome.statements:
            if bool(statement.place) != is_claim:
                continue
            judged = statement.judging
            said = list(dict.fromkeys(found.said for found in judged.values()))
            name = f"[`{outcome.name}`](#{outcome.name})"
            cells = [
                statement.text,
                *([statement.place] if is_claim else []),
                name + (", full" if outcome.form == "full" else ""),
                _word(statement, judged),
                said[0]
                if len(said) == 1
                else "; ".join(f"*{variant}* {found.said}" for variant, found in judged.items()),
            ]
            row = " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
            rows.setdefault(outcome.paper, []).append(f"| {row} |\n")
    return rows


def _word(statement: Judged, judged: dict[str, Finding]) -> str:
    answer = statement.verdict
    if answer == DEPENDS:
        each = ", ".join(f"{variant}: {found.answer}" for variant, found in judged.items())
        return f"**{answer}** ({each})"
    by = f" ({statement.by})" if statement.by != "both" else ""
    return f"**{answer}**{by}"


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
    variants = list(tables)
    if (len(variants) == 2 and tables[variants[0]] == tables[variants[1]]) or len(variants) == 1:
        tables = {"": tables[variants[0]]}
    pointed = outcome.shape == "points"
    places = sorted({row.x for rows in tables.values() for row in rows}) if pointed else [0.0]
    form = ["form"] if len(tables) > 1 else []
    first = outcome.x_label if pointed and outcome.x_label else "line"
    columns = [*form, first, *(f"{x:g}" for x in places)] if pointed else [
        *form, "line", outcome.y_label]  # fmt: skip
    out = [head]
    if pointed:
        out.append(f"{outcome.y_label.capitalize()}:\n\n")
    out.append(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n")
    for variant, rows in tables.items():
        lines = dict.fromkeys(row.line for row in rows)
        at = {(row.line, row.x): _cell(row.mean, row.half) for row in rows}
        for line in lines:
            name = line.replace("|", "\\|")
            cells = [at.get((line, x), "") for x in places]
            out.append(f"| {' | '.join([*([variant] if form else []), name, *cells])} |\n")
    return "".join(out)


def _cell(mean: float, half: float) -> str:
    return number(mean) + (f" ± {number(half)}" if half else "")
