"""Systems of scripts in whole runs: as machines, in both engines, killed, under faults."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import posse
from posse.cli.new import text
from posse.errors import RunFailed
from posse.script import Parameters, Script, system
from posse.system.shapes import Alone, Mesh, MeshWithServer, Star
from posse.testing import simulate

OTHERS = """
from posse.script import *

class Told(Message):
    round: int
    rewards: PerArm

class Go(Message):
    arm: Arm

class Settings(Parameters):
    rounds: Positive = 4
    last: int = 30
    silent: bool = False

def gossip(me):
    total = 0.0
    for number in range(me.parameters.rounds):
        rewards = yield Pull(range(me.arms), 1)
        yield Broadcast(Told(number, rewards))
        heard = yield FromAll(Told, round=number)
        total += sum(sum(told.rewards) * (n + 1) for n, told in heard.items())
    return int(total) % me.arms

def leaving(me):
    # at other slots than its neighbours, and gone before them
    for number in range(me.parameters.rounds + 3 * me.rank):
        yield Pull(range(me.arms), 1 + 5 * (me.rank % 3))
        yield Broadcast(Told(number, [0.0] * me.arms))
        yield FromAll(Told, round=number)
    return 1

def sender(me):
    rewards = yield Pull(range(me.arms), 1)
    yield Send(COORDINATOR, Told(0, rewards))
    yield Pull([1], me.parameters.last + me.rank)
    return 1

def hasty(me):
    yield FromAll(Told)
    if me.parameters.silent:
        yield Told
    yield Finish("identified", 0)

def longer(me):
    yield Pull([0], 1)
    if me.rank == 1:
        yield Told
    return 0

