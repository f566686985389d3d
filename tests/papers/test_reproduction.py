"""docs/reproduction.md: a row for each verdict, claims and checks apart."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posse_papers import catalogue, record, reproduction
from posse_papers.outcome import Judged, PointMean, Told, Tried
from posse_papers.statements import Held
from posse_papers.undecided import WHY
from tests.support.conversations import examples


def found(held: Held, power: tuple[int, int] = (1, 0), **choice: str) -> Tried:
    refuted, passed = (["a world: so"] * n for n in power)
    return Tried(choice=choice, held=held, said="so", refuted=refuted, passed=passed)


def statement(*tried: Tried, place: str = "4.2") -> Judged:
    return Judged(text="it | falls", place=place, by="both", found=list(tried))


def outcome(*statements: Judged, **changes: Any) -> Told:
    same = [PointMean("a", 1.0, 10.0, 0.5), PointMean("a", 2.0, 20.0, 0.0)]
    told: dict[str, Any] = {
        "name": "small",
        "paper": "A paper",
        "figure": "Figure 1",
        "title": "A small one",
        "x_label": "agents",
        "y_label": "rounds",
        "shape": "points",
        "form": "quick",
        "repeat": 2,
        "engine": "memory",
        "engines_agree": True,
        "seconds": 1.0,
        "processor_seconds": 1.0,
        "assumed": "N is lost.",
        "statements": list(statements),
        "numbers": {"corrected": same, "printed": same},
        **changes,
    }
    return Told(**told)


def document(one: Told, full: Told | None = None, second: Told | None = None) -> str:
    large, again = ({} if told is None else {"small": told} for told in (full, second))
    return reproduction.text({"small": one}, large, again, ["small", "other"])


def test_checks_of_our_own_that_differ_with_a_second_seed_are_named() -> None:
    holds, open_ = (
        outcome(statement(Tried(choice={}, held=held, said="", refuted=["a"])))
        for held in ("holds", "open")
    )
    for told in (holds, open_):
        told.statements[0].place = ""
    assert "second seed" not in document(holds)
    same = "With a second seed 1 of\n1 of our own checks are answered the same.\n"
    assert same in document(holds, second=holds)
    other = (
        "0 of\n1 of our own checks are answered the same; the others: `small`, it | falls: borne"
    )
    assert f"With a second seed {other} out, then undecided.\n" in document(holds, second=open_)


def test_what_is_undecided_is_explained() -> None:
    said = "Undecided, and why:\n\n- `small`, it | falls: so; it was not looked into.\n"
    opened, held = (outcome(statement(found(held))) for held in ("open", "holds"))
    assert said in document(opened, opened)
    assert "Undecided" not in document(opened, held)
    assert "Undecided" not in document(outcome(statement(found("holds", (1, 0)))))
    known = catalogue.experiments()
    for name, text in WHY:
        assert text in [of.text for of in known[name].statements]
    of_now = {
        (told.name, one.text)
        for told in record.recorded()
        for one in told.statements
        if (told.form, one.verdict) == ("quick", "undecided")
    }
    assert of_now <= WHY.keys()


def rows(text: str, start: str = "it") -> list[str]:
    return re.findall(rf"^\|{start} .*$", text, flags=re.M)


CHOSEN = [
    found("holds", optimum="UCB1", within=".1"), found("holds", optimum="UCB1", within=".2"),
    found("fails", optimum="Thompson", within=".1"), found("open", optimum="Thompson", within=".2"),
]  # fmt: skip


def test_a_verdict_that_differs_from_the_recorded_one_is_said(tmp_path):
    recorded = tmp_path / "page.jsonl"
    now = {"small": outcome(statement(found("open")))}
    assert record.changes(recorded, now, {}) == []
    before = {"small": outcome(statement(found("holds")))}
    recorded.write_text(record.kept(before, {}))
    assert record.changes(recorded, now, {}) == [
        "small (quick) differs from page.jsonl: it | falls: undecided, was borne out"
    ]
    assert record.changes(recorded, before, {}) == []
    recorded.write_text("{}")
    (said,) = record.changes(recorded, now, {})
    assert "cannot be read" in said


@examples(Path(__file__).with_name("reproduction.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
