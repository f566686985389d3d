"""What pages say, as it stands in pages.txt: text, terms, figures' captions and tables."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest

from posse import api
from posse.audit.event import NOTHING
from posse.audit.guess import Guess
from posse.audit.judge import AuditVerdict
from posse.audit.whole import AUDIT, Document
from posse.durable.directory import RunDirectory
from posse.durable.shown import of_system
from posse.operate.live import STALE
from posse.plan import prepare
from posse.protocol.privacy import Claim, OneReward
from posse.reading.folder import Series, find, read
from posse.report import delay, figures, network, privacy, run_page, under_way
from posse.report.audit import audit_page
from posse.report.comparison import several_page
from posse.report.differences import names
from posse.report.page import Page, Section
from posse.results.record import Delay, LinkDelay, NetworkFacts, Privacy, RunRecord
from posse_systems.esfandiari2022.system import ParallelDetail
from tests.operate.test_live import STATE
from tests.support.conversations import transcripts

__all__ = [
    "STALE",
    "STATE",
    "Delay",
    "LinkDelay",
    "ParallelDetail",
    "delay",
    "figures",
    "find",
    "network",
    "privacy",
    "several_page",
    "under_way",
]

ARMS = {"kind": "bernoulli", "means": [0.9, 0.5, 0.1]}


def described(**changes: Any) -> dict[str, Any]:
    return {
        "system": "dp-mase",
        "seed": 3,
        "repeat": 3,
        "agents": {"count": 16},
        "arms": ARMS,
        "parameters": {"epsilon": 0.5},
        "engine": {"kind": "memory"},
        **changes,
    }


class Runs:
    """Series that were run, each once, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run = functools.cache(self._make)

    def __call__(self, system: str = "dp-mase", **changes: Any) -> Series:
        return read(self._run(system, repr(changes)))

    def _make(self, system: str, changes: str) -> Path:
        if system != "dp-mase":
            changes = repr({"parameters": {}} | eval(changes))
        path = self._folder / f"{system}-{crc32(changes.encode())}"
        plan = prepare(described(system=system, **eval(changes)))
        RunDirectory(path, plan).open().complete(api.run(plan))
        return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("pages"))


def page(series: Series, **runs: Any) -> Page:
    """Its page; all its runs with these changes."""
    changed = [msgspec.structs.replace(run, **runs) for run in series.runs]
    return run_page.run_page(replace(series, runs=changed))


def words(made: Page | Section | None, *only: str) -> str:
    """All that a page or a section says, a line each; of a page `top`, or sections by their ids."""
    if made is None:
        return "nothing"
    if isinstance(made, Section):
        return "\n".join(_section(made))
    found = list(_top(made)) if not only or "top" in only else []
    for section in made.sections:
        if section.id in only or not only:
            found += [f"[{section.title}]", *_section(section)]
    return "\n".join(found)


def _top(made: Page) -> Iterator[str]:
    yield from (made.title, made.kicker, made.lead)
    yield from (f"alert: {alert}" for alert in made.alerts)
    for tile in made.tiles:
        yield f"tile: {tile.label}: {tile.value} {tile.unit} {tile.note}"


def _section(section: Section) -> Iterator[str]:
    yield from section.text
    yield from (f"{one.word}: {one.claim}: {one.evidence}" for one in section.verdicts)
    yield from (f"{term}: {text}" for term, text in section.terms)
    for chart in section.charts:
        yield f"figure {chart.name}: {chart.title}: {chart.caption}"
        yield f"- {_row(chart.header)}"
        ends = [chart.rows[0], chart.rows[-1]] if len(chart.rows) > 2 else chart.rows
        yield from (f"- {_row(row)}" for row in ends)
    for one in section.tables:
        yield f"table {one.title}: {one.note}"
        timed = [n for n, name in enumerate(one.header) if name != "seconds"]  # the machine's
        yield f"- {_row([one.header[n] for n in timed])}"
        yield from (f"- {_row([row[n].text for n in timed])}" for row in one.rows[:4])
    for ranking in section.rankings:
        yield f"ranking {ranking.title}: {ranking.axis} {_row(ranking.ends)}"
        for place in ranking.rows:
            bounds = "" if place.low is None else f"{place.low:.4g} to {place.high:.4g}"
            yield f"- {place.name}: {place.text} {bounds} {place.css} {dict(place.cells)}"


def _row(cells: Sequence[Any]) -> str:
    return " | ".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in cells)


def ledger(spent: Sequence[float] = (0.1,), **claim: Any) -> Series:
    """A series of one run with this claim, whose agents spent this."""
    claimed = Claim(change=OneReward(), **{"mechanism": "laplace", "epsilon": 0.1, **claim})
    run = RunRecord(
        run=0,
        seed=3,
        privacy=Privacy(
            claim=claimed, spent_per_agent=list(spent), releases_per_agent=[1] * len(spent),
            records=None, variant="corrected", protects=False,
        ),
    )  # fmt: skip
    plan = prepare(described())
    return Series(
        path=Path(), name="x", spec=plan.spec, system=of_system(plan.system), text="", runs=[run],
        failure=None, network=NetworkFacts(), warnings=[],
    )  # fmt: skip


def audited(folder: Path, guess: Guess | None = None, hopeless: str = "", **told: Any) -> str:
    """The page of an audit."""
    usual = {"delta": 0.0, "delta_lower_bound": 0.0, "error": 0.01, "event": NOTHING, "words": ""}
    usual |= {"needed": None, "spent": 0.5, "violations": []}
    verdict = AuditVerdict(**{**usual, **told}) if told else None
    document = Document(
        system="mine", variant="corrected", claim="ε = .5", sees="messages", verdict=verdict,
        guess=guess, word=guess.word if guess else "refuted" if hopeless else "not refuted",
        says=guess.says if guess else "", words="", hopeless=hopeless,
    )  # fmt: skip
    (folder / AUDIT).write_bytes(msgspec.json.encode(document))
    made = audit_page(folder)
    assert made.title == document.verdict_line.sentence
    assert document.rows[0] == ("done", made.title)
    assert set(document.verdict_line.losses) <= set(document.rows)
    return words(made)


def live(series: Series, age: float = 0.0, **run: Any) -> Series:
    """The series, under way."""
    state = msgspec.structs.replace(STATE, run=msgspec.structs.replace(STATE.run, **run))
    return replace(series, live=state, live_age=age, failure="it goes on")


def called(folder: Path, *changes: dict[str, Any]) -> list[str]:
    """What series with these changes are called."""
    folder = folder / str(len(list(folder.iterdir())))
    for n, change in enumerate(changes):
        (path := folder / f"folder-{n}").mkdir(parents=True)
        RunDirectory(path, prepare(described(**change))).open()
    return names(find(folder))


@transcripts([Path(__file__).with_name("pages.txt")], globals())
def test_pages_say_what_is_written_down(
    play: Callable[..., None], runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    play(runs=runs, folder=tmp_path)


@pytest.mark.parametrize("several", [False, True])
def test_no_page_says_a_sentence_twice_or_shows_an_id_twice(several: bool, runs: Runs) -> None:
    one, other = runs(), runs("central")
    made = several_page([one, other], "", "") if several else page(one)
    sentences = [s for s in words(made).splitlines() if len(s) > 70 and "figure" not in s]
    assert len(sentences) == len(set(sentences))
    assert made.html() == (several_page([one, other], "", "") if several else page(one)).html()
