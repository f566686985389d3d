"""posse run: a table, a directory, or one document."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from posse.plan import prepare
from posse.spec.runfile import read
from tests.cli.conftest import Posse
from tests.support.patience import PATIENCE


def test_run_prints_a_table_and_leaves_a_directory(run_file: Path, posse: Posse) -> None:
    out = posse("run", run_file).out
    for word in (
        "done",
        "Arm 0 is the best, say all 2 runs",
        "on the wire",
        "ε = 0.5",
        "written to",
    ):
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


@pytest.mark.slow
def test_the_resolved_specification_runs_again_alike(run_file: Path, posse: Posse) -> None:
    posse("run", run_file, "--out", "first")
    posse("run", "first/spec.toml", "--out", "second")
    first, second = (json.loads(Path(d, "result.json").read_text()) for d in ("first", "second"))
    assert [run["log"] for run in first["runs"]] == [run["log"] for run in second["runs"]]
    assert prepare(read("first/spec.toml")) == prepare(read("second/spec.toml"))


@pytest.mark.slow
def test_json_is_one_document_and_nothing_else(run_file: Path, posse: Posse) -> None:
    out = posse(
        "run", run_file, "--json", "--repeat", "3", "--seed", "9"
    ).out  # after 5 s the other stream says how far it is
    document = json.loads(out)
    assert {"system", "variant", "engine", "seed", "runs", "summary"} <= set(document)
    assert (document["seed"], len(document["runs"])) == (9, 3)
    run = document["runs"][0]
    for key in ("status", "best_arm", "rounds", "slots", "pulls", "regret"):
        assert key in run
    assert {"rounds", "links", "cost", "data", "control"} <= set(run["communication"])
    assert {"messages", "payload_bytes", "frame_bytes"} <= set(run["communication"]["data"])


TALKING = """
import subprocess
print("imported")

class Arms:
    def __init__(self, agent, agents, seed):
        subprocess.run(["echo", "said by a child"])

    def pull(self, arm, count):
        print("pulled", arm)
        return [1.0 - arm / 2] * count
"""


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "jobs"), [("memory", "1"), ("memory", "2"), ("processes", "1")])
def test_json_is_nothing_else_whatever_the_users_code_prints(
    run_file: Path, engine: str, jobs: str
) -> None:
    Path("talking.py").write_text(TALKING)
    arms = 'arms={kind="python",target="talking:Arms",count=3}'
    more = ["--json", "--repeat", "2", "--engine", engine, "--jobs", jobs]
    command = [sys.executable, "-P", "-m", "posse", "run", str(run_file), "--set", arms, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert len(json.loads(done.stdout)["runs"]) == 2
    assert "imported\n" in done.stderr
    assert "said by a child\n" in done.stderr
    assert "pulled 0\n" in done.stderr


@pytest.mark.slow
def test_arms_that_raise_are_named_and_the_directory_says_so(run_file: Path, posse: Posse) -> None:
    Path("burning.py").write_text(
        "class Arms:\n    def pull(self, arm, count):\n        raise OSError('disk on fire')\n"
        "arms = Arms()\n"
    )
    arms = 'arms={kind="python",target="burning:arms",count=3}'
    for engine in ("memory", "processes"):
        command = ["run", str(run_file), "--set", arms, "--engine", engine, "--out", engine]
        err = posse(*command, code=3).err
        assert "arm 0, call 1: burning:arms.pull(0," in err
        assert "raised OSError: disk on fire" in err
        assert "disk on fire" in json.loads(Path(engine, "failure.json").read_text())["error"]
