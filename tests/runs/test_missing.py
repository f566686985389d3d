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
from posse.results.words import rows
from tests.support.lossy import lossy
from tests.support.runs import after, agent_processes

AGENTS, VICTIM, AFTER = 8, 5, 10

RING: dict[str, Any] = {"topology": {"kind": "ring"}}
GRID: dict[str, Any] = {"topology": {"kind": "grid", "rows": 2, "cols": 4}}
PATH: dict[str, Any] = {"topology": {"kind": "path"}}
PARTS = [{"kind": "star", "count": 4}, {"kind": "path", "count": 4}]
TWO = {"topology": {"kind": "components", "components": PARTS}}
PLAYERS = {"agents": {"count": 3}}


def plan(system: str, on_missing: str | None = None, **raw: Any) -> Plan:
    return prepare(
        {
            "system": system,
            "seed": 3,
            "agents": {"count": AGENTS},
            "arms": {"kind": "bernoulli", "means": [0.1, 0.9, 0.2]},
            "engine": {"deadline": 20.0, "on_missing": on_missing},
            **raw,
        }
    )


def kill_all(agents: list[Any]) -> None:
    for agent in agents:
        agent.kill()


ENDED_THERE = "The run ended there. Pulls, rounds and regret do not include theirs."


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"system": "mase"}, " Pulls, rounds and regret do not include theirs."),
        ({"system": "mase", "on_missing": "end"}, ENDED_THERE),
        (
            {"system": "cooperative-ucb", "parameters": {"horizon": 150}, **RING},
            "A bound that is drawn is of the whole graph.",
        ),
        (
            {"system": "tdfs-ucb", "parameters": {"horizon": 50}, "on_missing": "continue"}
            | PLAYERS,
            "regret counts them as lost",
        ),
    ],
    ids=["mase", "mase, end", "cooperative-ucb", "tdfs-ucb"],
)
def test_after_a_loss_the_result_says_whose_totals_these_are(raw: Any, said: str) -> None:
    run = plan(**raw)
    record = lossy(run, {1: 20}, np.random.default_rng(5))
    assert record.missing
    assert said in record.loss
    # shared arms are the coordinator's, who counts all
    assert ("do not include theirs" in record.loss) == (run.system.name != "tdfs-ucb")
    told = dict(rows([record]))
    assert told["missing"] == f"agent 1 (lost). {record.loss}"
    assert told["pulls"].endswith("(by all agents; see missing)")
    whole = lossy(run, {}, np.random.default_rng(5))
    assert (whole.loss, dict(rows([whole]))["pulls"][-15:]) == ("", "(by all agents)")


CLOSE = {"kind": "bernoulli", "means": [0.2, 0.75, 0.5, 0.6]}
SHORT = {"epsilon": 0.5, "horizon": 6_000}
USERS = {"horizon": 2_000, "group_size": 2}
UNLIKE = {"arms": {"kind": "bernoulli", "means": [0.1, 0.9]}}

DISORDERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "mase": ("mase", {}, {}),
    "dp-mase": ("dp-mase", {"epsilon": 1.0}, {}),
    "corrupted": ("corrupted-elimination", {"xi": 0.1, "eta": 0.5}, {}),
    "central": ("central", {}, UNLIKE),
    "independent": ("independent", {}, {}),
    "cooperative": ("cooperative-ucb", {"horizon": 40}, RING),
    "private": ("private-ucb", {"horizon": 40, "epsilon": 1.0}, RING),
    "byzantine": ("byzantine-ucb", {"horizon": 40}, RING),
    "players": ("tdfs-ucb", {"horizon": 200}, PLAYERS),
    "anonymous": ("anonymous", USERS | {"horizon": 20_000, "learning_rate": 0.01}, {}),
    "anonymous, dropouts": ("anonymous", USERS | {"dropouts": 2}, {}),
    "explore": ("explore-then-commit", USERS, {}),
    "cdp": ("cdp-mab", SHORT, {}),
    "cdp, some of them": ("cdp-mab", SHORT | {"participation": 0.3}, {}),
    "cdp, shared noise": ("cdp-mab", SHORT | {"noise": "shared"}, {}),
    "cdp, dropouts": ("cdp-mab", SHORT | {"noise": "shared", "dropouts": 3, "honest": 1.0}, {}),
    "ddp": ("ddp-mab", SHORT, GRID),
    "ddp on a path": ("ddp-mab", SHORT, PATH),
    "ddp by flooding": ("ddp-mab", SHORT | {"exchange": "flooding", "t_delay": "diameter"}, GRID),
    "ddp by gossip": ("ddp-mab", SHORT | {"exchange": "gossip"}, GRID),
    "hdp": ("hdp-mab", SHORT, GRID),
    "hdp on a path": ("hdp-mab", SHORT, PATH),
    "hdp in two parts": ("hdp-mab", SHORT, TWO),
}
LOSSES = st.dictionaries(st.integers(0, AGENTS - 1), st.integers(0, 700), max_size=AGENTS)


