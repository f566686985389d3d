"""What is wrong with runs to which nothing happens, and with records."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from posse import api
from posse.agent.joining import Joining
from posse.coordinator.attendance import Attendance
from posse.engines import memory
from posse.engines.simulated.cluster import SimulatedCluster
from posse.log import LOG
from posse.plan import Plan, prepare
from posse.results.record import Delay, LinkDelay
from posse.results.traffic import Amount
from posse.testing.simulator.check import attempt
from posse.testing.simulator.faults import InjectedFault
from posse.testing.simulator.undisturbed import amiss, sums
from posse.testing.small import SMALL


def plan_of(system: str) -> Plan:
    return prepare({"system": system, **SMALL[system]})


def invariants(system: str = "private-ucb") -> set[str]:
    cluster = SimulatedCluster(plan_of(system), 0, api.serve)
    try:
        cluster.run(1e6)
        return {name for name, _ in amiss(cluster)}
    finally:
        cluster.close()


@pytest.mark.parametrize("system", ["dp-mase", "private-ucb", "tdfs-ucb", "ddp-mab"])
def test_nothing_is_wrong_with_posses_own(system: str) -> None:
    assert not invariants(system)


def test_a_complaint_of_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = Joining.connected

    def complains(self: Joining, wall: float, now: float) -> Any:
        LOG.warning("this clock is wrong")
        return connected(self, wall, now)

    monkeypatch.setattr(Joining, "connected", complains)
    assert invariants() == {"nobody complains of nothing"}


def test_what_is_said_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = Joining.connected
    twice: Callable[..., Any] = lambda self, wall, now: [  # noqa: E731
        *connected(self, wall, now),
        *connected(self, wall, now),
    ]
    monkeypatch.setattr(Joining, "connected", twice)
    assert "each thing is said once" in invariants()


@pytest.mark.parametrize("delay", [None, Delay(messages=720, links=[LinkDelay(0, 1, 1, 0.0, 1.0)])])
def test_delays_that_no_network_took_are_found(delay: Delay | None) -> None:
    cluster = SimulatedCluster(plan_of("private-ucb"), 0, api.serve)
    try:
        cluster.run(1e6)
        (record,) = cluster.records.values()
        cluster.records = {0: msgspec.structs.replace(record, delay=delay)}
        assert "delays are those of the links" in {name for name, _ in amiss(cluster)}
    finally:
        cluster.close()


def test_a_record_adds_up() -> None:
    record = memory.run(plan_of("mase"), 0)
    assert not [*sums(record)]
    traffic = msgspec.structs.replace(record.communication)
    traffic.data = msgspec.structs.replace(traffic.data, kinds={"Vote": Amount(1, 1, 1)})
    slow = Delay(messages=3, p50=1.0, p90=0.5, links=[LinkDelay(0, 1, 2, 0.5, 0.0)])
    wrong: list[dict[str, Any]] = [
        {"rounds": None},
        {"pulls_per_arm": [1]},
        {"communication": traffic},
    ]
    for change in wrong:
        assert len([*sums(msgspec.structs.replace(record, **change))]) == 1, change
    assert len([*sums(msgspec.structs.replace(record, delay=slow))]) == 3


def test_a_record_that_names_another_than_was_lost_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, kill = plan_of("dp-mase"), InjectedFault(what="kill", after=170, ends=(1,), lasts=1.0)
    assert not attempt(plan, 7, [kill]).violations
    dismiss = Attendance.dismiss

    def another(self: Attendance, rank: int, why: str, now: float) -> None:
        dismiss(self, rank, why, now)
        self.dismissed[2] = self.dismissed.pop(rank)

    monkeypatch.setattr(Attendance, "dismiss", another)
    found = {violation.invariant for violation in attempt(plan, 7, [kill]).violations}
    assert "who is well is not left out" in found
