"""posse check."""

from pathlib import Path

import pytest

from posse.cli.main import main


def test_check_says_what_there_is(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(run_file)]) == 0
    assert "8 agents; 3 arms" in capsys.readouterr().out
