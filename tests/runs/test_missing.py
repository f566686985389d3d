"""An agent is lost in a run, of every family: the run goes on, or ends, as its file says."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.errors import RunFailed
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from posse.results.words import rows
from tests.support.lossy import lossy
from tests.support.runs import after, agent_processes

AGENTS, VICTIM, AFTER = 8, 5, 10

FAMILIES: dict[str, dict[str, Any]] = {
    "mase": {},
    "dp-mase": {"parameters": {"epsilon": 1.0}},
    "corrupted-elimination": {"parameters": {"xi": 0.1, "eta": 0.5}},
    "central": {},
    "independent": {},
    "cooperative-ucb": {"parameters": {"horizon": 150}, "topology": {"kind": "ring"}},
    "private-ucb": {"parameters": {"horizon": 150, "epsilon": 1.0}, "topology": {"kind": "ring"}},
    "byzantine-ucb": {"parameters": {"horizon": 150}, "topology": {"kind": "ring"}},
    "anonymous": {"parameters": {"horizon": 20_000, "group_size": 2, "learning_rate": 0.01}},
    "explore-then-commit": {"parameters": {"horizon": 6_000, "group_size": 2}},
    "ddp-mab": {
        "parameters": {"epsilon": 1.0, "horizon": 20_000},
        "topology": {"kind": "grid", "rows": 2, "cols": 4},
    },
    "hdp-mab": {
        "parameters": {"epsilon": 1.0, "horizon": 20_000},
        "topology": {"kind": "grid", "rows": 2, "cols": 4},
    },
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
            **FAMILIES.get(system, {}),
            **raw,
        }
    )


def one_is_killed(run: Plan, number: int = 0) -> RunRecord:
    with ProcessEngine(run) as engine:
        # where there is no server the coordinator hears little before the end
        messages = 1 if run.system.name in ("ddp-mab", "hdp-mab") else AFTER
        return engine.run(run, number, after(messages, agent_processes()[VICTIM].kill))


@pytest.mark.slow
@pytest.mark.parametrize("system", FAMILIES)
def test_the_others_go_on_and_find_the_best_arm(system: str) -> None:
    """The simulator kills processes of every system; below, those that a run started itself."""
    record = lossy(plan(system), {VICTIM: AFTER}, np.random.default_rng(1))
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


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"system": "mase"}, " Pulls, rounds and regret do not include theirs."),
        (
            {"system": "mase", "on_missing": "end"},
            " Pulls, rounds and regret do not include theirs.",
        ),
        ({"system": "cooperative-ucb"}, "A bound that is drawn is of the whole graph."),
        (
            {
                "system": "tdfs-ucb",
                "parameters": {"horizon": 50},
                "agents": {"count": 3},
                "on_missing": "continue",
            },
            "regret counts them as lost",
        ),
    ],
)
def test_after_a_loss_the_result_says_whose_totals_these_are(raw: Any, said: str) -> None:
    run = plan(**raw)
    record = lossy(run, {1: 20}, np.random.default_rng(5))
    assert record.missing
    assert said in record.loss
    # shared arms are the coordinator's, who counts all
    assert ("do not include theirs" in record.loss) == (run.system.name != "tdfs-ucb")
    told = dict(rows([record], []))
    assert told["pulls"].endswith("(by all agents; see missing)")
    whole = lossy(run, {}, np.random.default_rng(5))
    assert (whole.loss, dict(rows([whole], []))["pulls"][-15:]) == ("", "(by all agents)")


CLOSE = {"kind": "bernoulli", "means": [0.2, 0.75, 0.5, 0.6]}
SHORT = {"epsilon": 0.5, "horizon": 6_000}
ROW = {"kind": "path"}
PARTS = [{"kind": "star", "count": 4}, {"kind": "path", "count": 4}]
TWO = {"kind": "components", "components": PARTS}

BRIEF: dict[str, dict[str, Any]] = {
    "cooperative-ucb": {"parameters": {"horizon": 40}},
    "private-ucb": {"parameters": {"horizon": 40, "epsilon": 1.0}},
    "byzantine-ucb": {"parameters": {"horizon": 40}},
    "central": {"arms": {"kind": "bernoulli", "means": [0.1, 0.9]}},
    "explore-then-commit": {"parameters": {"horizon": 2_000, "group_size": 2}},
}

DISORDERS: dict[str, dict[str, Any]] = {
    **{
        system: {"system": system, **BRIEF.get(system, {})}
        for system in FAMILIES
        if not system.endswith("-mab")
    },
    "players": {"system": "tdfs-ucb", "parameters": {"horizon": 200}, "agents": {"count": 3}},
    "cdp": {"system": "cdp-mab", "parameters": SHORT},
    "cdp, some of them": {"system": "cdp-mab", "parameters": SHORT | {"participation": 0.3}},
    "cdp, shared noise": {"system": "cdp-mab", "parameters": SHORT | {"noise": "shared"}},
    "anonymous, dropouts": {
        "system": "anonymous",
        "parameters": {"horizon": 2_000, "group_size": 2, "dropouts": 2},
    },
    "cdp, dropouts": {
        "system": "cdp-mab",
        "parameters": SHORT | {"noise": "shared", "dropouts": 3, "honest": 1.0},
    },
    "ddp": {"system": "ddp-mab", "parameters": SHORT},
    "ddp on a path": {"system": "ddp-mab", "parameters": SHORT, "topology": ROW},
    "ddp by flooding": {
        "system": "ddp-mab",
        "parameters": SHORT | {"exchange": "flooding", "t_delay": "diameter"},
    },
    "ddp by gossip": {"system": "ddp-mab", "parameters": SHORT | {"exchange": "gossip"}},
    "hdp": {"system": "hdp-mab", "parameters": SHORT},
    "hdp on a path": {"system": "hdp-mab", "parameters": SHORT, "topology": ROW},
    "hdp in two parts": {"system": "hdp-mab", "parameters": SHORT, "topology": TWO},
}


def end_rightly(raw: dict[str, Any], losses: dict[int, int], seed: int) -> None:
    """Whoever is lost and whenever, and in whatever order all happens."""
    run = plan(on_missing="continue", **{"arms": CLOSE, **raw})
    record = lossy(run, losses, np.random.default_rng(seed))
    if not run.system.name.endswith("-ucb"):  # these have played a few slots and no more
        assert record.best_arm in (1, None)
    assert {one.agent for one in record.missing} <= losses.keys()
    late = {
        "dismissed",
        "replayed",
        "unasked",
        "lost",
        "out-of-turn",
    }  # what was under way to or from the lost
    assert record.refused.keys() <= late
    here = [n for n in range(AGENTS) if n not in record.dismissed]
    if record.status == "missing":
        assert not record.answered
    elif record.best_arm is None and run.system.name != "tdfs-ucb":
        assert all(record.answers[n] is not None for n in here)
    if "horizon" in run.spec.parameters and record.status != "missing":
        assert max(record.pulls_per_agent) <= run.spec.parameters["horizon"]


LOSSES = st.dictionaries(st.integers(0, AGENTS - 1), st.integers(0, 700), max_size=AGENTS)


@pytest.mark.slow
@pytest.mark.parametrize("case", DISORDERS)
@settings(max_examples=3, deadline=None)
@given(losses=LOSSES, seed=st.integers(0, 2**32))
def test_in_no_order_of_losses_a_run_stands_still_or_answers_wrongly(
    case: str, losses: dict[int, int], seed: int
) -> None:
    end_rightly(DISORDERS[case], losses, seed)


@pytest.mark.parametrize(
    ("system", "on_missing"),
    [
        ("mase", "end"),
        ("ddp-mab", "wait"),
    ],
)
def test_a_run_that_is_not_to_go_on_ends_by_name(system: str, on_missing: str) -> None:
    """A process of this machine that is dead is waited for in vain."""
    with pytest.raises(RunFailed, match=r"agent \d was killed by SIGKILL"):
        one_is_killed(plan(system, on_missing=on_missing))


@pytest.mark.slow
def test_one_that_stands_still_is_done_without_and_nobody_else() -> None:
    """By SIGSTOP and over ipc, where no heartbeat notices."""
    run = plan("cooperative-ucb", engine={"deadline": 3.0})
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


def test_with_shared_noise_no_sum_is_read_without_an_agent_and_there_is_no_answer() -> None:
    run = plan("cdp-mab", parameters={"epsilon": 1.0, "horizon": 20_000, "noise": "shared"})
    with ProcessEngine(run) as engine:
        record = engine.run(run, 0, after(AFTER, agent_processes()[VICTIM].kill))
        code = engine.hub.exit_code
    assert (record.status, record.best_arm, record.answered) == ("missing", None, False)
    said = "The run ended there. Pulls, rounds and regret do not include theirs."
    assert (record.loss, code) == (said, RunFailed.exit_code)


@pytest.mark.parametrize(("kill", "status"), [((5,), "identified"), ((5, 2), "missing")])
def test_a_sum_does_without_as_many_agents_as_are_declared(
    kill: tuple[int, ...], status: str
) -> None:
    """The process of one agent is killed, and with `dropouts = 1` another's too."""
    shared = {"epsilon": 1.0, "horizon": 20_000, "noise": "shared", "dropouts": 1}
    run = plan("cdp-mab", on_missing="continue", parameters=shared)
    with ProcessEngine(run) as engine:
        agents = [agent_processes()[rank] for rank in kill]

        def kill_them() -> None:
            for one in agents:
                one.kill()

        record = engine.run(run, 0, after(AFTER, kill_them))
    assert (record.status, record.answered) == (status, status == "identified")
    assert record.best_arm == (1 if record.answered else None)
    assert sorted({one.agent for one in record.missing}) == sorted(kill)


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
    assert record.loss == "The run ended there. Pulls, rounds and regret do not include theirs."
