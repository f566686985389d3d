"""A defect in a user's code comes once, in a sentence that has its place."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import posse
from posse import defect
from posse.gates.shown import blamed
from tests.support.patience import PATIENCE
from tests.support.runs import spec

RUN = """
system = "mase"
agents.count = 8
[arms]
kind = "python"
target = "probes:Probe"
count = 2
"""
PROBES = """
class Probe:
    def __init__(self, agent, agents, seed):
        self.agent = agent

    def pull(self, arm, count):
        return helper(count, self.agent)


def helper(count, agent):
    return [count / 0]
"""


RIDE = """
system = "mase"
agents.count = 8
engine.plain = true
arms = { kind = "bernoulli", means = [0.9, 0.1] }
"""
ROOT = Path(__file__).parents[1]


def run(folder, engine, *more, **environment):
    command = ["posse", "run", "run.toml", "--engine", engine, "--out", "out", *more]
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "memory"])
def test_a_defect_of_the_users_arms_has_its_place(tmp_path, engine):
    (tmp_path / "run.toml").write_text(RUN)
    (tmp_path / "probes.py").write_text(PROBES)
    done = run(tmp_path, engine, "--quiet")  # a slow machine shows progress
    assert done.returncode == 3
    assert "raised ZeroDivisionError: division by zero (probes.py:11)\n" in done.stderr
    assert done.stderr.count("\n") == 1
    failure = json.loads((tmp_path / "out" / "failure.json").read_text())
    assert "probes.py:11" in failure["error"]


def _raised(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_the_place_is_the_innermost_line_of_the_users_own():
    error = _raised(lambda: np.zeros((2, 2)) @ np.zeros(3))
    assert defect.place(error).startswith("tests/test_defect.py:")
    assert "\n" not in defect.describe(ValueError("two\nlines"))
    assert defect.describe(ValueError("two\nlines")) == "ValueError: two lines"


class Mute(Exception):
    def __str__(self):
        raise KeyError("no text")


def test_an_error_whose_text_raises_is_said_by_its_name():
    assert defect.describe(Mute()) == "Mute: (its text raised another error)"


def test_what_a_compiled_library_calls_its_source_is_no_place():
    rng = np.random.default_rng(0)
    assert defect.place(_raised(lambda: rng.normal(0, -1))).startswith("tests/test_defect.py:")


TALKS = """
from posse.extend import (
    COORDINATOR, AgentRole, Broadcast, Finish, Message, MeshWithServer, Parameters, PeerFinished,
    Pull, Received, Send, ServerRole, Started, System, Wiring, along, unprotected,
)
print("imported")

class Talk(Message, frozen=True):
    pass

class Asked(Parameters, frozen=True, kw_only=True):
    def __post_init__(self):
        print("parameters")

class Agent:
    def handle(self, event, now):
        print("agent")
        if event == Started():
            return [Pull((0,), 1)]
        return [Send(COORDINATOR, Talk()), Finish("done", 0)]

class Probe:
    def __init__(self, agent, agents, seed):
        print("make arms")

    def pull(self, arm, count):
        print("pull")
        return [1.0] * count

class Server:
    done = 0

    def handle(self, event, now):
        print("server")
        self.done += isinstance(event, PeerFinished)
        return [Finish("done", 0)] if self.done == 3 else []

def told(what, answer):
    def hook(*given, **named):
        print(what)
        return answer(*given, **named)
    return hook

