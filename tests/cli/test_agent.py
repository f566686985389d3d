"""posse agent: which rank it asks for."""

import json
from pathlib import Path

import pytest

from posse.cli.agent import rank_of
from posse.cli.main import main
from posse.errors import PosseError

FIELD = """
system = "dp-mase"
mode = "field"
agents.count = 8
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 2 }
parameters.epsilon = 0.5
"""


@pytest.mark.parametrize("name", ["JOB_COMPLETION_INDEX", "SLURM_PROCID"])
def test_the_rank_comes_from_whoever_starts_many(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "5")
    assert rank_of("auto") == 5
    assert rank_of("3") == 3
    monkeypatch.setenv(name, "five")
    with pytest.raises(PosseError, match=f"{name} five: must be a number"):
        rank_of("auto")
    monkeypatch.delenv(name)
    assert rank_of("auto") == -1


@pytest.mark.parametrize(
    "wrong",
    [
        ["agent", "--join", "tcp://127.0.0.1:1", "--keys", "absent"],
        ["agent", "--join", "nonsense"],
        ["agent", "--join", "tcp://127.0.0.1:1", "--rank", "x"],
        ["coordinator", "absent.toml", "--bind", "tcp://127.0.0.1:0"],
        ["coordinator", "run.toml", "--bind", "nonsense"],
    ],
)
def test_wrong_input_is_told_as_the_log_is(
    wrong: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(FIELD.replace("field", "lab"))
    assert main([*wrong, "--log", "json"]) == 2
    out, err = capsys.readouterr()
    (line,) = [json.loads(line) for line in err.splitlines()]
    assert (out, line["level"]) == ("", "error")
