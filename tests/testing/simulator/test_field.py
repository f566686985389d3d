"""Simulated runs of the field: what must hold of ledgers and noise, and that a breach is seen."""

import pytest

from posse.durable.ledger import Ledger
from posse.durable.recording import RecordedNoise
from posse.testing.simulator.check import attempt
from posse.testing.simulator.faults import InjectedFault
from posse.testing.simulator.field import SYSTEMS, field_plan

KILLED = [InjectedFault(what="kill", after=110, ends=(1,), lasts=0.5)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_killed_agent_of_the_field_has_one_run_in_its_ledger_and_the_same_noise(
    name: str,
) -> None:
    trial = attempt(field_plan(name), 5, KILLED)
    assert trial.violations == []
    assert sum(event.what == "killed" for event in trial.events) == 1


def test_noise_that_is_drawn_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn_anew(self: RecordedNoise, values: object, *of: object) -> object:
        return self._noise.noisy(values, *of)  # type: ignore[arg-type]

    monkeypatch.setattr(RecordedNoise, "noisy", drawn_anew)
    monkeypatch.setattr(RecordedNoise, "laplace", lambda self, *of: self._noise.laplace(*of))
    broken = set()
    for after in (200, 300, 400):
        faults = [InjectedFault(what="kill", after=after, ends=(1,), lasts=0.5)]
        trial = attempt(field_plan("private-ucb"), 5, faults)
        broken |= {violation.invariant for violation in trial.violations}
    assert "no statistic is noised twice" in broken


def test_rewards_that_are_not_in_the_ledger_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "uses", lambda self, pulls: None)
    trial = attempt(field_plan("private-ucb"), 5, [])
    assert {v.invariant for v in trial.violations} == {"a ledger has what was spent"}
