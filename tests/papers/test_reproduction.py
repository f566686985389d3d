"""docs/reproduction.md: claims and checks apart, each with its verdict and the power of that."""

import re
from typing import Any

from posse_papers import reproduction
from posse_papers.outcome import Cost, Judged, PointMean, Told
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


def document(one: Told, full: Told | None = None, **costs: Cost) -> str:
    large = {} if full is None else {"small": full}
    return reproduction.text({"small": one}, large, costs, ["small", "other"])


def test_one_verdict_by_the_form_that_judges():
    both: Any = {"corrected": found("borne out"), "printed": found("not borne out")}
    assert statement(**both).verdict == "depends on the form"
    assert statement(by="printed", **both).verdict == "not borne out"
    assert statement(by="corrected", **both).verdict == "borne out"
    assert statement(corrected=found("undecided")).verdict == "undecided"


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
    rows = re.findall(r"^\| it .*$", claims, flags=re.M)
    assert rows[0] == "| it \\| falls (4.2) | `small` | **borne out** |  | chance |"
    assert "corrected: borne out, printed: not borne out" in rows[1]
    assert re.findall(r"^\| it .*$", rest, flags=re.M) == [
        "| it \\| falls | `small` | **undecided** |"
    ]


def test_the_paper_size_stands_beside_the_quick_form():
    quick = outcome(statement(corrected=found("undecided")))
    full = outcome(
        statement(corrected=found("borne out", "half the noise: 2")),
        form="full",
        processor_seconds=90.0,
    )
    text = document(quick, full)
    assert "| **undecided** | **borne out** | half the noise |" in text
    assert "Claims of the papers: 1 undecided." in text
    assert "Claims of the papers, paper size: 1 borne out." in text
    assert "1 of 1 experiments were run at paper size, in 1.5 processor minutes" in text
    assert "Not run here: `other`" in text


def test_what_was_not_run_in_full_says_what_it_would_cost():
    text = document(outcome(), other=Cost(repetitions=2000, processor_seconds=3600.0, kept=20))
    assert "| `other` | 60.0 | 20 of 2,000 repetitions |" in text
    assert "In quick form alone: `small`." in text
    assert "## Paper size" not in document(outcome())
