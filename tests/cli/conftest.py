"""A small run file in the working directory, and commands as users call them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.capture import CaptureResult

from posse.cli.main import main
from posse.gates import files

Posse = Callable[..., CaptureResult[str]]

RUN_FILE = """
system = "dp-mase"
seed = 5
repeat = 2
agents.count = 8
arms = { kind = "bernoulli", means = [0.8, 0.4, 0.1] }
parameters.epsilon = 0.5
engine.kind = "memory"
"""


@pytest.fixture
def run_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ride.toml"
    path.write_text(RUN_FILE)
    return path


@pytest.fixture
def posse(capsys: pytest.CaptureFixture[str]) -> Posse:
    """A command that ends with this exit code; what it printed."""

    def carry_out(*words: object, code: int = 0) -> CaptureResult[str]:
        capsys.readouterr()
        ended = main([*map(str, words)])
        printed = capsys.readouterr()
        assert ended == code, printed.err
        return printed

    return carry_out


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """As long as it lasts no result can be written."""
    opened = files.replacing

    def full(path: Path, **how: bool) -> Any:
        if path.name == "spec.toml" or path.name.startswith(".room-"):
            return opened(path, **how)
        raise OSError(28, "No space left on device")

    @contextmanager
    def lasts() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(files, "replacing", full)
            yield

    return lasts
