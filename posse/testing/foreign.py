"""Plays coordinator and bad network to one agent of `mase` that shares no code with posse.

Each finding is a sentence of docs/wire.md that the agent kept or broke. It joins once; a run of it
ends before the next begins. Not tried: keys, neighbours (`Moved`, the wrap of numbers at 2^32), the
clocks `virtual` and `slots`.
"""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
import zmq

from posse.coordinator.report import BadReport, ReportForm
from posse.coordinator.setups import agent_setups
from posse.errors import InputError
from posse.plan import prepare
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.wire import Codec, encode, kind_of, read_header
from posse.testing.judge import JudgeFinding
from posse.wire.session import ENVELOPE_BYTES, enveloped, is_numbered

Awaited = TypeVar("Awaited", bound=Message)

_WAIT = 5.0
"""Seconds within which an agent answers."""

_QUIET = 0.5
"""Seconds in which a dropped frame would have had its effect."""

_MEANS = [1.0, 0.0, 0.0]
_OUTSIDE = (1 << 32) - 1

_PLAN = {
    "system": "mase",
    "agents": {"count": 40},
    "arms": {"kind": "bernoulli", "means": _MEANS},
    "parameters": {"beta": 0.5},
    "engine": {"clock": "wall"},
}


class _Silent(Exception):
    """The agent did not say what was awaited."""


