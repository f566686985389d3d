"""What a peer can make a host keep: the peaks that `docs/security.md` says, measured by Python."""

import gc
import re
import tracemalloc
from collections.abc import Callable

import pytest

from posse.agent.host import AgentHost
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import agent_setups
from posse.protocol import control
from posse.protocol.wire import HEADER, MAGIC, MAX_DATA, MAX_FRAME, VERSION
from posse.wire.session import Session, SessionFull
from tests.coordinator.test_host import report
from tests.support.blocks import ROOT
from tests.support.hosts import frame, sources
from tests.support.runs import spec

MIB = 1 << 20
OURS = [tracemalloc.Filter(True, f"{ROOT}/*"), tracemalloc.Filter(False, f"{ROOT}/.venv/*")]


def bound(test: str) -> float:
    """What the page says of the buffer that this test fills, in MiB."""
    page = (ROOT / "docs/security.md").read_text()
    (peak,) = re.findall(rf"\|([\d.]+)\|`tests/hosts/test_memory.py::{test}`", page)
    return float(peak)


def grow(fill: Callable[[], object]) -> float:
    """What stays when `fill` has ended, in MiB; of libraries it is none."""
    tracemalloc.start()
    try:
        kept = fill()
        gc.collect()  # what refusals left in circles goes when Python likes
        ours = tracemalloc.take_snapshot().filter_traces(OURS)
    finally:
        tracemalloc.stop()
    assert kept is not None
    return sum(trace.size for trace in ours.traces) / MIB


def assert_peak(fill: Callable[[], object], test: str, tries: int = 1) -> None:
    """The least of some tries: what Python keeps to use again, and other tests' threads, vary."""
    grown = min(grow(fill) for _ in range(tries))
    assert bound(test) / 10 <= grown <= bound(test), f"{grown:.2f} MiB"


def agent_on_a_ring() -> AgentHost:
    run = spec("cooperative-ucb", 3, topology={"kind": "ring"}, parameters={"horizon": 50})
    return AgentHost(agent_setups(run, run.network(0))[1], 1, sources())


def coordinator() -> CoordinatorHost:
    run = spec("independent", 3)
    host = CoordinatorHost(run, run.network(0), 0, sources())
    host.begin()
    return host


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, MIB])
def test_frames_of_a_run_that_has_not_begun(size: int) -> None:
    host = agent_on_a_ring()

    def fill() -> AgentHost:
        for number in range(120_000 if not size else 100):
            head = HEADER.pack(MAGIC, VERSION, 0, 2**32 - 1, 0, number, 0.0, 0)
            host.receive(0, head + bytes(size))
        return host

    assert_peak(fill, "test_frames_of_a_run_that_has_not_begun")


def test_what_agents_attest_of_steps_that_nobody_came_to() -> None:
    host, value = coordinator(), bytes(500_000)

    def fill() -> CoordinatorHost:
        for number in range(2_000):
            host.receive(0, frame(control.Attested(number, value), 0, number))
        return host

    assert_peak(fill, "test_what_agents_attest_of_steps_that_nobody_came_to")
    assert host.refused == {"too-many": 1_000}


@pytest.mark.slow
def test_complaints_and_refusals() -> None:
    coordinator().receive(0, b"what Python keeps of a first refusal is not the host's")
    hosts = [coordinator() for _ in range(3)]

    def fill() -> CoordinatorHost:
        host = hosts.pop()
        for number in range(10_000):
            reason = f"{number}" * 10
            host.receive(0, frame(control.Complaint(1, reason[:64]), 0, number))
            host.receive(0, reason.encode() * 5)
        return host

    assert_peak(fill, "test_complaints_and_refusals", tries=len(hosts))


def test_frames_that_a_peer_does_not_confirm() -> None:
    session = Session()

    def fill() -> Session:
        for _ in range(64):
            session.wrap(bytes(MIB))
        return session

    assert_peak(fill, "test_frames_that_a_peer_does_not_confirm")
    with pytest.raises(SessionFull):
        session.wrap(b"x")


@pytest.mark.slow
def test_a_report_of_the_largest_size_there_is() -> None:
    """It does not stay: this is the peak, while it is looked at."""
    host = coordinator()
    for rank in range(3):
        host.receive(rank, frame(control.Finished(0), rank, 0))
    empty = frame(report(), 0, 1)
    at = empty.rindex(b"\x80\x80\x93")  # log, seconds, resources
    row = b"\x94" + b"\x00" * 4
    peaks = []
    for rows in ((MAX_DATA - len(empty)) // len(row), MAX_FRAME // len(row) - 1_000):
        log = b"\x81\xa1x\xdd" + rows.to_bytes(4, "big") + row * rows
        hostile = empty[:at] + log + empty[at + 1 :]
        tracemalloc.start()
        try:
            host.receive(0, hostile)
            peaks.append(tracemalloc.get_traced_memory()[1] / MIB)
        finally:
            tracemalloc.stop()
    test = "test_a_report_of_the_largest_size_there_is"
    assert bound(test) / 10 <= max(peaks) <= bound(test), f"{peaks} MiB"
    assert host.refused == {"bad-report": 1, "oversize": 1}
