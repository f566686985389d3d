"""A small run file in the working directory."""

from pathlib import Path

import pytest

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
