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


@pytest.mark.parametrize("words", [["run", "ride.toml", "--out", ""], ["keys", "", "--agents=2"]])
def test_no_name_is_not_the_working_directory(
    words: list[str], run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "is empty; name a file or folder, or . for this one" in capsys.readouterr().err
    assert list(run_file.parent.iterdir()) == [run_file]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --engine memory --set engine.kind=processes", "engine.kind: is given by --engine"),
        ("run --seed 1 --set seed=2", "seed: is given by --seed and by --set"),
        ("sweep --repeat 1 --over repeat=1,2", "repeat: is given by --repeat and by --over"),
    ],
)
def test_a_key_that_is_given_twice_is_refused(
    words: str, said: str, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *rest = words.split()
    assert main([verb, str(run_file), *rest, "--out", "out"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize("engine", ["memory", "processes"])
def test_jobs_says_where_it_has_no_effect(
    engine: str, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(run_file), "--engine", engine, "--jobs", "1", "--out", "out"]) == 0
    assert ("--jobs has no effect" in capsys.readouterr().err) == (engine == "processes")
