"""The coordinator that an agent of somebody else's is judged by, and what any is asked first."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import zmq

from posse.coordinator.report import BadReport, ReportForm
from posse.coordinator.setups import agent_setups
from posse.errors import InputError
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.wire import Codec, encode, kind_of, read_header
from posse.security import keys as key_files
from posse.security.zap import Authenticator, ZapStatus, serve_with
from posse.wire.session import ENVELOPE_BYTES, enveloped, is_numbered

WireSentence = tuple[str, Callable[[], None]]

Awaited = TypeVar("Awaited", bound=Message)

_WAIT = 5.0
"""Seconds within which an agent answers."""

_QUIET = 0.5
"""Seconds in which a dropped frame would have had its effect."""

_OUTSIDE = (1 << 32) - 1


class Silent(Exception):
    """The agent did not say what was awaited."""


class PlayedCoordinator:
    """The coordinator's end: frames as they come, and the session that this end pretends."""

    def __init__(self, endpoint: str, plan: Plan, folder: Path | None = None) -> None:
        agents = plan.spec.agents.count
        self.plan, self.endpoint = plan, endpoint
        self.setup = msgspec.structs.replace(agent_setups(plan, plan.network(0))[0], first=7)
        self.form = ReportForm(agents, 3, ("regret",), plan.system.results.log)
        kinds: tuple[type[Message], ...] = control.Join, control.Arrived, control.Ready
        kinds += control.Resume, control.Sync
        kinds += control.TO_COORDINATOR + control.TO_LABS_COORDINATOR + plan.system.server_hears
        self._codec = Codec(kinds)
        there = 1 + len(self.setup.neighbours)
        self.keys = key_files.for_coordinator(folder, there) if folder else None
        self.context = zmq.Context()
        self._socket = self.context.socket(zmq.ROUTER)
        self._socket.linger = 0
        if self.keys is not None:
            Authenticator(self.context.socket(zmq.ROUTER), self._decide, lambda *who: None).start()
            serve_with(self._socket, self.keys.own.secret)
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise InputError(f"{endpoint} cannot be bound: {error}") from None
        self._peer = b""
        self.begin()

    def _decide(self, key: str) -> ZapStatus:
        known = self.keys is not None and self.keys.rank_of(key) is not None
        return ZapStatus.YES if known else ZapStatus.NO

    def close(self) -> None:
        """Close the sockets."""
        self._socket.close()
        self.context.term()

    def begin(self) -> None:
        """A new session."""
        self.sent, self.confirmed, self.now = 0, 0, 0.0
        self.frames: list[bytes] = []
        """The frames of the session that came in order."""
        self.again: list[tuple[int, bytes]] = []
        """Those that came a second time, with their numbers."""
        self.bare: list[tuple[str, int]] = []
        """Envelopes without a frame: their marks, and what was confirmed, or is gone."""
        self._outbox: list[bytes] = []

    def frame(self, message: Message, run: int = _OUTSIDE) -> bytes:
        """The next frame of the session, in its envelope."""
        self.sent += 1
        now = 0.0 if run == _OUTSIDE else self.now
        return enveloped(
            encode(message, run, COORDINATOR, self.sent, now, 0), self.sent, self.confirmed
        )

    def send(self, data: bytes) -> None:
        """Send bytes to the agent."""
        self._socket.send_multipart([self._peer, data])

    def say(self, message: Message, run: int = _OUTSIDE) -> None:
        """Send a message in the session."""
        self.send(self.frame(message, run))

    def say_bare(self, message: Message) -> None:
        """Send what has no envelope."""
        self.send(encode(message, _OUTSIDE, COORDINATOR, 0, 0.0, 0))

    def mark(self, mark: str, number: int = 0) -> None:
        """Send an envelope without a frame."""
        code = int.from_bytes(b"pn\x01" + mark.encode(), "little")
        self.send(enveloped(b"", number, self.confirmed, code))

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
                self.bare.append((chr(data[3]), number if data[3:4] == b"G" else confirmed))
            elif number == len(self.frames) + 1:
                self.frames.append(data[ENVELOPE_BYTES:])
                message = self._decoded(self.frames[-1])
                if not isinstance(message, (control.Linked, control.SlotReached)):
                    return message
            else:
                self.again.append((number, data[ENVELOPE_BYTES:]))
        return None

    def _decoded(self, frame: bytes) -> Message:
        try:
            return self._codec.decode(read_header(frame).plane, frame)
        except RemoteProtocolError as error:
            raise Silent(f"it sent {kind_of(frame)!r:.40}: {error}") from None

    def wait(self, kind: type[Awaited], seconds: float = _WAIT) -> Awaited:
        """The next message, which must be of this kind."""
        message = self.hear(seconds)
        while isinstance(message, control.Join) and kind is not control.Join:
            message = self.hear(seconds)  # it may repeat this until it is answered
        if not isinstance(message, kind):
            got = "nothing" if message is None else type(message).__name__
            raise Silent(f"{got} came where {kind.__name__} was awaited")
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
        raise Silent(f"no {' or '.join(marks)} came")

    def repeated(self, first: int) -> None:
        """Wait until the frames from number `first` on came again, byte for byte."""
        wanted = [(n, self.frames[n - 1]) for n in range(first, len(self.frames) + 1)]
        until = time.monotonic() + _WAIT
        while time.monotonic() < until and not set(wanted) <= set(self.again):
            self.hear(0.05)
        if missing := [n for n, _ in wanted if n not in {number for number, _ in self.again}]:
            raise Silent(f"frame {missing[0]} did not come again")
        if not set(wanted) <= set(self.again):
            raise Silent("a frame came again with other bytes")


