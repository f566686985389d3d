"""Options that several verbs have: a run file, and what is changed in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from posse.cli.main import main


@pytest.fixture
def pipe(run_file: Path) -> Iterator[str]:
    """A run file that can be read once."""
    reader, writer = os.pipe()
    os.write(writer, run_file.read_bytes())
    os.close(writer)
    yield f"/dev/fd/{reader}"
    os.close(reader)


@pytest.mark.parametrize(
    "words", ["check", "run --out out", "sweep --out out --over parameters.epsilon=0.5,1.0"]
)
def test_a_run_file_may_come_from_a_pipe(words: str, pipe: str) -> None:
    verb, *rest = words.split()
    assert main([verb, pipe, *rest]) == 0


def test_a_system_that_is_taken_away_is_missing(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(run_file), "--set", "system="]) == 2
    assert capsys.readouterr().err == "posse: system: is required but missing\n"


@pytest.mark.parametrize("words", [["run", "ride.toml", "--out", ""], ["keys", "", "--agents=2"]])
def test_no_name_is_not_the_working_directory(
    words: list[str], run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "is empty; name a file or folder, or . for this one" in capsys.readouterr().err
    assert list(run_file.parent.iterdir()) == [run_file]
