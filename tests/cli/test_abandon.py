"""posse abandon."""

from pathlib import Path

import pytest

from posse.cli.main import main
from posse.durable.journal import Journal


def test_a_run_is_given_up_with_what_is_known_of_its_cost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kept = Journal(tmp_path / "coordinator.journal", "a coordinator")
    kept.begin("a run")
    assert main(["abandon", str(tmp_path)]) == 2
    assert "is in use by a process; stop that process first" in capfd.readouterr().err
    kept.close()
    assert main(["abandon", str(tmp_path)]) == 0
    assert "coordinator.journal: its run is given up; what it used is in each agent's ledger" in (
        capfd.readouterr().out
    )
    assert not list(tmp_path.iterdir())
    assert main(["abandon", str(tmp_path)]) == 2
    assert "has no journal: there is no run to give up" in capfd.readouterr().err


def test_the_journal_of_a_run_that_was_ended_says_why_and_resumes_nothing(tmp_path: Path) -> None:
    kept = Journal(tmp_path / "coordinator.journal", "a coordinator")
    kept.begin("a run")
    kept.end("interrupted")
    again = Journal(kept.path, "a coordinator")
    assert (again.ended, again.beginning) == ("interrupted", b"")
    again.remove()