@pytest.mark.slow
@pytest.mark.parametrize("case", DISORDERS)
@settings(max_examples=3, deadline=None)
@given(losses=LOSSES, seed=st.integers(0, 2**32))
def test_in_no_order_of_losses_a_run_stands_still_or_answers_wrongly(
    case: str, losses: dict[int, int], seed: int
) -> None:
    """Whoever is lost and whenever, and in whatever order all happens."""
    system, parameters, more = DISORDERS[case]
    run = plan(system, "continue", **{"arms": CLOSE, "parameters": parameters, **more})
    record = lossy(run, losses, np.random.default_rng(seed))
    if not run.system.name.endswith("-ucb"):  # these have played a few slots and no more
        assert record.best_arm in (1, None)
    assert {one.agent for one in record.missing} <= losses.keys()
    # what was under way to or from the lost
    assert record.refused.keys() <= {"dismissed", "replayed", "unasked", "lost", "out-of-turn"}
    here = [n for n in range(AGENTS) if n not in record.dismissed]
    if record.status == "missing":
        assert not record.answered
    elif record.best_arm is None and run.system.name != "tdfs-ucb":
        assert all(record.answers[n] is not None for n in here)
    if "horizon" in run.spec.parameters and record.status != "missing":
        assert max(record.pulls_per_agent) <= run.spec.parameters["horizon"]


@pytest.mark.slow
@pytest.mark.parametrize(
    # where there is no server the coordinator hears little before the end
    ("raw", "messages"),
    [
        ({"system": "mase", "on_missing": "end"}, AFTER),
        ({"system": "ddp-mab", "on_missing": "wait", "parameters": SHORT, **GRID}, 1),
    ],
    ids=["mase", "ddp-mab"],
)
def test_a_run_that_is_not_to_go_on_ends_by_name(raw: Any, messages: int) -> None:
    """A process of this machine that is dead is waited for in vain."""
    run = plan(**raw)
    with (
        pytest.raises(RunFailed, match=r"agent \d was killed by SIGKILL"),
        ProcessEngine(run) as engine,
    ):
        engine.run(run, 0, after(messages, agent_processes()[VICTIM].kill))


@pytest.mark.parametrize(("lost", "apart"), [((0,), False), ((2,), True), ((0, 1, 2), False)])
def test_whether_a_graph_fell_apart_is_said(lost: tuple[int, ...], apart: bool) -> None:
    """Eight agents on a path."""
    run = plan("cooperative-ucb", parameters={"horizon": 200}, **PATH)

    def meddle(host: Any, source: int, target: int, frame: bytes) -> Any:
        return frame, [effect for rank in lost for effect in host.lose(rank)]

    record = memory.run(run, 0, meddle=meddle)
    assert ("fell apart into 2 parts" in record.loss) == apart
    assert record.answers.count(None) == len(lost)


@pytest.mark.parametrize(
    ("dropouts", "kill", "status"),
    [(0, (5,), "missing"), (1, (5,), "identified"), (1, (5, 2), "missing")],
)
def test_a_sum_of_shared_noise_does_without_as_many_agents_as_are_declared(
    dropouts: int, kill: tuple[int, ...], status: str
) -> None:
    shared = {"epsilon": 1.0, "horizon": 20_000, "noise": "shared", "dropouts": dropouts}
    run = plan("cdp-mab", on_missing="continue", parameters=shared)
    with ProcessEngine(run) as engine:
        agents = [agent_processes()[rank] for rank in kill]
        record = engine.run(run, 0, after(AFTER, lambda: kill_all(agents)))
        code = engine.hub.exit_code
    assert (record.status, record.answered) == (status, status == "identified")
    assert record.best_arm == (1 if record.answered else None)
    assert sorted({one.agent for one in record.missing}) == sorted(kill)
    if not record.answered:
        assert (record.loss, code) == (ENDED_THERE, RunFailed.exit_code)


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
    with ProcessEngine(run) as engine:
        agents = agent_processes()
        record = engine.run(run, 0, after(AFTER, lambda: kill_all(agents)))
    assert (record.status, record.best_arm, record.answered) == ("missing", None, False)
    # those who were lost when there was no hope left are not missed any more
    assert len(record.dismissed) == AGENTS > len(record.missing) > 0
    assert record.loss == ENDED_THERE
