"""Options that several verbs have: a run file, and what is changed in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Posse


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
def test_a_run_file_may_come_from_a_pipe(words: str, pipe: str, posse: Posse) -> None:
    verb, *rest = words.split()
    posse(verb, pipe, *rest)


@pytest.mark.parametrize("engine", ["memory", "processes"])
def test_jobs_says_where_it_has_no_effect(engine: str, run_file: Path, posse: Posse) -> None:
    said = posse("run", run_file, "--engine", engine, "--jobs", "1", "--out", "out").err
    assert ("--jobs has no effect" in said) == (engine == "processes")