more = {"to_agents": (Told, Go), "claim": "All is told."}
GOSSIP = system("gossip", gossip, None, Settings, neighbours=True, **more)
LEAVING = system("leaving", leaving, None, Settings, neighbours=True, **more)
LONGER = system("longer", longer, None, Settings, neighbours=True, **more)
HASTY = system("hasty", sender, hasty, Settings, to_server=(Told,), **more)
"""

EXAMPLES = Path(__file__).parents[1] / "examples" / "scripts"

RUN: dict[str, Any] = {
    "seed": 3,
    "repeat": 2,
    "agents": {"count": 4},
    "arms": {"kind": "bernoulli", "means": [0.8, 0.5, 0.3]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("scripts")
    for source, name in (("script.py", "asscript"), ("system.py", "asmachines")):
        (made / f"{name}.py").write_text(text(source, name))
    (made / "asothers.py").write_text(OTHERS)
    before = list(sys.path)
    yield made
    sys.path[:] = before
    for name in ("asscript", "asmachines", "asothers"):
        sys.modules.pop(name, None)


def ran(folder: Path, name: str, engine: Any = "memory", **keys: Any) -> list[Any]:
    runs = posse.run({**RUN, "system": name, "path": [str(folder)], **keys}, engine=engine).runs
    return [(r.best_arm, r.answers, r.pulls, r.status, r.regret_curve) for r in runs]


def test_the_script_and_the_machines_of_the_guide_are_one_algorithm(folder: Path) -> None:
    parameters = {"rounds": 6, "explore": 2}
    script = ran(folder, "asscript:SYSTEM", parameters=parameters)
    machines = ran(folder, "asmachines:SYSTEM", parameters=parameters)
    assert [run[4] for run in script] == [run[4] for run in machines]
    assert [run[:3] for run in script] == [run[:3] for run in machines]


@pytest.mark.parametrize("name", ["GOSSIP", "HASTY"])
def test_both_engines_give_the_same_runs(folder: Path, name: str) -> None:
    keys: Any = {"topology": {"kind": "ring"}} if name == "GOSSIP" else {}
    expected = ran(folder, f"asothers:{name}", **keys)
    assert ran(folder, f"asothers:{name}", "processes", **keys) == expected
    # a server that is done early waits until its agents are: else they would come to where they are
    pulls = [12] * 4 if name == "GOSSIP" else [33 + n for n in range(4)]
    assert [sum(pulls)] * 2 == [run[2] for run in expected]


@pytest.mark.slow
def test_who_is_ahead_or_has_ended_holds_nobody_up(folder: Path) -> None:
    keys: Any = {"topology": {"kind": "ring"}, "agents": {"count": 6}}
    expected = ran(folder, "asothers:LEAVING", **keys)
    assert ran(folder, "asothers:LEAVING", "processes", **keys) == expected
    pulls = [3 * (1 + 5 * (n % 3)) * (4 + 3 * n) for n in range(6)]
    assert [run[2] for run in expected] == [sum(pulls)] * 2


@pytest.mark.parametrize("engine", ["memory", "processes"])
def test_a_server_that_waits_for_nobody_is_named(folder: Path, engine: str) -> None:
    with pytest.raises(RunFailed, match=r"waits for One\(Told\), but nobody is left"):
        ran(folder, "asothers:HASTY", engine, parameters={"silent": True})


def test_cdp_mab_as_a_script_is_cdp_mab() -> None:
    keys: dict[str, Any] = {
        "parameters": {"horizon": 20_000, "epsilon": 0.5},
        "agents": {"count": 6},
    }
    script = ran(EXAMPLES, "cdp_mab:SYSTEM", **keys)
    assert script == ran(EXAMPLES, "cdp-mab", **keys)
    # a horizon that cuts a round short, before the first decision and after it
    for horizon in (50, 3_000):
        keys["parameters"]["horizon"] = horizon
        cut, ours = (ran(EXAMPLES, name, **keys) for name in ("cdp_mab:SYSTEM", "cdp-mab"))
        assert [run[2:] for run in cut] == [run[2:] for run in ours]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb", "gossip", "mase"])
def test_the_examples_find_the_best_arm_in_both_engines(name: str) -> None:
    keys: dict[str, Any] = {"topology": {"kind": "ring"}} if name == "gossip" else {}
    if name == "mase":  # an arm leaves by five votes
        keys = {"agents": {"count": 8}}
    memory = ran(EXAMPLES, f"{name}:SYSTEM", **keys)
    assert [run[0] for run in memory] == [0, 0]
    assert ran(EXAMPLES, f"{name}:SYSTEM", "processes", **keys) == memory


def test_what_is_given_decides_the_shape() -> None:
    def agent(me: Any) -> Script:
        yield None

    def made(*server: Any, neighbours: bool = False) -> type:
        return type(system("x", agent, *server, neighbours=neighbours, claim="none").shape)

    assert (made(), made(agent)) == (Alone, Star)
    assert (made(neighbours=True), made(agent, neighbours=True)) == (Mesh, MeshWithServer)
    assert system("x", agent, claim="none").parameters is Parameters


@pytest.mark.parametrize("engine", ["memory", "processes"])
def test_an_agent_that_waits_for_neighbours_that_have_ended_is_named(
    folder: Path, engine: str
) -> None:
    with pytest.raises(RunFailed, match=r"agent 1's script waits for One\(Told\), but nobody"):
        ran(folder, "asothers:LONGER", engine, topology={"kind": "ring"})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asscript:SYSTEM", "asothers:GOSSIP", "mase:SYSTEM"])
def test_kills_and_faults_change_nothing(folder: Path, name: str) -> None:
    path = [str(EXAMPLES if name.startswith("mase") else folder)]
    keys: Any = {"topology": {"kind": "ring"}} if name == "asothers:GOSSIP" else {}
    keys |= {"agents": {"count": 8}} if name.startswith("mase") else {"parameters": {"rounds": 4}}
    spec = {**RUN, "system": name, "path": path, **keys}
    trials = list(simulate(spec, seeds=range(100)))
    assert [trial.command for trial in trials if trial.violations] == []
    assert sum(fault.what == "kill" for trial in trials for fault in trial.faults) > 5
