"""posse agent: which rank it asks for."""

import json
import sys
from pathlib import Path

import pytest

from posse.cli.agent import find_rank
from posse.errors import PosseError
from posse.security import noise
from tests.cli.conftest import Posse

needs_noise = pytest.mark.skipif(
    not noise.is_here(), reason="python-dp is not installed (extra: field)"
)

JOIN = ("agent", "--join", "tcp://127.0.0.1:1", "--wait", "0.2")
"""Nobody is there to join: who goes on to that says so after the wait, with exit code 3."""

FIELD = """
system = "dp-mase"
mode = "field"
agents.count = 8
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 2 }
parameters.epsilon = 0.5
"""


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


@needs_noise
def test_a_log_that_is_not_there_is_told_before_joining(run: Path, posse: Posse) -> None:
    log = run.with_name("rewards-0.csv")
    log.write_text("arm,reward\n0,1\n1,0\n")
    refused = posse(*JOIN, "--run", run, "--rank", "1", code=2).err
    assert "arms.path: " in refused
    assert "rewards-1.csv does not exist" in refused
    posse(*JOIN, "--run", run, "--rank", "0", code=3)
    # this machine's own log takes the place of the run file's
    posse(*JOIN, "--run", run, "--rank", "1", "--data", log, code=3)


@pytest.mark.parametrize("variable", ["SLURM_PROCID", "JOB_COMPLETION_INDEX"])
def test_a_rank_that_no_option_gave_names_its_variable(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    posse("keys", tmp_path, "--rank", "3")
    monkeypatch.setenv(variable, "0")
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    refused = posse(*JOIN, "--keys", tmp_path, code=2).err
    why = f"rank 0 is from the variable {variable}"
    assert f"{why}\n" in refused
    assert f"give the key folder of agent-0 ({why}; give --rank for another)\n" in refused
    assert variable not in posse(*JOIN, "--keys", tmp_path, "--rank", "0", code=2).err


@pytest.mark.parametrize("given", [False, True])
def test_a_mistake_in_a_log_is_told_before_joining(given: bool, run: Path, posse: Posse) -> None:
    """Later the run, which needs all to begin, would end for the others too."""
    log = run.with_name("mine.csv" if given else "rewards-3.csv")
    log.write_text("arm,reward\n0,1\n2,0\n")
    data = ["--data", log] if given else []
    refused = posse(*JOIN, "--run", run, "--rank", "3", *data, code=2).err
    assert (
        f"agent 3: {log}, line 3: needs an arm from 0 to 1, and has '2' in the column 'arm'"
        in refused
    )


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


@needs_noise
def test_data_alone_beside_a_ledger_of_persons_needs_their_column(
    tmp_path: Path, posse: Posse
) -> None:
    log = tmp_path / "rewards-0.csv"
    log.write_text("arm,reward,who\n0,1,eva\n1,0,ben\n")
    (tmp_path / "persons.ledger").touch()
    join = [*JOIN, "--rank", "0"]
    posse(*join, "--data", log, "--person", "who", code=3)
    for given, said in (
        (["--data", log], "name their column by --person, or in [privacy]"),
        (["--data", log, "--person", "arm"], "must be a column besides arm and reward"),
        (["--person", "who"], "--person is for --data without --run"),
    ):
        assert said in posse(*join, *given, code=2).err


@needs_noise
@pytest.mark.parametrize(
    "arms", ['kind = "csv", path = "rewards-{rank}.csv"', 'kind = "python", target = "mine:ARMS"']
)
def test_real_rewards_that_go_by_a_rank_need_one_of_the_agents_own(
    arms: str, run: Path, posse: Posse
) -> None:
    """Without keys the coordinator chooses it: it could ask for rewards again under another."""
    log = run.with_name("mine.csv")
    log.write_text("arm,reward\n0,1\n1,0\n")
    run.write_text(FIELD.replace('kind = "csv", path = "rewards-{rank}.csv"', arms))
    refused = posse(*JOIN, "--run", run, code=2).err
    assert "--rank is missing, and this agent's real rewards depend on it" in refused
    if "csv" in arms:
        posse(*JOIN, "--run", run, "--data", log, code=3)
    posse(*JOIN, "--run", run, "--set", "mode=lab", code=3)


@pytest.mark.parametrize(
    "words", ["agent --join nonsense", "coordinator absent.toml --bind tcp://127.0.0.1:0"]
)
def test_wrong_input_is_told_as_the_log_is(words: str, posse: Posse) -> None:
    out, err = posse(*words.split(), "--log", "json", code=2)
    (line,) = err.splitlines()
    assert (out, json.loads(line)["level"]) == ("", "error")


@pytest.mark.parametrize(
    ("given", "trouble"),
    [
        ("tcp://name.example:7101", "is not tcp://ADDRESS:PORT with an IPv4 address"),
        ("tcp://203.0.113.5:7101", "needs --inbox tcp://ADDRESS:PORT, the address on this machine"),
    ],
)
def test_an_address_that_neighbours_could_not_use_is_told_before_joining(
    given: str, trouble: str, posse: Posse
) -> None:
    refused = posse(*JOIN, "--advertise", given, code=2).err
    assert f"--advertise {given}" in refused
    assert trouble in refused
