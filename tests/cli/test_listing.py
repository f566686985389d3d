"""posse list."""

import sys
from pathlib import Path

import pytest

from posse.cli.main import main


def test_list_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for word in ("dp-mase", "corrupted-elimination", "epsilon", "required", "gaussian", "csv"):
        assert word in out


def test_list_shows_a_system_of_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    assert main(["new", "own_listed", "--out", "."]) == 0
    capsys.readouterr()
    assert main(["list", "own_listed:SYSTEM"]) == 0
    out = capsys.readouterr().out
    assert "own_listed:SYSTEM: federated epsilon-greedy" in out
    assert "explore  integer >= 1; default 1" in out
    assert main(["list", "own_missing:SYSTEM"]) == 2
    assert "there is no module 'own_missing'" in capsys.readouterr().err
