"""docs/reproduction.md: a row for each verdict, claims and checks apart."""

import re
from typing import Any

import pytest

from posse_papers import reproduction
from posse_papers.outcome import Judged, PointMean, Told
from posse_papers.statements import Answer, Finding


def found(answer: Answer, power: str = "") -> Finding:
    return Finding(answer=answer, said="so", power=power)


def statement(place: str = "4.2", by: str = "both", **by_variant: Finding) -> Judged:
    return Judged(text="it | falls", place=place, by=by, found=by_variant)


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


def test_one_verdict_by_the_form_that_judges():
    both: Any = {"corrected": found("borne out"), "printed": found("not borne out")}
    assert statement(**both).verdict == "depends on the form"
    assert statement(by="printed", **both).verdict == "not borne out"
    assert statement(by="corrected", **both).verdict == "borne out"
    assert statement(corrected=found("undecided")).verdict == "undecided"


def test_a_verdict_that_differs_from_the_recorded_one_is_said(tmp_path):
    recorded = tmp_path / "page.json"
    now = {"small": outcome(statement(corrected=found("undecided")))}
    assert reproduction.changes(recorded, now, {}) == []
    before = {"small": outcome(statement(corrected=found("borne out")))}
    recorded.write_text(reproduction.kept(before, {}))
    assert reproduction.changes(recorded, now, {}) == [
        "small (quick) differs from page.json: it | falls: undecided, was borne out"
    ]
    assert reproduction.changes(recorded, before, {}) == []
    recorded.write_text("{}")
    (said,) = reproduction.changes(recorded, now, {})
    assert "cannot be read" in said


def test_claims_and_checks_of_our_own_are_told_and_counted_apart():
    text = document(
        outcome(
            statement(
                corrected=found("borne out", "chance: 3"), printed=found("borne out", "chance: 4")
            ),
            statement(corrected=found("borne out"), printed=found("not borne out")),
            statement(place="", corrected=found("undecided"), printed=found("undecided")),
        )
    )
    assert "Claims of the papers: 1 borne out, 1 depends on the form." in text
    assert "Checks of our own: 1 undecided." in text
    claims, _, rest = text.partition("## Checks of our own")
    assert "Borne out: `small`." in claims
    assert rows(claims) == [
        "|it \\| falls|4.2|`small`|corrected **yes**, printed **no**|so|",
    ]
    assert rows(rest) == ["|it \\| falls|`small`|**open**|so|"]


def test_a_setting_of_ours_is_marked():
    text = document(outcome(statement(corrected=found("undecided")), figure="Theorem 1"))
    assert rows(text) == ["|it \\| falls|4.2|`small`°|**open**|so|"]


def test_the_paper_size_stands_beside_the_quick_form_where_it_differs():
    quick = outcome(statement(corrected=found("undecided")))
    full = outcome(statement(corrected=found("borne out", "half the noise: 2")), form="full")
    text = document(quick, full)
    assert rows(text) == ["|it \\| falls|4.2|`small`|**open**; paper size: **yes**||"]
    assert "Claims of the papers: 1 undecided." in text
    assert "Claims of the papers, paper size: 1 borne out." in text
    assert "Not run here: `other`" in text


def test_statements_that_differ_before_their_colon_share_a_row():
    answers: list[tuple[float, Answer]] = [
        (0, "not borne out"), (0.1, "not borne out"), (0.2, "undecided")
    ]  # fmt: skip
    said = [
        Judged(text=f"ξ = {xi}: it falls (here: by half (or so))", place="4.2", by="both",
               found={"corrected": found(answer)})
        for xi, answer in answers
    ]  # fmt: skip
    assert rows(document(outcome(*said)), "ξ") == [
        "|ξ = 0, 0.1: it falls|4.2|`small`|**no**|so|",
        "|ξ = 0.2: it falls|4.2|`small`|**open**|so|",
    ]


def test_equal_statements_have_a_row_each():
    same = statement(corrected=found("undecided"))
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
    one = statement(corrected=Finding(answer="undecided", said=said))
    assert rows(document(outcome(one))) == [f"|it \\| falls|4.2|`small`|**open**|{short}|"]
