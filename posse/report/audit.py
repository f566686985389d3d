"""The page of an audit: the verdict, the event that gives away, and what was asked."""

import json
from pathlib import Path

import msgspec

from posse.audit.whole import Document
from posse.errors import InputError
from posse.measure.numbers import capital, number
from posse.report.page import Page, Section, Tile, Verdict, table

AUDIT = "audit.json"
"""What `posse audit` writes into its directory."""

_CSS = {"refuted": "no", "not refuted": "yes", "nothing is claimed": "open"}


def is_audit(folder: Path) -> bool:
    """Whether `posse audit` wrote this directory."""
    return (folder / AUDIT).is_file()


def audit_page(folder: Path) -> Page:
    """The page of one audit."""
    try:
        found = msgspec.convert(json.loads((folder / AUDIT).read_text()), Document)
    except ValueError as error:
        raise InputError(f"{folder / AUDIT}: is not what posse audit wrote ({error})") from None
    verdict = Verdict(css=_CSS[found.word], word=found.word, claim=found.claim, evidence=found.says)
    section = Section(
        id="audit",
        title="What was found",
        text=["An audit can refute a claim; it cannot prove one."],
        verdicts=[verdict],
        terms=[(capital(label), said) for label, said in found.rows if label != "claim"],
    )
    if found.verdict is not None and (event := found.verdict.event).conditions:
        rows = [
            (name, weight, "above" if one.above else "not above", one.threshold)
            for one in event.conditions
            for name, weight in one.weights.items()
        ]
        header = ("number", "weight", "their sum is", "threshold")
        section.tables = [table("The event, number by number", header, rows, folded=True)]
    of = "one reward" if found.guess is None else "the best arm"
    return Page(
        title=f"{capital(found.word)}: what messages tell of {of}",
        kicker=f"{found.system} ({found.variant}) · audit",
        lead="",
        tiles=_tiles(found),
        sections=[section],
    )


def _tiles(found: Document) -> list[Tile]:
    if found.guess is not None:
        at_most = f"claimed at most {number(found.guess.claimed)}"
        return [Tile(label="best arm named", value=number(found.guess.found), note=at_most)]
    assert found.verdict is not None
    claimed = found.verdict.claimed
    note = "nothing is claimed" if claimed is None else f"claimed {number(claimed)}"
    tiles = [Tile(label="ε at least", value=number(found.verdict.found), note=note)]
    if found.verdict.needed is not None:
        note = "on each data set would show twice the claimed ε by such an event"
        tiles.append(Tile(label="Runs", value=number(found.verdict.needed), note=note))
    return tiles
