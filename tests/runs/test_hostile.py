"""What a running coordinator is sent by those who mean it no good."""

import resource
import subprocess
import sys
from collections import Counter
from typing import Any

import msgspec
import pytest

from posse.engines.processes import ProcessEngine
from posse.protocol import control
from posse.protocol.mase import Vote
from posse.protocol.message import Message
from posse.protocol.wire import HEADER, VERSION, encode
from posse.results.record import RunRecord
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
