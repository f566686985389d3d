"""A process is killed in a run, of every family: the run goes on, or ends, as its file says."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.engines import memory
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
    "cooperative-ucb": {"parameters": {"horizon": 400}, "topology": {"kind": "ring"}},
    "private-ucb": {"parameters": {"horizon": 400, "epsilon": 1.0}, "topology": {"kind": "ring"}},
    "byzantine-ucb": {"parameters": {"horizon": 400}, "topology": {"kind": "ring"}},
    "anonymous": {"parameters": {"horizon": 20_000, "group_size": 2, "learning_rate": 0.01}},
    "explore-then-commit": {"parameters": {"horizon": 6_000, "group_size": 2}},
    "cdp-mab": {"parameters": {"epsilon": 1.0, "horizon": 20_000}},
}


def plan(system: str, on_missing: str | None = None, **raw: Any) -> Plan:
    return prepare(
        {
            "system": system,
            "seed": 3,
            "agents": {"count": AGENTS},
            "arms": {"kind": "bernoulli", "means": [0.1, 0.9, 0.2]},
            "engine": {"deadline": 20.0, "on_missing": on_missing},
            **FAMILIES[system],
            **raw,
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
    assert record.answered
    if record.best_arm is None:  # each user has its own
        assert record.answers.count(1) == AGENTS - 1
    else:
        assert record.best_arm == 1
    assert record.document()["missing"][0]["agent"] == gone.agent
    said = dict(rows([record], []))["missing"]
    assert said == f"agent {gone.agent} (lost). {record.loss}"
    assert record.loss.endswith(".")


PARTIAL = {"epsilon": 1.0, "horizon": 20_000, "participation": 0.3}


@pytest.mark.parametrize(
    "raw",
    [
        {"system": "mase"},
        {"system": "cooperative-ucb", "parameters": {"horizon": 200}, "topology": {"kind": "path"}},
        {"system": "anonymous"},
        {"system": "cdp-mab", "parameters": PARTIAL},
        {"system": "cdp-mab", "parameters": PARTIAL | {"participation": 1.0}},
        {"system": "cdp-mab", "parameters": {**PARTIAL, "participation": 1.0, "noise": "shared"}},
    ],
    ids=lambda raw: "-".join([raw["system"], *map(str, raw.get("parameters", {}).values())]),
)
@settings(max_examples=25, deadline=None)
@given(losses=st.lists(st.tuples(st.integers(1, 60), st.integers(0, AGENTS - 1)), max_size=9))
def test_in_no_order_of_losses_a_run_stands_still_or_answers_wrongly(
    raw: dict[str, Any], losses: list[tuple[int, int]]
) -> None:
    """Agents are declared gone after so many messages of all."""
    heard = 0

    def observe(host: Any) -> None:
        nonlocal heard
        heard += 1
        for when, rank in losses:
            if when == heard:
                host.lose(rank)

    record = memory.run(plan(**raw), 0, observe)
    assert record.best_arm in (1, None)
    if raw["system"] == "anonymous":
        here = {n for n in range(AGENTS) if n not in record.dismissed}
        assert record.answered == all(record.answers[n] is not None for n in here)
    else:
        assert record.answered == (record.best_arm is not None)
    assert {one.agent for one in record.missing} <= {rank for _, rank in losses}


@pytest.mark.parametrize("system", FAMILIES)
@pytest.mark.parametrize("on_missing", ["end", pytest.param("wait", marks=pytest.mark.slow)])
def test_a_run_that_is_not_to_go_on_ends_by_name(system: str, on_missing: str) -> None:
    """A process of this machine that is dead is waited for in vain."""
    with pytest.raises(RunFailed, match=r"agent \d was killed by SIGKILL"):
        one_is_killed(plan(system, on_missing=on_missing))


@pytest.mark.slow
@pytest.mark.parametrize("system", ["cooperative-ucb", "cdp-mab"])
def test_one_that_stands_still_is_done_without_and_nobody_else(system: str) -> None:
    run = plan(system, engine={"deadline": 3.0})
    with ProcessEngine(run) as engine:
        victim = agent_processes()[VICTIM]
        try:
            record = engine.run(run, 0, after(AFTER, victim.suspend))
        finally:
            victim.resume()
        again = engine.run(run, 1)
    assert list(record.dismissed.values()) == ["silent"]
    assert record.best_arm == again.best_arm == 1
    assert not again.missing


@pytest.mark.parametrize(("lost", "apart"), [((0,), False), ((2,), True), ((0, 1, 2), False)])
def test_whether_a_graph_fell_apart_is_said(lost: tuple[int, ...], apart: bool) -> None:
    """Eight agents on a path."""
    run = plan("cooperative-ucb", parameters={"horizon": 200}, topology={"kind": "path"})

    def observe(host: Any) -> None:
        for rank in lost:
            host.lose(rank)

    record = memory.run(run, 0, observe)
    assert ("fell apart into 2 parts" in record.loss) == apart
    assert record.answers.count(None) == len(lost)


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
