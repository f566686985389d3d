"""A system of the user's own goes wherever ours go; here it is what `posse new` writes."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import posse
from posse.cli.main import main
from tests.support.blocks import ROOT
from tests.support.dask import HERE, dask_cluster
from tests.support.packages import offer
from tests.support.patience import PATIENCE
from tests.support.runs import printed

POSSE = [sys.executable, "-P", "-m", "posse"]
COUNT = 3


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the user's own system, with a shorter run."""
    folder = tmp_path_factory.mktemp("own")
    assert main(["new", "owngreedy", "--out", str(folder)]) == 0
    run_file = folder / "run.toml"
    text = run_file.read_text()
    for long, short in (("repeat = 5", "repeat = 2"), ("count = 8", f"count = {COUNT}")):
        assert long in text
        text = text.replace(long, short)
    run_file.write_text(text)
    before = list(sys.path)
    yield folder
    sys.path[:] = before
    sys.modules.pop("owngreedy", None)


@pytest.fixture(scope="module")
def expected(own: Path) -> posse.Result:
    return posse.run(own / "run.toml", engine="memory")


def command(own: Path, *arguments: str) -> str:
    """What posse prints, started where the user's system is not."""
    return printed([*POSSE, *arguments], cwd=own.parent)


def outcomes(runs: list[Any]) -> list[tuple[Any, ...]]:
    return [(run["best_arm"], run["pulls"], run["regret"]) for run in runs]


def wanted(expected: posse.Result) -> list[tuple[Any, ...]]:
    return [(run.best_arm, run.pulls, run.regret) for run in expected.runs]


def test_in_a_cluster(own: Path, expected: posse.Result) -> None:
    async def twice() -> tuple[posse.Result, posse.Result]:
        async with posse.Cluster(own / "run.toml") as cluster:
            return await cluster.run(), await cluster.run(parameters={"explore": 4})

    result, other = asyncio.run(twice())
    assert [(run.best_arm, run.pulls) for run in result.runs] == [
        (run.best_arm, run.pulls) for run in expected.runs
    ]
    assert other.runs[0].pulls != result.runs[0].pulls


@pytest.mark.slow
def test_with_a_coordinator_and_agents_by_hand(own: Path, expected: posse.Result) -> None:
    run_file = str(own / "run.toml")
    address = f"ipc://{own}/hub"
    agents = [
        subprocess.Popen([*POSSE, "agent", "--join", address, "--run", run_file], cwd=own.parent)
        for _ in range(COUNT)
    ]
    said = command(own, "coordinator", run_file, "--bind", address, "--json")
    assert outcomes(json.loads(said)["runs"]) == wanted(expected)
    assert [agent.wait(timeout=PATIENCE) for agent in agents] == [0] * COUNT
    assert not (own / "hub").exists()


@pytest.mark.slow
def test_an_agent_takes_no_system_from_the_network(own: Path) -> None:
    address = f"ipc://{own}/other"
    alone = subprocess.Popen(
        [*POSSE, "agent", "--join", address], cwd=own, stderr=subprocess.PIPE, text=True
    )
    coordinator = subprocess.Popen(
        [*POSSE, "coordinator", str(own / "run.toml"), "--bind", address, "--json"],
        cwd=own.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _, said = alone.communicate(timeout=PATIENCE)
    finally:
        coordinator.terminate()
        coordinator.wait(timeout=PATIENCE)
    assert alone.returncode == 2
    assert "'owngreedy:SYSTEM' names code, which is not taken from the network" in said
    assert "start the agent with --run" in said


@pytest.mark.slow
def test_in_a_sweep_a_report_and_a_comparison(own: Path, tmp_path: Path) -> None:
    run_file = str(own / "run.toml")
    swept = [run_file, "--over", "parameters.explore=1,2", "--out", str(tmp_path / "swept")]
    points = json.loads(command(own, "sweep", *swept, "--json"))
    assert [point["at"] for point in points] == [
        {"parameters.explore": 1},
        {"parameters.explore": 2},
    ]
    for name in ("one", "two"):
        command(own, "run", run_file, "--engine", "memory", "--out", str(tmp_path / name))
    for what in ("swept", "one"):
        command(own, "report", str(tmp_path / what))
        assert "owngreedy" in (tmp_path / what / "report.html").read_text()
    command(own, "compare", str(tmp_path / "one"), str(tmp_path / "two"))
    assert "owngreedy" in (own.parent / "compare.html").read_text()


@pytest.mark.slow
def test_on_a_dask_cluster_whose_workers_never_saw_it(own: Path, tmp_path: Path) -> None:
    swept = ["sweep", str(own / "run.toml"), "--over", "parameters.explore=1,2", "--json"]
    with dask_cluster([HERE]) as cluster:
        there = command(own, *swept, "--on", cluster.on, "--out", str(tmp_path / "a"))
        ran = ["run", str(own / "run.toml"), "--json"]
        placed = command(own, *ran, "--on", cluster.on, "--out", str(tmp_path / "c"))
    alone = command(own, *ran, "--engine", "memory", "--out", str(tmp_path / "d"))
    for metric in ("regret", "data_messages"):
        assert json.loads(placed)["summary"][metric] == json.loads(alone)["summary"][metric]
    here = command(own, *swept, "--out", str(tmp_path / "b"))
    for one, other in zip(json.loads(there), json.loads(here), strict=True):
        assert one["summary"]["regret"] == other["summary"]["regret"]


OTHERS = """
class Ones:
    def __init__(self, agent, agents, seed): pass

    def pull(self, arm, count):
        return [0.9 if arm == 1 else 0.2] * count


def wheel(agents, seed):
    return [(0, n) for n in range(1, agents)]
"""

BY_NAME = """
system = "cooperative-ucb"
agents.count = 5
arms = { kind = "python", target = "ones", count = 3, means = [0.2, 0.9, 0.2] }
topology = { kind = "python", target = "wheel" }
parameters.horizon = 50
"""


@pytest.mark.slow
def test_a_package_offers_a_system_arms_and_a_topology_by_name(own: Path, tmp_path: Path) -> None:
    shutil.copy(own / "owngreedy.py", tmp_path)
    (tmp_path / "others.py").write_text(OTHERS)
    (tmp_path / "run.toml").write_text(BY_NAME)
    offered = {
        "posse.systems": {"greedy": "owngreedy:SYSTEM"},
        "posse.arms": {"ones": "others:Ones"},
        "posse.topologies": {"wheel": "others:wheel"},
    }
    offer(tmp_path, offered)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}

    def said(*arguments: str) -> str:
        return printed([*POSSE, *arguments], cwd=tmp_path, env=environment)

    for engine in ("memory", "processes"):
        (run,) = json.loads(said("run", "run.toml", "--json", "--engine", engine))["runs"]
        assert (run["best_arm"], run["network"]["edges"]) == (1, 4)
    named = said("run", str(own / "run.toml"), "--set", 'system="greedy"', "--json")
    assert len(json.loads(named)["runs"]) == 2
    assert "\n  greedy " in said("list", "systems")