class ForeignChecks:
    """What is asked of an agent of any system before its first run, in this order."""

    def __init__(self, at: PlayedCoordinator, wait: float, keys: Path | None) -> None:
        self.at, self.wait, self.keys = at, wait, keys
        self.joined: list[control.Join] = []
        self.inbox = ""
        self.run = -1

    def __iter__(self) -> Iterator[WireSentence]:
        rank = "that of its key" if self.keys else "-1"
        yield (
            f"it sends Join: rank {rank}, no inbox, 8 random bytes, its wall clock",
            lambda: self.joins(self.wait),
        )
        yield "after Welcome comes Arrived, the first frame of the session", self.arrives
        yield "P is answered by C or A with how far it is", self.says_how_far
        yield "after Unknown it joins anew, with a new session", self.joins_anew
        yield "after Configure it sends Ready", self.is_ready
        yield "a frame that came before is dropped", self.drops_duplicates

    def close(self) -> None:
        """Close what these checks opened."""

    def joins(self, seconds: float = _WAIT) -> None:
        """Check its `Join`."""
        join = self.at.wait(control.Join, seconds)
        self.joined.append(join)
        ranks = (0,) if self.keys else (-1,) if len(self.joined) == 1 else (-1, 0)
        if join.rank not in ranks or join.inbox or join.version or len(join.incarnation) != 8:
            raise Silent("rank, inbox, version or the 8 random bytes are others")
        if abs(join.wall - time.time()) > 30:
            raise Silent("its clock is off by more than 30 s")

    def arrives(self) -> None:
        """Welcome it, and wait for `Arrived`."""
        self.at.say_bare(control.Welcome(0, self.at.plan.spec.system))
        self.inbox = self.at.wait(control.Arrived).inbox
        self.at.confirmed = 1

    def joins_anew(self) -> None:
        """Forget the agent."""
        self.at.say_bare(control.Unknown())
        self.joins()
        self.at.begin()
        self.arrives()

    def says_how_far(self) -> None:
        """Ask how far it is."""
        self.at.mark("P", self.at.sent)
        if (confirmed := self.at.wait_for_mark("CA")) != self.at.sent:
            raise Silent(f"it confirms {confirmed} of {self.at.sent}")

    def is_ready(self) -> None:
        """Configure it, and wait for `Ready`, which names the setup by its `first`."""
        self.at.say(control.Configure(0, msgspec.msgpack.encode(self.at.setup)))
        if self.at.wait(control.Ready).first != self.at.setup.first:
            raise Silent("its `first` is another one than that of the setup")

    def drops_duplicates(self) -> None:
        """Send the last frame again."""
        self.at.sent -= 1
        self.at.say(control.Configure(0, msgspec.msgpack.encode(self.at.setup)))
        if (message := self.at.hear(_QUIET)) is not None:
            raise Silent(f"it answered by {type(message).__name__}")
        self.says_how_far()

    def begins(self) -> None:
        """The next run."""
        self.run += 1
        self.at.now, self.at.confirmed = 0.0, len(self.at.frames)
        self.at.say(control.Begin(1, self.run), self.run)

    def reports(self) -> control.Report:
        """Stop the run, and check what the agent reports."""
        self.at.say(control.Stop(), self.run)
        report = self.at.wait(control.Report)
        try:
            self.at.form.check(0, report)
        except BadReport as error:
            raise Silent(f"its report cannot be true: {error}") from None
        return report

    def leaves(self) -> None:
        """Let it go."""
        self.at.confirmed = len(self.at.frames)
        self.at.say(control.Goodbye())
        if (confirmed := self.at.wait_for_mark("C")) != self.at.sent:
            raise Silent(f"it confirms {confirmed} of {self.at.sent}")
