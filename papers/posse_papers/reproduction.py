"""The page of verdicts from the outcomes of the experiments: a row for each verdict."""

import re
from collections.abc import Iterable, Mapping

import jinja2

from posse_papers.looks import LOOKS
from posse_papers.outcome import DEPENDS, Judged, Told, counted
from posse_papers.undecided import WHY

_PARTS = {"Claims of the papers": True, "Checks of our own": False}
"""By title whether its statements are claims."""

_SHORTER = [
    (re.compile(pattern), by)
    for pattern, by in {
        r"^\d+ of \d+ clear; least: ": "",
        r"; (?:not )?refuted: .*$": "",
        r"^.*: (ε is at least [\d.e+]+), claimed (?:ε = )?([\d.e+-]*\d).*$": r"\1 (\2)",
        r"ε is at least ": "ε≥",
        r"[;,] (?:wanted )?at most (\S+?)(?=[;,]?$|; )": r" (≤\1)",
        r"[;,] (?:wanted )?at least (\S+?)(?=[;,]?$|; )": r" (≥\1)",
        r"[;,] wanted (\S+) to (\S+)": r" (\1 to \2)",
        r" of (\S+) allowed": r" (≤\1)",
        r", wanted (\S+)$": r", for \1",
        r"(%|\d) to (\d)": r"\1–\2",
        r"(\d) of (\d)": r"\1/\2",
        r" ([±−=]) ": r"\1",
    }.items()
]
"""What is written shorter in a figure."""

_MOST, _LONGEST = 5, 10
"""Words of a figure and of a statement; the experiment's page has the rest."""

_WORDS = {
    "borne out": "**yes**",
    "not borne out": "**no**",
    "undecided": "**open**",
    "says nothing here": "**nothing**",
    "not run": "**not run**",
}
"""By answer how a row has it."""

Both = tuple[Told, Told | None]
"""An experiment's outcome, and that of paper size if there is one."""


def text(
    quick: Mapping[str, Told],
    full: Mapping[str, Told],
    second: Mapping[str, Told],
    names: Iterable[str],
) -> str:
    """The document, from the outcomes of both forms by name, and of the second seed."""
    either = {**full, **quick}
    known = [name for name in names if name in either]
    by_paper: dict[str, list[Both]] = {}
    for name in known:
        by_paper.setdefault(either[name].paper, []).append((either[name], full.get(name)))
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
        by_paper=by_paper,
        looks=LOOKS,
        again=_again(quick, second),
        quick=quick.values(),
        full=full.values(),
        undecided=_undecided(either.values(), full),
        not_run=[name for name in names if name not in either],
    )


def _again(quick: Mapping[str, Told], second: Mapping[str, Told]) -> tuple[int, list[str]]:
    """How many checks of our own were made with two seeds, and those that differ, in words."""
    both = [
        (name, one, other)
        for name in quick.keys() & second.keys()
        for one, other in zip(quick[name].statements, second[name].statements, strict=True)
        if not one.place
    ]
    return len(both), sorted(
        f"`{name}`, {_cut(one.text)}: {one.verdict}, then {other.verdict}"
        for name, one, other in both
        if one.verdict != other.verdict
    )


def _undecided(outcomes: Iterable[Told], full: Mapping[str, Told]) -> list[str]:
    """A sentence or two for each statement that no form decides so far."""
    decided = {
        (told.name, one.text)
        for told in full.values()
        for one in told.statements
        if one.verdict != "undecided"
    }
    return [
        f"`{told.name}`, {_cut(one.text)}: "
        + WHY.get((told.name, one.text), f"{_figure(one)}; it was not looked into.")
        for told in outcomes
        for one in told.statements
        if one.verdict == "undecided" and (told.name, one.text) not in decided
    ]


def _tally(outcomes: Iterable[Told], claims: bool) -> str:
    """How many statements have each answer."""
    said = [statement for outcome in outcomes for statement in outcome.statements]
    return counted(one.verdict for one in said if bool(one.place) == claims)


def _rows(outcomes: Iterable[Both], claims: bool) -> list[list[str]]:
    """Rows of what is said, where, by which experiment, the verdicts and the figure.

    Statements of an experiment that differ in what stands before their colon share a row if the
    verdicts are the same.
    """
    rows = []
    for small, large in outcomes:
        larger = dict(enumerate(large.statements if large else ()))
        told_apart: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for number, statement in enumerate(small.statements):
            if bool(statement.place) != claims:
                continue
            same = larger.get(number)
            if same is None or same.text != statement.text:
                same = statement
            choice, _, rest = statement.text.rpartition(": ")
            key: tuple[str, ...] = (
                rest, statement.place, _word(statement, same), _holds(same), _power(same)
            )  # fmt: skip
            if choice in (name for name, _ in told_apart.get(key, [])):
                key = (*key, str(number))
            told_apart.setdefault(key, []).append((choice, _figure(same)))
        for (rest, place, word, holds, power, *_), found in told_apart.items():
            start = _joined([choice for choice, _ in found])
            said = f"{start}: {rest}" if start else rest
            where = [place] if claims else []
            name = (
                f"`{small.name}`{'°' if claims and not small.figure.startswith('Figure') else ''}"
            )
            told_row = [_cut(said), *where, name, word, holds, power, found[0][1]]
            rows.append(told_row)
    return rows


def _joined(names: list[str]) -> str:
    """Names with what they begin with in common written once."""
    shared = [
        words[0]
        for words in zip(*(name.split(" ") for name in names), strict=False)
        if len(set(words)) == 1
    ]
    if len(names) == 1 or not shared or not all(n.startswith(" ".join(shared)) for n in names):
        return ", ".join(names)
    start = " ".join(shared)
    return f"{start} {', '.join(name.removeprefix(start).strip() for name in names)}"


def _figure(statement: Judged) -> str:
    """What was measured, by the first choice by which it is not borne out; "" of what holds."""
    found = statement.telling
    if found.held == "holds" or statement.verdict == "says nothing here":
        return ""
    return f"{found.choice_said}{_short(found.said)}{found.looks_said}"


def _holds(statement: Judged) -> str:
    """Under how many choices it holds, where there were any."""
    holds, tried = statement.holds
    return f"{holds}/{tried}" if tried > 1 else ""


def _power(statement: Judged) -> str:
    """The least share of wrong worlds that were refuted, over the choices under which it holds."""
    powers = [one for one in statement.found if one.held == "holds"]
    return (
        min(powers, key=lambda one: len(one.refuted) / max(1, len(one.refuted + one.passed))).power
        if powers
        else ""
    )


def _short(said: str) -> str:
    for pattern, by in _SHORTER:
        said = pattern.sub(by, said)
    words = said.split()
    if len(words) <= _MOST:
        return said
    # numbers stand at the end, behind what they are of
    _, colon, number = said.rpartition(": ")
    return number if colon else f"…{' '.join(words[-_MOST:])}"


def _cut(said: str) -> str:
    """Most words of a statement."""
    words = said.split()
    return said if len(words) <= _LONGEST else f"{' '.join(words[:_LONGEST])}…"


def _row(cells: Iterable[str]) -> str:
    """A line of a table, without the spaces that a reader of Markdown does not need."""
    whole = (cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
    return f"|{'|'.join(whole)}|"


def _word(small: Judged, large: Judged) -> str:
    """The verdict, and that of paper size where it differs."""
    answer = _answer(small)
    return answer if large.verdict == small.verdict else f"{answer}; paper size: {_answer(large)}"


def _answer(statement: Judged) -> str:
    return _WORDS.get(statement.verdict, statement.verdict.replace(DEPENDS, "**depends** on: "))
