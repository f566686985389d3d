"""A package offers a system, arms and a topology by names, which a run file then says."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.packages import offer
from tests.support.runs import printed

OTHERS = """
from dataclasses import dataclass

from posse.extend import (
    AgentRole, Finish, Mesh, Message, Network, Parameters, Pull, Pulled, Received, Send, Started,
    System, Wiring, along, unprotected,
)


class OthersBest(Message, frozen=True):
    arm: int


@dataclass
class Voter:
    arms: int
    neighbours: tuple
    heard: int = 0
    best: int | None = None

    def handle(self, event, now):
        match event:
            case Started():
                return [Pull(tuple(range(self.arms)), 40)]
            case Pulled(_, _, sums):
                self.best = int(sums.argmax())
                said = [Send(n, OthersBest(self.best)) for n in self.neighbours]
                return [*said, *self.done()]
            case Received():
                self.heard += 1
                return self.done()

    def done(self):
        ready = self.best is not None and self.heard == len(self.neighbours)
        return [Finish("done", self.best)] if ready else []


def make(context):
    return Voter(context.arms, context.neighbours)


def network(spec, parameters, run):
    return along(spec.graph(run))


SYSTEM = System(
    name="neighbourly", title="ask your neighbours", paper="none", parameters=Parameters,
    clocks=("slots",), shape=Mesh(AgentRole(make, (OthersBest,)), Wiring(network)),
    claim=unprotected("The best arm is said as it is."),
)


class Arms:
    def __init__(self, agent, agents, seed):
        self.calls = 0

    def pull(self, arm, count):
        return [0.9 if arm == 1 else 0.2] * count


def wheel(agents, seed):
    return [(0, n) for n in range(1, agents)]
"""

RUN = """
system = "neighbourly"

[agents]
count = 5

[arms]
kind = "python"
target = "ones"
count = 3
means = [0.2, 0.9, 0.2]

[topology]
kind = "python"
target = "wheel"
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "run.toml").write_text(RUN)
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "others.py").write_text(OTHERS)
    offered = {
        "posse.systems": {"neighbourly": "others:SYSTEM"},
        "posse.arms": {"ones": "others:Arms"},
        "posse.topologies": {"wheel": "others:wheel"},
    }
    offer(lib, offered)
    return tmp_path


def posse(package: Path, *arguments: str) -> str:
    root = str(Path(__file__).parents[2])
    env = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{package / 'lib'}"}
    return printed([sys.executable, "-P", "-m", "posse", *arguments], cwd=package, env=env)


def ran(package: Path, *more: str) -> Any:
    return json.loads(posse(package, "run", "run.toml", "--json", *more))["runs"][0]


@pytest.mark.slow
def test_a_run_file_says_them_by_name(package: Path) -> None:
    memory, processes = (ran(package, "--engine", kind) for kind in ("memory", "processes"))
    assert memory["answers"] == processes["answers"] == [1] * 5
    assert memory["network"]["edges"] == 4
    assert memory["regret"] == processes["regret"] == pytest.approx(5 * 40 * 2 * 0.7)
    assert memory["communication"]["data"] == processes["communication"]["data"]


@pytest.mark.slow
def test_the_list_and_the_check_know_them(package: Path) -> None:
    assert "neighbourly: ask your neighbours" in posse(package, "list", "neighbourly")
    assert "\n  neighbourly " in posse(package, "list", "systems")
    assert "neighbourly" in posse(package, "check", "run.toml", "--trust")
