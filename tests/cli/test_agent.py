"""posse agent: which rank it asks for."""

import json
import sys
from pathlib import Path

import pytest

from posse.cli.agent import find_rank
from posse.errors import PosseError
from tests.cli.conftest import Posse
from tests.support.runfile import FIELD

JOIN = ("agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2")
"""Nobody is there to join: who goes on to that says so after the wait, with exit code 3."""


@pytest.mark.parametrize("name", ["JOB_COMPLETION_INDEX", "SLURM_PROCID"])
def test_the_rank_comes_from_whoever_starts_many(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "5")
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    assert find_rank("auto") == (5, name)
    assert find_rank("3") == (3, "")
    for wrong in ("five", "100000", "3000000000", "9" * 5000):
        monkeypatch.setenv(name, wrong)
        said = f"{name} {wrong[:60]}: must be a number from 0 to 99999, or auto"
        with pytest.raises(PosseError, match=said):
            find_rank("auto")
        with pytest.raises(PosseError, match=f"--rank {wrong[:60]}: must be a number"):
            find_rank(wrong)
    assert find_rank("99999") == (99_999, "")
    monkeypatch.delenv(name)
    assert find_rank("auto") == (-1, "")


@pytest.mark.parametrize(
    "place", [{}, {"SLURM_STEP_ID": "4294967290"}, {"SLURM_STEP_ID": "0", "SLURM_PTY_PORT": "1"}]
)
def test_a_shell_on_a_node_of_slurm_is_no_agent(
    place: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch scripts, interactive shells and srun --pty have SLURM_PROCID, too."""
    for name, value in {"SLURM_PROCID": "0", **place}.items():
        monkeypatch.setenv(name, value)
    assert find_rank("auto") == (-1, "")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run file of the field."""
    path = tmp_path / "run.toml"
    path.write_text(FIELD)
    return path


@pytest.mark.parametrize("option", ["--run", "--data"])
def test_noise_that_is_not_there_is_told_before_joining(
    option: str, run: Path, posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("pydp", "opendp"):
        monkeypatch.setitem(sys.modules, library, None)
    log = run.with_name("rewards-0.csv")
    log.write_text("arm,reward\n0,1\n1,0\n")
    join = [*JOIN, "--rank", "0", option, run if option == "--run" else log]
    assert 'pip install "posse-bandits[field]"' in posse(*join, code=1).err
    lab = ["--set", "mode=lab"] if option == "--run" else []
    assert "no coordinator answered" in posse(*join, "--lab", *lab, code=3).err


@pytest.mark.parametrize(
    "words", ["agent --join nonsense", "coordinator absent.toml --bind tcp://127.0.0.1:0"]
)
def test_wrong_input_is_told_as_the_log_is(words: str, posse: Posse) -> None:
    out, err = posse(*words.split(), "--log", "json", code=2)
    (line,) = err.splitlines()
    assert (out, json.loads(line)["level"]) == ("", "error")
