"""The command line, as a user types it."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import posse
from posse.cli.main import VERBS, main
from posse.plan import prepare
from posse.spec.runfile import read

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


def test_run_prints_a_table_and_leaves_a_directory(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(run_file)]) == 0
    out = capsys.readouterr().out
    for word in ("found", "arm 0 in 2 of 2", "on the wire", "ε = 0.5", "written to"):
        assert word in out
    (directory,) = (run_file.parent / "runs").iterdir()
    result = json.loads((directory / "result.json").read_text())
    assert result["summary"]["rounds"]["n"] == 2
    names = {"spec.toml", "result.json", "runs.csv", "agents.csv", "links.csv", "regret.csv"}
    assert names <= {path.name for path in directory.iterdir()}
    with (directory / "votes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(run["log"]["votes"]) for run in result["runs"])
    with (directory / "links.csv").open() as file:
        links = [row for row in csv.DictReader(file) if row["plane"] == "0"]
    sent = sum(run["communication"]["data"]["messages"] for run in result["runs"])
    assert sum(int(row["messages"]) for row in links) == sent


def test_the_resolved_specification_runs_again_alike(run_file: Path) -> None:
    assert main(["run", str(run_file), "--out", "first"]) == 0
    assert main(["run", "first/spec.toml", "--out", "second"]) == 0
    first, second = (json.loads(Path(d, "result.json").read_text()) for d in ("first", "second"))
    assert [run["log"] for run in first["runs"]] == [run["log"] for run in second["runs"]]
    assert prepare(read("first/spec.toml")) == prepare(read("second/spec.toml"))


def test_json_is_one_document_and_nothing_else(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(run_file), "--json", "--repeat", "3", "--seed", "9"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert captured.err == ""
    assert {"system", "variant", "engine", "seed", "runs", "summary"} <= set(document)
    assert (document["seed"], len(document["runs"])) == (9, 3)
    run = document["runs"][0]
    for key in ("status", "best_arm", "rounds", "slots", "pulls", "regret"):
        assert key in run
    assert {"rounds", "links", "cost", "data", "control"} <= set(run["communication"])
    assert {"messages", "payload_bytes", "frame_bytes"} <= set(run["communication"]["data"])


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["run", "absent.toml"], 2, "absent.toml: cannot be read"),
        (["run", "ride.toml", "--set", "parameters.epsilon=-1"], 2, "parameters.epsilon: is -1"),
        (["check", "ride.toml", "--set", "agents.count=2"], 2, "agents.count: is 2"),
        (["list", "dp-mse"], 2, "did you mean 'dp-mase'"),
        (["coordinator", "ride.toml", "--bind", "tcp://0.0.0.0:0"], 2, "add --insecure"),
        (["agent", "--join", "tcp://10.0.0.1:7000"], 2, "add --insecure"),
        (["agent", "--join", "tcp://127.0.0.1:1", "--rank", "x"], 2, "--rank x"),
    ],
)
def test_mistakes_cost_one_sentence_and_their_exit_code(
    run_file: Path,
    arguments: list[str],
    code: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not (run_file.parent / "runs").exists()


def test_arms_that_raise_are_named_and_the_directory_says_so(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("burning.py").write_text(
        "class Arms:\n    def pull(self, arm, count):\n        raise OSError('disk on fire')\n"
        "arms = Arms()\n"
    )
    arms = 'arms={kind="python",target="burning:arms",count=3}'
    for engine in ("memory", "processes"):
        command = ["run", str(run_file), "--set", arms, "--engine", engine, "--out", "out"]
        assert main(command) == 3
        err = capsys.readouterr().err
        assert "arm 0, call 1: burning:arms.pull(0," in err
        assert "raised OSError: disk on fire" in err
        assert json.loads(Path("out/failure.json").read_text())["runs"] == []


def test_check_and_list_say_what_there_is(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(run_file)]) == 0
    assert "8 agents; 3 arms" in capsys.readouterr().out
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for word in ("dp-mase", "corrupted-elimination", "epsilon", "required", "gaussian", "csv"):
        assert word in out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom posse.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'zmq', 'msgspec', 'rich', 'networkx'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_coordinator_and_agents_started_by_hand(run_file: Path) -> None:
    posse = [sys.executable, "-P", "-m", "posse"]
    address = f"ipc://{run_file.parent}/hub"
    # agents first: they wait for their coordinator
    agents = [subprocess.Popen([*posse, "agent", "--join", address]) for _ in range(8)]
    coordinator = subprocess.run(
        [*posse, "coordinator", str(run_file), "--bind", address, "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert coordinator.returncode == 0, coordinator.stderr
    assert [run["best_arm"] for run in json.loads(coordinator.stdout)["runs"]] == [0, 0]
    assert [agent.wait(timeout=30) for agent in agents] == [0] * 8


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"posse {posse.__version__}\n"


def test_alone_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: posse")
    assert "sweep" in said


def without(*modules: str) -> str:
    """Code that makes these modules impossible to import."""
    return (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {modules}: raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from posse.cli.main import main\n"
    )


def test_the_papers_experiments_are_listed_without_what_draws_them() -> None:
    code = without("matplotlib", "jinja2") + "sys.exit(main(['paper']))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "rio-1 " in done.stdout


def test_every_verb_says_what_it_is() -> None:
    for verb in VERBS:
        module = verb.__name__.rpartition(".")[2]
        name = {"listing": "list"}.get(module, module)
        assert (verb.__doc__ or "").startswith(f"`posse {name}`: ")
