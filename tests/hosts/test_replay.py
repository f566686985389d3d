"""A host follows from its inputs: played again, they give the same frames, byte for byte."""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.hosts.agent import AgentHost
from posse.hosts.coordinator import CoordinatorHost
from posse.hosts.sources import Sources
from posse.plan import Plan
from tests.support.golden import write_logs
from tests.support.runs import spec

Log = list[Any]


def logged(call: Callable[..., Any], log: Log) -> Callable[..., Any]:
    """The call, whose answers are written down."""

    def ask(*given: Any) -> Any:
        log.append(call(*given))
        return log[-1]

    return ask


KINDS = ("binary",)
"""What is no answer: how rewards may be kept, which changes none."""


class Logged:
    """An object whose methods' answers are written down; what they give is an object of numbers."""

    def __init__(self, asked: Any, log: Log) -> None:
        self._asked, self._log = asked, log

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._asked, name)
        if name in KINDS:
            return found
        if callable(found):
            return logged(found, self._log)
        self._log.append(found)
        return found


class Replayed:
    """Stands for whatever was written down."""

    def __init__(self, log: Log) -> None:
        self._answers = log

    def __getattr__(self, name: str) -> Any:
        if name in KINDS:
            raise AttributeError(name)
        if name == "simulated":
            return self._answers.pop(0)
        return lambda *given: self._answers.pop(0)


def recording(real: Sources, log: Log) -> Sources:
    return dataclasses.replace(
        real,
        clock=logged(real.clock, log),
        stamp=logged(real.stamp, log),
        randbits=logged(real.randbits, log),
        noise=lambda: Logged(real.noise(), log),
        arms=lambda arms, context: Logged(real.arms(arms, context), log),
    )


def replaying(log: Log) -> Sources:
    def answer(*given: Any) -> Any:
        return log.pop(0)

    return Sources(
        clock=answer,
        stamp=answer,
        randbits=answer,
        noise=lambda: Replayed(log),
        arms=lambda arms, context: Replayed(log),
    )


INPUTS = ("begin", "receive", "hear", "step", "fire")


class Witness:
    """A host that an engine uses, whose inputs, answers and frames are written down."""

    def __init__(
        self, kind: Callable[..., Any], first: tuple[Any, ...], real: Sources, *rest: Any
    ) -> None:
        self.kind, self.first, self.rest = kind, first, rest
        self.answers: Log = []
        self.inputs: list[tuple[str, tuple[Any, ...]]] = []
        self.frames: list[tuple[int, bytes]] = []
        self._host = kind(*first, recording(real, self.answers), *rest)
        self.frames += self._host.outbox

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._host, name)
        if name not in INPUTS:
            return found

        def take(*given: Any) -> None:
            self.inputs.append((name, given))
            before = len(self._host.outbox)
            found(*given)
            self.frames.extend(self._host.outbox[before:])

        return take

    def again(self) -> list[tuple[int, bytes]]:
        """The frames of another host that is given the same."""
        answers = self.answers.copy()
        host = self.kind(*self.first, replaying(answers), *self.rest)
        for name, given in self.inputs:
            getattr(host, name)(*given)
        assert answers == []
        return host.outbox


RUNS: dict[str, dict[str, Any]] = {
    "mase, virtual": {"system": "mase", "agents": 8},
    "dp-mase, wall": {"system": "dp-mase", "agents": 8, "engine": {"clock": "wall"}},
    "corrupted-elimination, virtual": {"system": "corrupted-elimination", "agents": 16},
    "byzantine-ucb, slots": {
        "system": "byzantine-ucb",
        "agents": 4,
        "topology": {"kind": "ring"},
        "parameters": {"horizon": 30, "contamination": {"rate": 0.1}},
    },
    "tdfs-private, slots": {
        "system": "tdfs-private",
        "agents": 3,
        "parameters": {"horizon": 50, "epsilon": 1.0},
    },
    "anonymous, slots": {"system": "anonymous", "agents": 10, "parameters": {"horizon": 500}},
    "hdp-mab, slots": {
        "system": "hdp-mab",
        "agents": 5,
        "topology": {"kind": "ring"},
        "parameters": {"horizon": 2_000, "epsilon": 1.0},
    },
}
FIELD: dict[str, dict[str, Any]] = {
    "dp-mase": {"agents": 8, "parameters": {"epsilon": 1.0}},
    "tdfs-ucb": {"agents": 3, "parameters": {"horizon": 50}},
    "anonymous": {"agents": 10, "parameters": {"horizon": 500}},
    "cdp-mab": {"agents": 4, "parameters": {"horizon": 1_000, "epsilon": 1.0}},
}


def check(run: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    witnesses: list[Witness] = []

    def witness(kind: type, at: int) -> type:
        class Made(Witness):
            def __init__(self, *given: Any, **named: Any) -> None:
                super().__init__(partial(kind, **named), given[:at], given[at], *given[at + 1 :])
                witnesses.append(self)

        return Made

    monkeypatch.setattr(memory, "AgentHost", witness(AgentHost, 2))
    monkeypatch.setattr(memory, "CoordinatorHost", witness(CoordinatorHost, 3))
    memory.run(run, 0, tap=lambda *frame: None)  # so that all that is sent is a frame
    assert len(witnesses) == 1 + run.spec.agents.count
    for one in witnesses:
        assert one.again() == one.frames
        assert len(one.frames) > 2


@pytest.mark.inside
@pytest.mark.parametrize("name", RUNS)
def test_a_host_of_the_lab_follows_from_its_inputs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = dict(RUNS[name])
    check(spec(changes.pop("system"), changes.pop("agents"), **changes), monkeypatch)


@pytest.mark.inside
@pytest.mark.parametrize("system", FIELD)
def test_a_host_of_the_field_follows_from_its_inputs(
    system: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changes = dict(FIELD[system])
    agents = changes.pop("agents")
    write_logs(tmp_path, agents, 2_000)
    path = "rewards-all.csv" if system == "tdfs-ucb" else "rewards-{rank}.csv"
    run = spec(
        system,
        agents,
        **{"parameters": {}, "seed": 0, "engine": {}}
        | changes
        | {
            "mode": "field",
            "base": str(tmp_path),
            "arms": {"kind": "csv", "path": path, "count": 4, "clip": [0, 1]},
        },
    )
    check(run, monkeypatch)