links = told("links", lambda agents, seed: [(n, n - 1) for n in range(1, agents)])
SYSTEM = System(
    name="talks", title="talks", paper="none", parameters=Asked, clocks=("slots",),
    shape=MeshWithServer(
        AgentRole(told("make agent", lambda context: Agent()), (Talk,)),
        Wiring(told("network", lambda spec, parameters, run: along(spec.graph(run)))),
        ServerRole(told("make server", lambda context: Server()), (Talk,)),
    ),
    claim=told("claim", unprotected("nothing")),
    check=told("check", lambda spec, parameters: None),
    advise=told("advise", lambda spec, parameters: []),
)
"""
TALKING = """
system = "talks:SYSTEM"
agents.count = 3
arms = { kind = "python", target = "talks:Probe", count = 2 }
topology = { kind = "python", target = "talks:links" }
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "memory"])
def test_what_the_users_code_prints_is_not_in_the_result(tmp_path, engine):
    (tmp_path / "run.toml").write_text(TALKING)
    (tmp_path / "talks.py").write_text(TALKS)
    done = run(tmp_path, engine, "--json")
    assert json.loads(done.stdout)["runs"][0]["status"] == "done"
    made = {"make agent", "make arms", "make server", "links", "network"}
    asked = {"parameters", "claim", "check", "advise"}
    said = {"imported", "agent", "pull", "server", *made, *asked}
    assert said <= {*done.stderr.splitlines()}


def test_a_defect_that_is_nowhere_in_the_users_code_has_the_innermost_line():
    error = _raised(lambda: json.loads("{"))
    while "json" not in error.__traceback__.tb_frame.f_code.co_filename:
        error.__traceback__ = error.__traceback__.tb_next
    assert defect.place(error) == ""
    assert re.search(r"json/decoder\.py:\d+\)\n", defect.report("agent 3", error))


BROKEN = """
import posse_systems.rio2023.agent

def handle(self, event, now):
    return [1 / 0]

posse_systems.rio2023.agent.MaseVoter.handle = handle
"""
"""Breaks every agent, as `sitecustomize`, which Python imports when it starts."""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "processes"])
def test_a_defect_of_every_agents_machine_comes_once_and_without_tracebacks(tmp_path, engine):
    (tmp_path / "run.toml").write_text(RIDE)
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    done = run(tmp_path, engine, "--quiet", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.returncode == 3
    assert re.fullmatch(
        r"posse: agent \d has a defect: ZeroDivisionError: division by zero "
        r"\(sitecustomize.py:5\); --verbose shows the traceback\n",
        done.stderr,
    )


def test_the_traceback_is_a_note_for_those_who_call_from_python(monkeypatch):
    def handle(self, event, now):
        return [1 / 0]

    monkeypatch.setattr("posse_systems.rio2023.agent.MaseVoter.handle", handle)
    with pytest.raises(posse.RunFailed, match="agent 0 has a defect: ZeroDivision") as caught:
        posse.run(spec("mase", engine={"plain": True}), engine="memory")
    (trace,) = caught.value.__notes__
    assert trace.endswith("ZeroDivisionError: division by zero")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_long_reason_leaves_the_sentence_and_the_end_of_the_traceback():
    told = defect.report("agent 3", _raised(lambda: dict[str, int]()["x" * 9_000]))
    assert len(told) < 4_000
    failed = posse.RunFailed.from_reason(blamed(3, told, "; agent 5 complained"))
    assert str(failed).endswith("; agent 5 complained")
    assert failed.__notes__[0].endswith("x'")


OWN = """
import dataclasses
import sys

from posse.system import get_system


def refuse(*_):
    {refuses}


OWN = dataclasses.replace(get_system("mase"), {field}=refuse)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "refuses", "said"),
    [
        ("check", "sys.exit(0)", "SystemExit: 0"),
        ("claim", "1 / 0", "ZeroDivisionError: division"),
    ],
)
def test_a_system_that_fails_before_anything_is_started_is_a_wrong_input(
    tmp_path, field, refuses, said
):
    (tmp_path / "run.toml").write_text(RIDE.replace("mase", "own:OWN"))
    (tmp_path / "own.py").write_text(OWN.format(field=field, refuses=refuses))
    done = run(tmp_path, "memory")
    assert done.returncode == 2
    assert f"system: 'own:OWN' cannot be used: {said}" in done.stderr
    assert "(own.py:9)" in done.stderr
