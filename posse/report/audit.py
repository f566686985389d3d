"""The page of an audit: the verdict, the event that gives away, and what was asked."""

from pathlib import Path

from posse.measure.numbers import capital, number
from posse.reading.audited import Document, read
from posse.report.page import Page, Section, Tile, Verdict, table
from posse.results.verdict import alerts

_CSS = {"refuted": "no", "not refuted": "yes", "nothing is claimed": "open"}


def audit_page(folder: Path) -> Page:
    """The page of one audit."""
    document = read(folder)
    verdict = Verdict(
        css=_CSS[document.word], word=document.word, claim=document.claim, evidence=document.says
    )
    section = Section(
        id="audit",
        title="What was found",
        text=["An audit can refute a claim; it cannot prove one."],
        verdicts=[verdict],
        terms=[(capital(label), sentence) for label, sentence in document.rows[2:]],
    )
    if document.verdict is not None and (event := document.verdict.event).conditions:
        rows = [
            (name, weight, "above" if condition.above else "not above", condition.threshold)
            for condition in event.conditions
            for name, weight in condition.weights.items()
        ]
        header = ("number", "weight", "their sum is", "threshold")
        section.tables = [table("The event, number by number", header, rows, folded=True)]
    secret = "one reward" if document.guess is None else "the best arm"
    return Page(
        title=document.verdict_line.sentence,
        kicker=f"{document.system} ({document.variant}) · audit",
        lead=f"What messages tell of {secret}.{_too_few(document)}",
        alerts=alerts(document.verdict_line),
        tiles=_tiles(document),
        sections=[section],
    )


def _too_few(document: Document) -> str:
    """A sentence if the audit had fewer runs than would show twice what is claimed."""
    verdict = document.verdict
    if verdict is None or verdict.refuted or verdict.needed is None:
        return ""
    if verdict.needed <= verdict.trials:
        return ""
    return (
        f" {verdict.trials:,} runs on each data set are too few to tell: twice the claimed ε would "
        f"show in about {verdict.needed:,}."
    )


def _tiles(document: Document) -> list[Tile]:
    if document.guess is not None:
        most = document.guess.claimed
        note = "nothing is claimed" if most is None else f"claimed at most {number(most)}"
        return [Tile(label="best arm named", value=number(document.guess.lower_bound), note=note)]
    if document.verdict is None:
        assert document.coupling is not None
        cost = number(document.coupling.cost)
        tiles = [Tile(label="ε by noise asked for", value=cost, note="of one reward, at most")]
        if document.one_run is not None:
            epsilon = number(document.one_run.lower_bound)
            tiles.append(Tile(label="ε at least", value=epsilon, note="by guessing canaries"))
        return tiles
    claimed = document.verdict.claimed
    note = "nothing is claimed" if claimed is None else f"claimed {number(claimed)}"
    tiles = [Tile(label="ε at least", value=number(document.verdict.lower_bound), note=note)]
    if document.verdict.needed is not None:
        note = "on each data set would show twice the claimed ε by such an event"
        tiles.append(Tile(label="Runs", value=number(document.verdict.needed), note=note))
    return tiles
