"""The papers line by line: what a row stands for, and which statements judge it."""

from collections.abc import Callable
from pathlib import Path

from posse_papers import ledger, record
from posse_papers.ledger import Row
from tests.support.conversations import examples


def test_no_line_is_there_twice_and_all_numbers_up_to_the_last_are() -> None:
    last = {"Rio": 22, "Dubey": 51, "Tossou": 49, "Esfandiari": 3, "Li": 35}
    for paper, count in last.items():
        names = [n for row in ledger.rows() if row.paper.startswith(paper) for n in row.names]
        again = {name for name in names if names.count(name) > 1}
        assert again <= {"Figure 4"}
        assert {f"({n})" for n in range(1, count + 1)} <= set(names)


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


@examples(Path(__file__).with_name("ledger.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
