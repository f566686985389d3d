"""Simulated runs of the field: what must hold of ledgers and noise, and that a breach is seen."""

import pytest

from posse.agent.host import AgentHost
from posse.durable.ledger import Ledger
from posse.durable.recording import RecordedNoise
from posse.protocol.machine import COORDINATOR
from posse.testing.simulator.check import attempt
from posse.testing.simulator.faults import InjectedFault
from posse.testing.simulator.field import SYSTEMS, field_plan


@pytest.mark.parametrize(
    "name", [SYSTEMS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in SYSTEMS[1:])]
)
def test_when_all_machines_reboot_each_ledger_has_one_run_and_the_same_noise(
    name: str,
) -> None:
    """Steady clocks begin anew with each machine."""
    plan = field_plan(name)
    everybody = (COORDINATOR, *range(plan.spec.agents.count))
    faults = [InjectedFault(what="power off", after=110, ends=everybody, lasts=6.0)]
    trial = attempt(plan, 5, faults)
    assert trial.violations == []
    assert sum(event.what == "killed" for event in trial.events) == len(everybody)


def test_noise_that_is_drawn_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn_anew(self: RecordedNoise, values: object, *of: object) -> object:
        return self._noise.noisy(values, *of)  # type: ignore[arg-type]

    monkeypatch.setattr(RecordedNoise, "noisy", drawn_anew)
    monkeypatch.setattr(RecordedNoise, "laplace", lambda self, *of: self._noise.laplace(*of))
    faults = [InjectedFault(what="kill", after=300, ends=(1,), lasts=0.5)]
    trial = attempt(field_plan("private-ucb"), 5, faults)
    assert "no statistic is noised twice" in {v.invariant for v in trial.violations}


def test_an_agent_that_joins_another_run_when_its_own_is_lost_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(AgentHost, "spends", False)
    replaced = InjectedFault(what="coordinator replaced", after=300, ends=(COORDINATOR,), lasts=40)
    trial = attempt(field_plan("private-ucb"), 6, [replaced])
    assert "one run a run" in {v.invariant for v in trial.violations}


def test_rewards_that_are_not_in_the_ledger_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "uses", lambda self, pulls: None)
    trial = attempt(field_plan("private-ucb"), 5, [])
    assert {v.invariant for v in trial.violations} == {"a ledger has what was spent"}
