"""posse agent: which rank it asks for."""

import json
import sys
from pathlib import Path

import pytest

from posse.cli.agent import find_rank
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


def test_a_log_that_is_not_there_is_told_before_joining(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is there to join: who went on to that would say so after the wait, with code 3."""
    run = tmp_path / "run.toml"
    run.write_text(FIELD)
    (tmp_path / "rewards-0.csv").write_text("arm,reward\n0,1\n1,0\n")
    alone = ["agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2", "--run", str(run)]
    assert main([*alone, "--rank", "1"]) == 2
    assert "arms.path: " in (said := capsys.readouterr().err)
    assert "rewards-1.csv does not exist" in said
    assert main([*alone, "--rank", "0"]) != 2
    # this machine's own log takes the place of the run file's
    assert main([*alone, "--rank", "1", "--data", str(tmp_path / "rewards-0.csv")]) != 2


@pytest.mark.parametrize("variable", ["SLURM_PROCID", "JOB_COMPLETION_INDEX"])
def test_a_rank_that_no_option_gave_names_its_variable(
    variable: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["keys", str(tmp_path), "--rank", "3"]) == 0
    capsys.readouterr()
    monkeypatch.setenv(variable, "0")
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    alone = ["agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2", "--keys", str(tmp_path)]
    assert main(alone) == 2
    printed = capsys.readouterr().err
    assert f"rank 0 is from the variable {variable}\n" in printed
    assert (
        f"give the key folder of agent-0 (rank 0 is from the variable {variable}; give --rank for "
        "another)\n" in printed
    )
    assert main([*alone, "--rank", "0"]) == 2
    assert variable not in capsys.readouterr().err


@pytest.mark.parametrize("option", [False, True])
def test_a_mistake_in_a_log_is_told_before_joining(
    option: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Later the run, which needs all to begin, would end for the others too."""
    run = tmp_path / "run.toml"
    run.write_text(FIELD)
    log = tmp_path / ("mine.csv" if option else "rewards-3.csv")
    log.write_text("arm,reward\n0,1\n2,0\n")
    alone = ["agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2", "--run", str(run)]
    assert main([*alone, "--rank", "3", *(["--data", str(log)] if option else [])]) == 2
    said = f"agent 3: {log}, line 3: needs an arm from 0 to 1 and a finite reward"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--run", "--data"])
def test_noise_that_is_not_there_is_told_before_joining(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydp", None)
    run, log = tmp_path / "run.toml", tmp_path / "rewards-0.csv"
    run.write_text(FIELD)
    log.write_text("arm,reward\n0,1\n1,0\n")
    given = [option, str(run if option == "--run" else log)]
    alone = ["agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2", "--rank", "0", *given]
    assert main(alone) == 1
    assert 'pip install "posse-bandits[field]"' in capsys.readouterr().err
    assert main([*alone, "--lab", *(["--set", "mode=lab"] if option == "--run" else [])]) == 3
    assert "no coordinator answered" in capsys.readouterr().err


def test_data_alone_beside_a_ledger_of_persons_needs_their_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "rewards-0.csv"
    log.write_text("arm,reward,who\n0,1,eva\n1,0,ben\n")
    (tmp_path / "persons.ledger").touch()
    alone = ["agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2", "--rank", "0"]
    assert main([*alone, "--data", str(log)]) == 2
    assert "name their column by --person, or in [privacy]" in capsys.readouterr().err
    assert main([*alone, "--data", str(log), "--person", "who"]) == 3
    assert main([*alone, "--data", str(log), "--person", "arm"]) == 2
    assert "must be a column besides arm and reward" in capsys.readouterr().err
    assert main([*alone, "--person", "who"]) == 2
    assert "--person is for --data without --run" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arms", ['kind = "csv", path = "rewards-{rank}.csv"', 'kind = "python", target = "mine:ARMS"']
)
def test_real_rewards_that_go_by_a_rank_need_one_of_the_agents_own(
    arms: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without keys the coordinator chooses it: it could ask for rewards again under another."""
    run, log = tmp_path / "run.toml", tmp_path / "mine.csv"
    log.write_text("arm,reward\n0,1\n1,0\n")
    run.write_text(FIELD.replace('kind = "csv", path = "rewards-{rank}.csv"', arms))
    alone = ["agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2", "--run", str(run)]
    assert main(alone) == 2
    assert (
        "--rank is missing, and this agent's real rewards depend on it" in capsys.readouterr().err
    )
    if "csv" in arms:
        assert main([*alone, "--data", str(log)]) != 2
    assert main([*alone, "--set", "mode=lab"]) != 2


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
