"""docs/reproduction.md: a row for each verdict, claims and checks apart."""

import re
from typing import Any

import pytest

from posse_papers import record, reproduction
from posse_papers.outcome import Judged, PointMean, Told, Tried
from posse_papers.statements import Held


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


def document(one: Told, full: Told | None = None) -> str:
    large = {} if full is None else {"small": full}
    return reproduction.text({"small": one}, large, ["small", "other"])


def rows(text: str, start: str = "it") -> list[str]:
    return re.findall(rf"^\|{start} .*$", text, flags=re.M)


CHOSEN = [
    found("holds", optimum="UCB1", within=".1"), found("holds", optimum="UCB1", within=".2"),
    found("fails", optimum="Thompson", within=".1"), found("open", optimum="Thompson", within=".2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tried", "verdict", "holds"),
    [
        ([found("holds")], "borne out", (1, 1)),
        ([found("holds", (0, 2))], "says nothing here", (0, 1)),
        ([found("fails", form="a"), found("fails", form="b")], "not borne out", (0, 2)),
        ([found("holds", form="a"), found("open", form="b")], "depends on: form", (1, 2)),
        (CHOSEN, "depends on: optimum, within", (2, 4)),
        # what holds without power under one choice is not borne out under it
        ([found("holds", c="1"), found("holds", (0, 1), c="2")], "depends on: c", (1, 2)),
        # a narrower limit fails, a wider one is open: no choice bears it out
        ([found("fails", within=".1"), found("open", within=".2")], "undecided", (0, 2)),
        ([found("fails", form="a"), found("open", form="b")], "depends on: form", (0, 2)),
        # neither alone decides
        ([found("holds", a="1", b="1"), found("fails", a="2", b="2")],
         "depends on: several choices at once", (1, 2)),
    ],
)  # fmt: skip
def test_one_verdict_of_all_choices(
    tried: list[Tried], verdict: str, holds: tuple[int, int]
) -> None:
    one = statement(*tried)
    assert (one.verdict, one.holds) == (verdict, holds)


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


def test_claims_and_checks_of_our_own_are_told_and_counted_apart():
    text = document(
        outcome(
            statement(found("holds", (1, 2))),
            statement(*CHOSEN),
            statement(found("open"), place=""),
        )
    )
    assert "Claims of the papers: 1 borne out, 1 depends on." in text
    assert "Checks of our own: 1 undecided." in text
    claims, _, rest = text.partition("## Checks of our own")
    assert rows(claims) == [
        r"|it \| falls|4.2|`small`|**yes**||1/3||",
        r"|it \| falls|4.2|`small`|**depends** on: optimum, within|2/4|1/1|"
        "optimum Thompson, within .1: so|",
    ]
    assert rows(rest) == [r"|it \| falls|`small`|**open**|||so|"]


def test_a_setting_of_ours_is_marked():
    text = document(outcome(statement(found("open")), figure="Theorem 1"))
    assert rows(text) == [r"|it \| falls|4.2|`small`°|**open**|||so|"]


def test_the_paper_size_stands_beside_the_quick_form_where_it_differs():
    quick = outcome(statement(found("open")))
    full = outcome(statement(found("holds")), form="full")
    text = document(quick, full)
    assert rows(text) == [r"|it \| falls|4.2|`small`|**open**; paper size: **yes**||1/1||"]
    assert "Claims of the papers: 1 undecided." in text
    assert "Claims of the papers, paper size: 1 borne out." in text
    assert "Not run here: `other`" in text


def test_statements_that_differ_before_their_colon_share_a_row():
    answers: list[tuple[float, Held]] = [(0, "fails"), (0.1, "fails"), (0.2, "open")]
    said = [
        Judged(text=f"ξ = {xi}: it falls", place="4.2", by="both", found=[found(held)])
        for xi, held in answers
    ]
    assert rows(document(outcome(*said)), "ξ") == [
        "|ξ = 0, 0.1: it falls|4.2|`small`|**no**|||so|",
        "|ξ = 0.2: it falls|4.2|`small`|**open**|||so|",
    ]


def test_equal_statements_have_a_row_each():
    same = statement(found("open"))
    assert len(rows(document(outcome(same, same)))) == 2


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("3 of 3 clear; least: a − b at 4: 78.9 ± 69.6", "a−b at 4: 78.9±69.6"),
        ("β at 0: 0.272 ± 0.004, at most 0.1", "β at 0: 0.272±0.004 (≤0.1)"),
        ("ratio 1.16; wanted 0 to 1.25", "ratio 1.16 (0–1.25)"),
        ("9 of 9 (99.7% to 99.8%), wanted 0.95", "9/9 (99.7%–99.8%), for 0.95"),
        ("a − b: 275 ± 76 of 300 allowed", "a−b: 275±76 (≤300)"),
        ("9 of 20 releases against 0: ε is at least 1.96, claimed 0.5", "ε≥1.96 (0.5)"),
        (
            "5 of 9 runs against 0: ε is at least 1.51, claimed ε = 0.5, δ = 1e-06; refuted: a: b",
            "ε≥1.51 (0.5)",
        ),
        ("a − b, both of them at 4: 78.9 ± 69.6", "78.9±69.6"),
        ("one two three four five six seven eight", "…four five six seven eight"),
    ],
)  # fmt: skip
def test_a_figure_is_short(said, short):
    one = statement(Tried(choice={}, held="open", said=said))
    assert rows(document(outcome(one))) == [f"|it \\| falls|4.2|`small`|**open**|||{short}|"]
