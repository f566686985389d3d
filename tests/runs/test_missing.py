"""A process is killed in a run, of every family: the run goes on, or ends, as its file says."""

from typing import Any

import pytest

from posse.engines.processes import ProcessEngine
from posse.errors import RunFailed
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from posse.results.words import rows
from tests.support.runs import after, agent_processes

AGENTS, VICTIM, AFTER = 8, 5, 10

FAMILIES: dict[str, dict[str, Any]] = {
    "mase": {},
    "dp-mase": {"parameters": {"epsilon": 1.0}},
    "corrupted-elimination": {"parameters": {"xi": 0.1, "eta": 0.5}},
    "central": {},
    "independent": {},
}


def plan(system: str, **engine: Any) -> Plan:
    return prepare(
        {
            "system": system,
            "seed": 3,
            "agents": {"count": AGENTS},
            "arms": {"kind": "bernoulli", "means": [0.1, 0.9, 0.2]},
            "engine": {"deadline": 20.0, **engine},
            **FAMILIES[system],
        }
    )


def one_is_killed(run: Plan, number: int = 0) -> RunRecord:
    with ProcessEngine(run) as engine:
        return engine.run(run, number, after(AFTER, agent_processes()[VICTIM].kill))


@pytest.mark.parametrize("system", FAMILIES)
def test_the_others_go_on_and_find_the_best_arm(system: str) -> None:
    record = one_is_killed(plan(system))
    (gone,) = record.missing
    assert record.dismissed == {gone.agent: "lost"}
    assert 0 <= gone.since <= gone.until
    assert record.best_arm == 1
    assert record.answered
    assert record.document()["missing"][0]["agent"] == gone.agent
    said = dict(rows([record], []))["missing"]
    assert said == f"agent {gone.agent} (lost). {record.loss}"
    assert record.loss.endswith(".")


@pytest.mark.parametrize("system", FAMILIES)
@pytest.mark.parametrize("on_missing", ["end", pytest.param("wait", marks=pytest.mark.slow)])
def test_a_run_that_is_not_to_go_on_ends_by_name(system: str, on_missing: str) -> None:
    """A process of this machine that is dead is waited for in vain."""
    with pytest.raises(RunFailed, match=r"agent \d was killed by SIGKILL"):
        one_is_killed(plan(system, on_missing=on_missing))


def test_the_next_run_has_all_its_agents_again() -> None:
    run = plan("mase")
    with ProcessEngine(run) as engine:
        first = engine.run(run, 0, after(AFTER, agent_processes()[VICTIM].kill))
        second = engine.run(run, 1)
    assert [len(record.missing) for record in (first, second)] == [1, 0]
    assert None not in second.pulls_per_agent
    assert min(second.pulls_per_agent) > 0


def test_a_run_that_nobody_is_left_of_has_no_answer() -> None:
    run = plan("mase")
    agents: list[Any] = []

    def kill_all() -> None:
        for agent in agents:
            agent.kill()

    with ProcessEngine(run) as engine:
        agents += agent_processes()
        record = engine.run(run, 0, after(AFTER, kill_all))
    assert (record.status, record.best_arm, record.answered) == ("missing", None, False)
    # those who were lost when there was no hope left are not missed any more
    assert len(record.dismissed) == AGENTS > len(record.missing) > 0
    assert record.loss == "The run ended there."
