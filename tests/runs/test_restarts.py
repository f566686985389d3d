"""Agents that are killed at any moment and started again: the run is that of nobody disturbed."""

import json
import os
import random
import signal
import threading
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest

from posse.durable.capture import Capture
from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.errors import RunFailed
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from tests.support.golden import FILE, write_logs
from tests.support.patience import PATIENCE
from tests.support.runs import assert_same_run, beside, refused, spec

CASES: dict[str, Any] = {
    name: case["run"] for name, case in json.loads(FILE.read_text())["cases"].items()
}
SMALLER: dict[str, Any] = {
    "central": {"arms": {"kind": "bernoulli", "means": [0.9, 0.1]}, "agents": {"count": 4}},
    "explore-then-commit": {
        "parameters": {"horizon": 400, "group_size": 3},
        "agents": {"count": 10},
    },
    "anonymous": {"parameters": {"horizon": 600, "group_size": 3}, "agents": {"count": 10}},
}
QUICK = [
    ("mase", "tcp"),
    ("ddp-mab", "tcp"),
    ("private-ucb", "ipc"),
]
"""With real processes, each kind of link over one transport."""


def plan_of(system: str, transport: str, restarts: int = 5) -> Plan:
    raw = CASES[system] | SMALLER.get(system, {})
    return prepare(
        raw | {"engine": {"transport": transport, "restarts": restarts, "deadline": PATIENCE}}
    )


def undisturbed_part(record: RunRecord) -> dict[str, Any]:
    """The document without what a clock measured, and what killing itself causes."""
    document = record.document() | {"refused": refused(record)}
    for name in ("elapsed_seconds", "resources", "delay", "restarts"):
        document.pop(name, None)
    traffic = document["communication"]
    del traffic["control"], traffic["socket_bytes"]
    return document


def killer(engine: ProcessEngine, rank: int, path: Path, size: int) -> AbstractContextManager[None]:
    """Kills an agent when the capture has so many bytes."""

    def watch(over: threading.Event) -> None:
        while path.stat().st_size < size:
            if over.wait(0.0005):
                return
        with suppress(ProcessLookupError, KeyError):
            os.kill(engine.pids()[rank], signal.SIGKILL)

    return beside(watch)


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_logs(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "transport"), QUICK)
def test_a_killed_agent_goes_on(system: str, transport: str, tmp_path: Path) -> None:
    """At two moments; the simulator kills agents of every system at any event."""
    plan, path, chance = plan_of(system, transport), tmp_path / "frames", random.Random(1)
    expected = memory.run(plan, 0)
    capture = Capture(path, new=True)
    try:
        with ProcessEngine(plan, capture=capture) as engine:
            before = path.stat().st_size
            engine.run(plan, 0)
            size = path.stat().st_size - before
            for _ in range(2):
                before = path.stat().st_size
                rank = chance.randrange(plan.spec.agents.count)
                with killer(engine, rank, path, before + int(size * chance.random())):
                    record = engine.run(plan, 0)
                assert_same_run(expected, record)
                assert undisturbed_part(record) == undisturbed_part(expected)
    finally:
        capture.close()


def test_who_is_killed_too_often_ends_the_run() -> None:
    plan = spec("mase", 6, engine={"restarts": 1, "deadline": 20.0, "on_missing": "end"})
    with ProcessEngine(plan) as engine:

        def observe(host: object) -> None:
            with suppress(ProcessLookupError, KeyError):
                os.kill(engine.pids()[2], signal.SIGKILL)

        with pytest.raises(RunFailed, match="agent 2 was killed by SIGKILL"):
            engine.run(plan, 0, observe)


def test_the_result_says_how_often_who_was_started_again() -> None:
    arms = {"kind": "bernoulli", "means": [0.9, 0.1]}
    plan = spec("central", 3, arms=arms, engine={"restarts": 1, "deadline": 20.0})
    killed: list[int] = []
    with ProcessEngine(plan) as engine:

        def observe(host: object) -> None:
            if not killed:
                killed.append(engine.pids()[1])
                os.kill(killed[0], signal.SIGKILL)

        assert engine.run(plan, 0, observe).restarts == {1: 1}
        assert engine.run(plan, 1).restarts == {}
