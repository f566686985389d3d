"""The page of claims does not drift from the claims."""

from pathlib import Path

import pytest

from posse.cli import claims as page
from posse.cli import main as cli

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


def test_the_page_is_what_the_code_claims() -> None:
    assert PAGE.read_text() == page.text(), "run: posse list claims > docs/claims.md"


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "claims"]) == 0
    assert capsys.readouterr().out == page.text()


def test_every_claim_says_why_it_holds_and_what_it_leaves_open() -> None:
    for name, form, plan in page.forms():
        claim = plan.claim
        if claim.mechanism == "none":
            assert claim.note, (name, form)
        elif claim.holds:
            assert claim.proof, (name, form)
            assert claim.uncovered, (name, form)
        else:
            assert claim.note, (name, form)
