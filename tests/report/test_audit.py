"""The page of an audit."""

from pathlib import Path

import msgspec

from posse.audit.guess import Guess
from posse.audit.whole import AUDIT, Document
from posse.report.audit import audit_page


def test_the_page_of_a_guess_is_about_the_best_arm(tmp_path: Path) -> None:
    guess = Guess(claimed=0.1, lower_bound=0.5, error=0.01, hits=60, trials=100, words="a forest")
    document = Document(
        system="mine", variant="corrected", claim="The best arm.", sees="agent", verdict=None,
        guess=guess, word=guess.word, says=guess.says, words=guess.words,
    )  # fmt: skip
    (tmp_path / AUDIT).write_bytes(msgspec.json.encode(document))
    page = audit_page(tmp_path)
    assert page.title == "Refuted: what messages tell of the best arm"
    assert page.tiles[0].value == "0.5"
