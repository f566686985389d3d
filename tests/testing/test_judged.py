"""The page of `posse judge`."""

from pathlib import Path

import pytest

from posse.cli.main import main
from posse.testing.judge import JudgeFinding
from posse.testing.judged import judged_page

FOUND = [
    JudgeFinding("repeats by its seed", True, "", "posse judge x --only seed"),
    JudgeFinding(
        "no agent spends more", None, "it claims no <b>ε</b>", "posse judge x --only spends"
    ),
    JudgeFinding("both engines give one run", False, "regret differs", "posse judge x --only both"),
]


def test_what_broke_comes_first_with_the_command_that_repeats_it() -> None:
    page = judged_page("x", FOUND)
    assert page.title == "1 of 2 broken, 1 not applicable"
    checks, again = page.sections
    assert [(one.css, one.word) for one in checks.verdicts] == [
        ("no", "BROKEN"),
        ("yes", "held"),
        ("open", "not applicable"),
    ]
    assert again.code == "posse judge x --only both"
    assert "it claims no &lt;b&gt;ε" in page.html()


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "judged.html"
    assert main(["judge", "ucb1", "--only", "repeats", "--page", str(path)]) == 0
    assert "0 of 1 broken, 0 not applicable" in path.read_text()
    assert "To repeat" not in path.read_text()
