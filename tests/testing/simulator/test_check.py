"""Trials: seeds, faults, what must hold, and what is shown of a failure."""

from typing import get_args

import pytest

from posse.agent.one_to_all import OneToAll
from posse.coordinator.lobby import Lobby
from posse.engines.simulated.cluster import FIRST_STRANGER
from posse.plan import prepare
from posse.security.keys import CoordinatorKeys
from posse.testing.simulator import check
from posse.testing.simulator.check import attempt, own_plan, shrunk, space_time
from posse.testing.simulator.faults import FOR_EVER, InjectedFault, KeyFault, draw_per_process
from posse.testing.small import SMALL

KILL = InjectedFault(what="kill", after=200, ends=(1,), lasts=1.0)
SLOW = InjectedFault(what="delay", after=10, ends=(-1, 0), lasts=2.0, amount=0.1)


def test_a_run_with_journals_survives_a_kill() -> None:
    """Of the coordinator and of agents; all systems at all moments: `make simulate`."""
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"], "engine": {"durable": True}})
    for after, rank in ((0, -1), (80, 0), (160, 1), (240, -1)):
        kill = InjectedFault(what="kill", after=after, ends=(rank,), lasts=0.5)
        assert attempt(plan, 7, [kill, SLOW]).violations == []


def test_without_journals_a_killed_agent_is_said_to_be_lost() -> None:
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"]})
    trial = attempt(plan, 7, [KILL])
    assert trial.violations == []
    assert any("goes on without" in event.detail for event in trial.events)


def test_strangers_are_told_nothing_and_a_revoked_agent_takes_no_part() -> None:
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"]})
    strangers = [
        InjectedFault(what=what, after=after, ends=(1,), lasts=2.0)
        for after, what in enumerate(get_args(KeyFault)[:3])
    ]
    revoked = InjectedFault(what="revoked key", after=100, ends=(1,), lasts=2.0)
    trial = attempt(plan, 13, strangers)
    assert trial.violations == []
    refused = [event for event in trial.events if event.what == "refused"]
    assert {event.source for event in refused} == {FIRST_STRANGER, FIRST_STRANGER + 1}
    assert any("cannot join as agent 1" in event.detail for event in trial.events)
    trial = attempt(plan, 13, [revoked])
    assert trial.violations == []
    assert any("the key of agent 1 was revoked" in event.detail for event in trial.events)


def test_who_is_let_in_without_being_listed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = CoordinatorKeys.rank_of
    all_known = lambda keys, public: 1 if (rank := listed(keys, public)) is None else rank  # noqa: E731
    monkeypatch.setattr(CoordinatorKeys, "rank_of", all_known)
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"]})
    stranger = InjectedFault(what="unlisted key", after=1, ends=(1,), lasts=9.0)
    found = {violation.invariant for violation in attempt(plan, 7, [stranger]).violations}
    assert "who is not listed is told nothing" in found


def test_a_process_is_killed_and_started_again_with_all_its_agents() -> None:
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"], "engine": {"durable": True}})
    seed = next(n for n in range(100) if draw_per_process(n, 8) in (2, 3))
    together = draw_per_process(seed, 8)
    assert plan.spec.agents.count == 8
    trial = attempt(plan, seed, [InjectedFault(what="kill", after=150, ends=(1,), lasts=0.5)])
    assert trial.violations == []
    for what, ranks in (("killed", range(together)), ("starts", range(-1, 8))):
        assert {event.source for event in trial.events if event.what == what} == {*ranks}


def test_questions_that_wait_for_a_connection_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = prepare({"system": "private-ucb", **SMALL["private-ucb"]})
    cut = InjectedFault(what="cut", after=200, ends=(1, 2), lasts=50.0)
    assert attempt(plan, 0, [cut]).violations == []
    monkeypatch.setattr(OneToAll, "changed", lambda self, neighbour, up: None)
    found = attempt(plan, 0, [cut]).violations
    assert [violation.invariant for violation in found] == ["no growing memory"]


def test_an_agent_that_takes_the_others_with_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is stopped for longer than the deadline, and the coordinator takes all for silent."""
    plan, seed = own_plan(264), 264
    stop = InjectedFault(what="stop", after=586, ends=(5,), lasts=32.0)
    assert attempt(plan, seed, [stop]).violations == []
    monkeypatch.setattr(Lobby, "_without_answer", lambda self, late: late)
    found = attempt(plan, seed, [stop]).violations
    assert {violation.invariant for violation in found} == {"the others go on"}


def test_who_is_well_ends_and_names_what_never_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """One agent is stopped for ever, in a run that needs all: the others end, and say which."""
    given = {**SMALL["private-ucb"], "engine": {"on_missing": "end"}}
    plan = prepare({"system": "private-ucb", **given})
    stop = InjectedFault(what="stop", after=200, ends=(2,), lasts=FOR_EVER)
    trial = attempt(plan, 0, [stop])
    assert trial.violations == []
    (said,) = [e.detail for e in trial.events if (e.what, e.source) == ("ends", -1)]
    assert "agent 2" in said
    monkeypatch.setattr(check, "_named_in", lambda text: iter(()))
    found = attempt(plan, 0, [stop]).violations
    assert {violation.invariant for violation in found} == {"what never ends is named"}


def test_a_failure_is_shrunk_to_the_faults_that_it_takes_and_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if journals were of no use."""
    plan = prepare({"system": "dp-mase", **SMALL["dp-mase"]})
    monkeypatch.setattr("posse.testing.simulator.check.survives", lambda faults, cluster: True)
    trial = shrunk(attempt(plan, 7, [SLOW, KILL]), plan)
    assert trial.faults == [KILL]
    assert [violation.invariant for violation in trial.violations] == ["same record"]
    assert "--seed 7" in trial.command
    svg = space_time(trial)
    assert "killed" in svg
    assert svg.count('<g class="r ') >= 40


def test_posses_own_systems_take_turns() -> None:
    plans = [own_plan(seed) for seed in range(40)]
    assert len({plan.spec.system for plan in plans}) > 15
    assert {plan.spec.engine.durable for plan in plans} == {False, True}
