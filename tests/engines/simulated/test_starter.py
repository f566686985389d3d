"""Agents that a simulated coordinator's process starts itself."""

from typing import Any

import pytest

from posse.engines import memory
from posse.plan import prepare
from posse.testing.simulator.check import attempt
from posse.testing.simulator.faults import FaultKind, InjectedFault, StartedFault, draw_mode
from posse.testing.small import SMALL
from tests.engines.simulated.test_cluster import simulated
from tests.runs.test_restarts import undisturbed_part

SEED = next(seed for seed in range(100) if draw_mode(seed) == "started")


def fault(what: FaultKind | StartedFault, after: int, *ends: int) -> InjectedFault:
    return InjectedFault(what=what, after=after, ends=ends, lasts=1.0)


@pytest.mark.parametrize("name", ["dp-mase", "private-ucb", "cdp-mab"])
@pytest.mark.parametrize(
    "engine",
    [{}, {"transport": "tcp"}, {"agents_per_process": 3, "restarts": 1}],
    ids=["ipc", "tcp", "shared"],
)
def test_a_run_is_that_of_engine_memory(name: str, engine: dict[str, Any]) -> None:
    raw = {"system": name, **SMALL[name], "engine": engine}
    cluster = simulated(raw, starts=True)
    assert not cluster.defects
    assert cluster.ended[-1].code == 0
    expected = memory.run(prepare(raw), 0)
    assert undisturbed_part(cluster.records[0]) == undisturbed_part(expected)
    assert not list(cluster.folder.parent.glob(f"{cluster.folder.name}*"))


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_killed_agent_is_started_again_as_often_as_is_said(
    restarts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("posse.testing.simulator.check.started", lambda plan, seed: plan)
    engine = {"restarts": restarts}
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"], "engine": engine})
    trial = attempt(plan, SEED, [fault("kill", 60, 1)])
    assert trial.violations == []
    starts = [event for event in trial.events if event.what == "starts" and event.source == 1]
    assert len(starts) == 1 + restarts
    said = " ".join(event.detail for event in trial.events if event.what == "logs")
    what = "it is started again" if restarts else "the run goes on without it"
    assert f"agent 1 was killed by SIGKILL; {what}" in said


def test_agents_outlive_what_started_them_until_all_have_died() -> None:
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"]})
    trial = attempt(plan, SEED, [fault("starter killed", 40, -1)])
    assert trial.violations == []
    assert trial.events[-1].when < 1_020
    kill = fault("kill", 60, *range(plan.spec.agents.count))
    trial = attempt(plan, SEED, [fault("starter killed", 40, -1), kill])
    assert trial.violations == []
    ends = [event.detail for event in trial.events if event.what == "ends"]
    assert ends == ["3 the process that starts the agents is gone"]
