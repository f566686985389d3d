"""The page of an audit."""

from pathlib import Path

import msgspec

from posse.audit.event import NOTHING
from posse.audit.guess import Guess
from posse.audit.judge import AuditVerdict
from posse.audit.whole import AUDIT, Document
from posse.measure.numbers import capital
from posse.report.audit import audit_page


def test_the_page_of_a_guess_is_about_the_best_arm(tmp_path: Path) -> None:
    guess = Guess(claimed=0.1, lower_bound=0.5, error=0.01, hits=60, trials=100, words="a forest")
    document = Document(
        system="mine", variant="corrected", claim="The best arm.", sees="agent", verdict=None,
        guess=guess, word=guess.word, says=guess.says, words=guess.words,
    )  # fmt: skip
    (tmp_path / AUDIT).write_bytes(msgspec.json.encode(document))
    page = audit_page(tmp_path)
    assert page.title == document.verdict_line.sentence
    assert page.title.startswith("Refuted: the best arm is named in 60 of 100 runs")
    assert page.tiles[0].value == "0.5"


def test_an_audit_of_too_few_runs_says_so_at_once(tmp_path: Path) -> None:
    verdict = AuditVerdict(
        claimed=0.5, delta=0.0, lower_bound=0.0, delta_lower_bound=0.0, error=0.01, hits=14,
        others=15, trials=25, event=NOTHING, words="", needed=436, spent=0.5, violations=[],
    )  # fmt: skip
    document = Document(
        system="mine", variant="corrected", claim="ε = .5", sees="messages", verdict=verdict,
        guess=None, word="not refuted", says="", words="",
    )  # fmt: skip
    (tmp_path / AUDIT).write_bytes(msgspec.json.encode(document))
    assert audit_page(tmp_path).lead.endswith(
        " 25 runs on each data set are too few to tell: twice the claimed ε would show in about "
        "436."
    )


def test_every_trouble_of_an_audit_is_in_its_table_and_on_its_page(tmp_path: Path) -> None:
    """One line for both, which begins with the verdict."""
    verdict = AuditVerdict(
        claimed=1.0, delta=0.0, lower_bound=2.0, delta_lower_bound=0.0, error=0.01, hits=9,
        others=1, trials=9, event=NOTHING, words="", needed=None,
        spent=3.0, violations=["a statistic was noised twice"],
    )  # fmt: skip
    document = Document(
        system="mine", variant="corrected", claim="ε = 1", sees="messages", verdict=verdict,
        guess=None, word="refuted", says="", words="", hopeless="9 runs can refute nothing",
    )  # fmt: skip
    (tmp_path / AUDIT).write_bytes(msgspec.json.encode(document))
    told, page = document.verdict_line, audit_page(tmp_path)
    assert told.line == (
        "done: Refuted: ε is at least 2, claimed ε = 1 · violation · overspent · no power"
    )
    assert document.rows[0] == ("done", page.title)
    for label, sentence in told.losses:
        assert (label, sentence) in document.rows
        assert f"{capital(label)}: {sentence}" in page.alerts
