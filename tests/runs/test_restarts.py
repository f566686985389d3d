"""Agents that are killed and started again: how often they may be, and what the result says."""

import json
import os
import signal
from contextlib import suppress
from typing import Any

import pytest

from posse.engines.processes import ProcessEngine
from posse.errors import RunFailed
from posse.results.record import RunRecord
from tests.support.golden import FILE
from tests.support.runs import after, refused, spec

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


def undisturbed_part(record: RunRecord) -> dict[str, Any]:
    """The document without what a clock measured, and what killing itself causes."""
    document = record.document() | {"refused": refused(record)}
    for name in ("elapsed_seconds", "resources", "delay", "restarts"):
        document.pop(name, None)
    traffic = document["communication"]
    del traffic["control"], traffic["socket_bytes"]
    return document


def test_who_is_killed_too_often_ends_the_run() -> None:
    plan = spec("mase", 6, engine={"restarts": 1, "deadline": 20.0, "on_missing": "end"})
    with ProcessEngine(plan) as engine:

        def observe(host: object) -> None:
            with suppress(ProcessLookupError, KeyError):
                os.kill(engine.pids()[2], signal.SIGKILL)

        with pytest.raises(RunFailed, match="agent 2 was killed by SIGKILL"):
            engine.run(plan, 0, observe)


@pytest.mark.slow
def test_the_result_says_how_often_who_was_started_again() -> None:
    arms = {"kind": "bernoulli", "means": [0.9, 0.1]}
    plan = spec("central", 3, arms=arms, engine={"restarts": 1, "deadline": 20.0})
    with ProcessEngine(plan) as engine:
        kill = after(1, lambda: os.kill(engine.pids()[1], signal.SIGKILL))
        assert engine.run(plan, 0, kill).restarts == {1: 1}
        assert engine.run(plan, 1).restarts == {}
