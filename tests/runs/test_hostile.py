"""What a running coordinator is sent by those who mean it no good."""

import resource
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from posse.engines.processes import ProcessEngine
from posse.engines.start.crew import Crew
from posse.engines.start.forkserver import local_agent
from posse.hosts.coordinator import CoordinatorHost
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.mase import Vote
from posse.protocol.message import Message
from posse.protocol.wire import HEADER, VERSION, encode, kind_of
from posse.results.record import RunRecord
from tests.support.hosts import sources
from tests.support.patience import PATIENCE
from tests.support.runs import spec


def frame_of(message: Message, source: int = 0) -> bytes:
    return encode(message, run=0, source=source, sequence=10**6, now=0.0, sent=0)


def raw(kind: str, *fields: Any) -> bytes:
    header = HEADER.pack(b"po", VERSION, 0, 0, 0, 10**6, 0.0, 0)
    return header + msgspec.msgpack.encode([kind, *fields])


def wrong_version() -> bytes:
    frame = bytearray(frame_of(Vote((1,))))
    frame[2] = VERSION + 1
    return bytes(frame)


STRANGERS = {
    "garbage": (b"\x00random bytes that are no frame of ours\xff" * 3, "garbage"),
    "short": (b"po", "short"),
    "version": (wrong_version(), "version"),
    "unknown kind": (raw("Surrender", 1), "unknown-kind"),
    "a vote without joining": (frame_of(Vote((1,))), "unknown-kind"),
    "ready without joining": (frame_of(control.Ready()), "never-joined"),
    "joining with a wrong token": (frame_of(control.Join(0, "guess", "", 1)), "join"),
}
LARGE = (b"po" + bytes(100 << 20), "connection-dropped")


STRANGER = """
import sys, time, zmq
source = sys.stdin.buffer
frames = []
while size := source.read(8):
    frames.append(source.read(int.from_bytes(size)))
context = zmq.Context()
for _ in range(200):
    for frame in frames:
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 500)
        socket.connect(sys.argv[1])
        socket.send(frame, copy=False)
        socket.close()
    time.sleep(0.05)
    print(end="x", flush=True)
"""


def run_under_fire(frames: list[bytes]) -> tuple[RunRecord, int]:
    """A run while strangers send these frames again and again; how often they did."""
    run = spec("central", agents=4)
    with ProcessEngine(run) as engine:
        # a process of its own, so that what it holds in memory is not taken for ours
        stranger = subprocess.Popen(
            [sys.executable, "-P", "-c", STRANGER, engine.endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert stranger.stdin is not None
        assert stranger.stdout is not None
        try:
            for frame in frames:
                stranger.stdin.write(len(frame).to_bytes(8))
                stranger.stdin.write(frame)
            stranger.stdin.close()
            stranger.stdout.read(1)  # it has begun
            record = engine.run(run, 0)
        finally:
            stranger.terminate()
            sent = 1 + len(stranger.stdout.read())
            stranger.wait()
            stranger.stdout.close()
    return record, sent


@pytest.mark.slow
@pytest.mark.parametrize(
    "strangers", [list(STRANGERS.values()), [LARGE]], ids=["small ones", "100 MB"]
)
def test_strangers_are_refused_and_counted_and_the_run_goes_on(
    strangers: list[tuple[bytes, str]],
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record, sent = run_under_fire([frame for frame, _ in strangers])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert (record.status, record.best_arm) == ("identified", 0)
    for reason, frames in Counter(reason for _, reason in strangers).items():
        assert frames <= record.refused[reason] <= 2 * frames * sent, reason
    assert grown < 64 << 20


class Saboteur:
    """An agent that joined honestly and does something bad after each honest vote."""

    def __init__(self, bad: Callable[[Any, bytes], None], engine: ProcessEngine, rank: int) -> None:
        self._act = bad
        self._bad: list[bytes] = []
        crew = Crew({}, engine.token, "mase", [], "")
        self.process = local_agent(crew, engine.endpoint, rank)
        self._link = self.process._links[COORDINATOR]
        self.process._links[COORDINATOR] = self.send

    def send(self, frame: bytes) -> None:
        self._link(frame)
        host = self.process.host
        if host is not None and kind_of(frame) == "Vote" and not any(f is frame for f in self._bad):
            behind = len(host.outbox)
            self._act(host, frame)
            self._bad += [added for _, added in host.outbox[behind:]]


def a_second_vote(host: Any, frame: bytes) -> None:
    (arm, *_), *_ = msgspec.msgpack.decode(frame[HEADER.size :])[1:]
    host.say(Vote((arm,)))


def the_same_frame_again(host: Any, frame: bytes) -> None:
    host.outbox.append((COORDINATOR, frame))


def a_vote_for_no_arm(host: Any, frame: bytes) -> None:
    host.say(Vote((99,)))


def a_vote_in_anothers_name(host: Any, frame: bytes) -> None:
    other = frame_of(Vote((1,)), source=host.rank - 1)
    host.outbox.append((COORDINATOR, other))


def a_report_before_the_end(host: Any, frame: bytes) -> None:
    host.say(control.Due(-1.0))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (a_second_vote, "duplicate-vote"),
        (the_same_frame_again, "replayed"),
        pytest.param(a_vote_for_no_arm, "no-such-arm", marks=pytest.mark.slow),
        (a_vote_in_anothers_name, "wrong-source"),
        pytest.param(a_report_before_the_end, "out-of-turn", marks=pytest.mark.slow),
    ],
)
def test_a_bad_agent_is_refused_and_counted_and_the_run_goes_on(
    bad: Callable[..., None], reason: str
) -> None:
    run = spec("mase", agents=8)
    engine = ProcessEngine(run, spawn=7)

    thread = threading.Thread(target=Saboteur(bad, engine, 7).process.serve)
    thread.start()
    with engine:
        record = engine.run(run, 0)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert (record.status, record.best_arm) == ("identified", 0)
    assert record.refused[reason] >= 1
    assert set(record.refused) <= {reason, "connection-dropped"}


def test_bad_frames_leave_the_coordinator_as_it_was() -> None:
    run = spec("mase", agents=8)
    network = run.network(0)
    host = CoordinatorHost(run, network, 0, sources())
    host.begin()
    host.outbox.clear()
    for frame in (b"", b"po", wrong_version(), raw("Vote"), raw("Vote", [-1]), raw("Vote", [[]])):
        host.receive(0, frame)
    assert sum(host.refused.values()) == 6
    assert host.outbox == []
    assert host.log == {}
