"""Simulated runs of the field: what must hold of ledgers and noise, and that a breach is seen."""

import math
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from posse.agent.host import AgentHost
from posse.api import serve
from posse.coordinator.witness import Witness
from posse.durable import persons
from posse.durable.ledger import Ledger
from posse.durable.recording import RecordedNoise
from posse.engines.simulated.cluster import SimulatedCluster
from posse.protocol.machine import COORDINATOR
from posse.testing.simulator.check import attempt
from posse.testing.simulator.faults import InjectedFault, Nemesis
from posse.testing.simulator.field import SYSTEMS, field_plan, write_logs


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


def test_persons_who_were_charged_too_little_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = field_plan("cdp-mab", persons=True)
    assert attempt(plan, 5, []).violations == []
    found = "persons are charged what was used"
    with monkeypatch.context() as patch:
        patch.setattr(persons._Limits, "choose", lambda self, rows, *_: [*rows])
        assert found in {v.invariant for v in attempt(plan, 5, []).violations}
    monkeypatch.setattr(
        persons, "_give_back", lambda db, number, used: db.execute("DELETE FROM uses")
    )
    assert found in {v.invariant for v in attempt(plan, 5, []).violations}


def test_rewards_that_are_not_in_the_ledger_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "uses", lambda self, pulls: None)
    trial = attempt(field_plan("private-ucb"), 5, [])
    assert {v.invariant for v in trial.violations} == {"a ledger has what was spent"}


def test_a_seed_with_keys_repeats_every_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What agents tell of their ledgers, too: of random bytes, and of dates; and after a kill."""
    sent: list[list[tuple[str, int, int, bytes]]] = []
    note = SimulatedCluster._note

    def noting(cluster: SimulatedCluster, *what: Any) -> None:
        sent[-1].append(what)
        note(cluster, *what)

    monkeypatch.setattr(SimulatedCluster, "_note", noting)
    # the name of a ledger has its folder in it
    monkeypatch.setattr(tempfile, "mkdtemp", lambda *given, **named: str(tmp_path / "all"))
    for at in (1_700_000_000.25, 1_800_000_000.5):
        monkeypatch.setattr(time, "time", lambda at=at: at)
        (tmp_path / "all").mkdir(mode=0o700)
        sent.append([])
        cluster = SimulatedCluster(field_plan("private-ucb"), 5, serve, keyed=True)
        write_logs(cluster)
        Nemesis(cluster, [InjectedFault(what="kill", after=100, ends=(1,), lasts=0.5)])
        cluster.run(math.inf)
        cluster.close()
        assert [process.code for process in cluster.ended if process.code] == []
    assert sum(b"LedgerHead" in data for *_, data in sent[0]) > 2 * cluster.plan.spec.agents.count
    assert sent[0] == sent[1]


def test_a_coordinator_that_keeps_no_heads_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    key = InjectedFault(what="no key", after=1, ends=(1,), lasts=0.1)  # so that all have keys
    plan = field_plan("cdp-mab")
    assert not attempt(plan, 3, [key]).violations
    monkeypatch.setattr(Witness, "take", lambda self, rank, key, head: "")
    found = {violation.invariant for violation in attempt(plan, 3, [key]).violations}
    assert found == {"a ledger has its witness"}
