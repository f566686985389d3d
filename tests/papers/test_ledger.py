"""The papers line by line: what a row stands for, and which statements judge it."""

import pytest

from posse_papers import catalogue, ledger, record
from posse_papers.ledger import Row, places


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("(3) to (5)", ["(3)", "(4)", "(5)"]),
        ("(7)", ["(7)"]),
        ("Remarks 3, 5", ["Remark 3", "Remark 5"]),
        ("Assumptions 3.2 to 3.4", ["Assumption 3.2", "Assumption 3.3", "Assumption 3.4"]),
        ("Lemma 3.5", ["Lemma 3.5"]),
        ("Table I", ["Table I"]),
    ],
)
def test_what_a_label_stands_for(label: str, names: list[str]) -> None:
    assert Row("a", label, "reading", "").names == names


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("29, 30", {"(29)", "(30)"}),
        ("2 to 4", {"(2)", "(3)", "(4)"}),
        ("Lemma 3.5; Algorithm 1, line 9", {"Lemma 3.5", "Algorithm 1"}),
        ("Theorem 1, equations 15, 19", {"Theorem 1", "(15)", "(19)"}),
        ("Proposition 4.2, proof", {"Proposition 4.2"}),
        ("6.3, Section C.3", {"6.3", "Section C.3"}),
    ],
)
def test_what_a_place_names(place: str, named: set[str]) -> None:
    assert named <= places(place)


def test_no_line_is_there_twice_and_all_numbers_up_to_the_last_are() -> None:
    last = {"Rio": 22, "Dubey": 51, "Tossou": 49, "Esfandiari": 3, "Li": 35}
    for paper, count in last.items():
        names = [n for row in ledger.rows() if row.paper.startswith(paper) for n in row.names]
        again = {name for name in names if names.count(name) > 1}
        assert again <= {"Figure 4"}
        assert {f"({n})" for n in range(1, count + 1)} <= set(names)


def test_each_tested_line_has_a_statement_that_names_it() -> None:
    told = {one.name: one for one in record.recorded()}
    assert set(told) >= {row.how for row in ledger.rows() if row.tested}
    assert [row.label for row in ledger.unjudged(told)] == []
    assert set(told) == set(catalogue.experiments())


def test_an_answer_of_the_authors_stands_in_their_line(monkeypatch) -> None:
    row = Row("A paper", "(1)", "reading", "it | holds", "a slip")
    monkeypatch.setattr(ledger, "rows", lambda: (row,))
    assert r"|(1)|it \| holds|reading||a slip|" in ledger.text({})


def test_a_line_is_judged_by_what_names_it_and_a_figure_by_all_of_its_experiment() -> None:
    told = {one.name: one for one in record.recorded()}

    def judged(label: str, name: str) -> list[str]:
        row = next(row for row in ledger.rows() if row.label == label and row.how == name)
        return [said.place for said in ledger.judged_by(row, told[name])]

    assert judged("Lemma A.1", "rio-proofs") == ["9, Lemma A.1"]
    assert judged("Figure 2", "rio-2") == ["C.2"]
