"""A run whose frames are written down, and shown."""

import json
from pathlib import Path

import pytest

from posse.cli.main import main


@pytest.fixture
def frames(run_file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["capture", "ride.toml", "--repeat", "2", "--out", "frames"]) == 0
    assert "posse frames frames shows them" in capsys.readouterr().out
    return "frames"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["frames", "frames", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_frames_are_shown_a_line_each(frames: str, capsys: pytest.CaptureFixture[str]) -> None:
    every = shown(capsys)
    votes = shown(capsys, "--kind", "Vote")
    assert 0 < len(votes) < len(every)
    assert all(" → coordinator" in line and "Vote [" in line for line in votes)
    assert [line for line in every if "Vote [" in line] == votes
    to_agent = shown(capsys, "--from", "coordinator", "--to", "3", "--plane", "data")
    assert to_agent
    assert all("coordinator → 3" in line and " data " in line for line in to_agent)


def test_frames_are_printed_for_programs(frames: str, capsys: pytest.CaptureFixture[str]) -> None:
    votes = [json.loads(line) for line in shown(capsys, "--kind", "Vote", "--json")]
    assert len(votes) == len(shown(capsys, "--kind", "Vote"))
    assert {vote["run"] for vote in votes} == {0, 1}
    assert {vote["target"] for vote in votes} == {-1}


def test_who_is_neither_agent_nor_coordinator_is_refused(
    frames: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["frames", "frames", "--from", "server"])
    assert "must be a rank, or coordinator" in capsys.readouterr().err