class _Played:
    """The coordinator's end: frames as they come, and the session that this end pretends."""

    def __init__(self, endpoint: str) -> None:
        plan = prepare(_PLAN)
        self.setup = agent_setups(plan, plan.network(0))[0]
        self.form = ReportForm(40, 3, ("regret",), plan.system.results.log)
        kinds: tuple[type[Message], ...] = control.Join, control.Arrived, control.Ready
        kinds += control.Resume, control.Sync
        kinds += control.TO_COORDINATOR + control.TO_LABS_COORDINATOR + plan.system.server_hears
        self._codec = Codec(kinds)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise InputError(f"{endpoint} cannot be bound: {error}") from None
        self._peer = b""
        self.begin()

    def close(self) -> None:
        self._socket.close()
        self._context.term()

    def begin(self) -> None:
        """A new session."""
        self.sent, self.told = 0, 0
        self.frames: list[bytes] = []
        """The frames of the session that came in order."""
        self.again: list[tuple[int, bytes]] = []
        """Those that came a second time, with their numbers."""
        self.bare: list[tuple[str, int]] = []
        """Envelopes without a frame: their marks, and what was confirmed."""
        self._outbox: list[bytes] = []

    def frame(self, message: Message, run: int = _OUTSIDE) -> bytes:
        self.sent += 1
        return enveloped(encode(message, run, COORDINATOR, self.sent, 0.0, 0), self.sent, self.told)

    def send(self, data: bytes) -> None:
        self._socket.send_multipart([self._peer, data])

    def say(self, message: Message, run: int = _OUTSIDE) -> None:
        self.send(self.frame(message, run))

    def say_bare(self, message: Message) -> None:
        """What has no envelope."""
        self.send(encode(message, _OUTSIDE, COORDINATOR, 0, 0.0, 0))

    def mark(self, mark: str, number: int = 0) -> None:
        code = int.from_bytes(b"pn\x01" + mark.encode(), "little")
        self.send(enveloped(b"", number, self.told, code))

    def hear(self, seconds: float = _WAIT) -> Message | None:
        """The next message of the agent, in order; None if none comes."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not self._socket.poll(int(1000 * left) + 1):
                continue
            self._peer, data = self._socket.recv_multipart()[:2]
            if not is_numbered(data):
                message = self._decoded(data)
                if isinstance(message, control.Sync):
                    self.say_bare(control.Synced(message.sent, message.sent))
                    continue
                return message
            number = int.from_bytes(data[4:8], "little")
            confirmed = int.from_bytes(data[8:12], "little")
            if len(data) == ENVELOPE_BYTES:
                self.bare.append((chr(data[3]), confirmed))
            elif number == len(self.frames) + 1:
                self.frames.append(data[ENVELOPE_BYTES:])
                return self._decoded(self.frames[-1])
            else:
                self.again.append((number, data[ENVELOPE_BYTES:]))
        return None

    def _decoded(self, frame: bytes) -> Message:
        try:
            return self._codec.decode(read_header(frame).plane, frame)
        except RemoteProtocolError as error:
            raise _Silent(f"it sent {kind_of(frame)!r:.40}: {error}") from None

    def wait(self, kind: type[Awaited], seconds: float = _WAIT) -> Awaited:
        message = self.hear(seconds)
        while isinstance(message, control.Join) and kind is not control.Join:
            message = self.hear(seconds)  # it may repeat this until it is answered
        if not isinstance(message, kind):
            got = "nothing" if message is None else type(message).__name__
            raise _Silent(f"{got} came where {kind.__name__} was awaited")
        return message

    def wait_for_mark(self, marks: str) -> int:
        """What the agent confirms with one of these marks."""
        self.bare.clear()
        until = time.monotonic() + _WAIT
        while time.monotonic() < until:
            self.hear(0.05)
            for mark, confirmed in self.bare:
                if mark in marks:
                    return confirmed
        raise _Silent(f"no {' or '.join(marks)} came")

    def repeated(self, first: int) -> None:
        """Wait until the frames from number `first` on came again, byte for byte."""
        wanted = [(n, self.frames[n - 1]) for n in range(first, len(self.frames) + 1)]
        until = time.monotonic() + _WAIT
        while time.monotonic() < until and not set(wanted) <= set(self.again):
            self.hear(0.05)
        if missing := [n for n, _ in wanted if n not in {number for number, _ in self.again}]:
            raise _Silent(f"frame {missing[0]} did not come again")
        if not set(wanted) <= set(self.again):
            raise _Silent("a frame came again with other bytes")


def judge_agent(endpoint: str, wait: float = 60.0) -> Iterator[JudgeFinding]:
    """Wait for an agent to join at `endpoint`, and tick off what it keeps; ends at what it breaks.

    `InputError` if the address cannot be bound.
    """
    played = _Played(endpoint)
    try:
        for sentence, check in _Checks(played, wait):
            try:
                check()
            except _Silent as error:
                yield JudgeFinding(sentence, False, str(error), f"posse judge {endpoint}")
                return
            yield JudgeFinding(sentence, True, "", "")
    finally:
        played.close()


class _Checks:
    """What is asked of an agent, in this order."""

    def __init__(self, at: _Played, wait: float) -> None:
        self.at, self.wait = at, wait
        self.joined: list[control.Join] = []

    def __iter__(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield (
            "it sends Join: rank -1, no inbox, 8 random bytes, its wall clock",
            lambda: self.joins(self.wait),
        )
        yield "after Welcome comes Arrived, the first frame of the session", self.arrives
        yield "P is answered by C or A with how far it is", self.says_how_far
        yield "after Unknown it joins anew, with a new session", self.joins_anew
        yield "after Configure it sends Ready", self.is_ready
        yield "a frame that came before is dropped", self.drops_duplicates
        yield "what is missing is asked for with A", self.asks_for_missing
        yield "it votes as mase does, each Vote before Finished", self.votes
        yield "frames of a run have its source, and rising sequences", self.numbers_frames
        yield (
            "after A everything that is not confirmed comes again, byte for byte",
            self.sends_again,
        )
        yield "after Whose comes Resume, and after Resumed the rest again", self.resumes
        yield "after Stop comes a Report that can be true", self.reports
        yield "another Begin begins another run, its sequence from 0", self.begins_again
        yield "Goodbye is confirmed", self.leaves

    def joins(self, seconds: float = _WAIT) -> None:
        join = self.at.wait(control.Join, seconds)
        self.joined.append(join)
        if join.rank != -1 or join.inbox or join.version or len(join.incarnation) != 8:
            raise _Silent("rank, inbox, version or the 8 random bytes are others")
        if abs(join.wall - time.time()) > 30:
            raise _Silent("its clock is off by more than 30 s")

    def arrives(self) -> None:
        self.at.say_bare(control.Welcome(0, "mase"))
        self.at.wait(control.Arrived)
        self.at.told = 1

    def joins_anew(self) -> None:
        self.at.say_bare(control.Unknown())
        self.joins()
        self.at.begin()
        self.arrives()

    def says_how_far(self) -> None:
        self.at.mark("P", self.at.sent)
        if (confirmed := self.at.wait_for_mark("CA")) != self.at.sent:
            raise _Silent(f"it confirms {confirmed} of {self.at.sent}")

    def is_ready(self) -> None:
        self.at.say(control.Configure(0, msgspec.msgpack.encode(self.at.setup)))
        self.at.wait(control.Ready)

    def drops_duplicates(self) -> None:
        self.at.sent -= 1
        self.at.say(control.Configure(0, msgspec.msgpack.encode(self.at.setup)))
        if (message := self.at.hear(_QUIET)) is not None:
            raise _Silent(f"it answered by {type(message).__name__}")
        self.says_how_far()

    def asks_for_missing(self) -> None:
        begin, lost = self.at.frame(control.Begin(1, 0), 0), self.at.frame(control.Stop(), 0)
        self.at.send(lost)
        if (confirmed := self.at.wait_for_mark("A")) != self.at.sent - 2:
            raise _Silent(f"it confirms {confirmed}, not {self.at.sent - 2}")
        self.at.sent -= 1
        self.at.send(begin)

    def votes(self) -> None:
        voted: list[int] = []
        while not isinstance(message := self.at.hear(), control.Finished):
            if message is None:
                raise _Silent("no Finished came")
            arms = list(getattr(message, "arms", ()))
            if arms != sorted(arms):
                raise _Silent("the arms of its Vote are not sorted")
            voted += arms
        if sorted(voted) != [1, 2] or message.arm != 0:
            raise _Silent(f"it voted against {voted} and answers {message.arm}")

    def numbers_frames(self) -> None:
        headers = [read_header(frame) for frame in self.at.frames if read_header(frame).run == 0]
        if [h.sequence for h in headers] != sorted({h.sequence for h in headers}):
            raise _Silent("a sequence is not above the last")
        if {h.source for h in headers} != {0}:
            raise _Silent("a frame has another source than its rank")

    def sends_again(self) -> None:
        self.at.again.clear()
        self.at.mark("A")
        self.at.repeated(self.at.told + 1)

    def resumes(self) -> None:
        self.at.say_bare(control.Whose())
        resume = self.at.wait(control.Resume)
        if resume.incarnation != self.joined[-1].incarnation or resume.rank != 0:
            raise _Silent("its Resume has another rank, or other random bytes than its Join")
        if resume.connection < 2 or resume.taken != self.at.sent:
            raise _Silent(f"connection {resume.connection}, {resume.taken} of {self.at.sent} taken")
        self.at.again.clear()
        self.at.say_bare(control.Resumed(self.at.told))
        self.at.repeated(self.at.told + 1)

    def reports(self) -> None:
        self.at.say(control.Stop(), 0)
        report = self.at.wait(control.Report)
        try:
            self.at.form.check(0, report)
        except BadReport as error:
            raise _Silent(f"its report cannot be true: {error}") from None

    def begins_again(self) -> None:
        self.at.told = len(self.at.frames)
        self.at.say(control.Begin(1, 1), 1)
        self.votes()
        header = read_header(self.at.frames[self.at.told])
        if (header.run, header.sequence) != (1, 0):
            raise _Silent(f"its first frame is of run {header.run}, sequence {header.sequence}")
        self.at.say(control.Stop(), 1)
        self.at.wait(control.Report)

    def leaves(self) -> None:
        self.at.told = len(self.at.frames)
        self.at.say(control.Goodbye())
        if (confirmed := self.at.wait_for_mark("C")) != self.at.sent:
            raise _Silent(f"it confirms {confirmed} of {self.at.sent}")
