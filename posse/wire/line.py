"""A line: one end of a link, with all that a frame goes through between a host and a socket.

    sends     the session numbers and keeps the frame, the journal is committed, the tap sees it,
              the socket takes it
    receives  the session takes the frame or drops it, the journal records what changed the session,
              the session's answers go out as above

The order is what makes a restart exact: nothing leaves before all that it follows from is on disk.
A line asks the world for one thing, `Transmit`; a simulated network is another one.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import zmq

from posse.durable.capture import Tap
from posse.durable.journal import FRAME, Journal
from posse.errors import RunFailed
from posse.protocol.machine import peer_name
from posse.wire.session import ENVELOPE_BYTES, Session, SessionFull

Transmit = Callable[..., object]
"""Hands data to a socket; ZeroMQ's flags may follow them. `zmq.Again` if it takes no more."""

_NOBLOCK: Final = int(zmq.NOBLOCK)


class PeerStalled(RunFailed):
    """A peer does not read what is sent to it."""


class Interceptor:
    """What stands between all sessions of a process and its sockets: its journal and its tap.

    `source` returns this process's rank, None as long as it has none. While `recording` is False
    the journal records nothing that is received.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        tap: Tap | None = None,
        source: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.journal = journal
        self.recording = True
        self._tap = tap
        self._source = source
        self.idle = journal is None and tap is None
        """Whether data pass as they are."""

    def intercept(self, ends: Iterable[int | None], data: bytes) -> bool:
        """Commit the journal and show the tap what goes to these ends; False if it must not go."""
        journal = self.journal
        if journal is not None:
            if journal.replaying:
                return False  # the sessions know what the other ends still miss
            journal.commit()
        if self._tap is not None:
            source = self._source()
            for end in ends:
                self._tap(source, end, data)
        return True

    def before(self, ends: Callable[[], Iterable[int | None]], send: Transmit) -> Transmit:
        """`send`, with this before it. `ends` returns who is sent to."""
        if self.idle:
            return send

        def transmit(data: bytes, flags: int = 0) -> object:
            return send(data, flags) if self.intercept(ends(), data) else None

        return transmit

    def record(self, end: int, session: Session, data: bytes) -> bytes | None:
        """As `session.take`, and record `data`, but only as far as it changed the session."""
        journal = self.journal
        if journal is None or not self.recording:
            return session.take(data)
        before = session.taken + session.confirmed
        frame = session.take(data)
        if frame is not None:
            journal.add(FRAME, end, data)
        elif session.taken + session.confirmed != before:
            journal.add(FRAME, end, data[:ENVELOPE_BYTES])
        return frame


class Line:
    """See the module's text. `end`: who is at the other end; `up`: whether data may go out now.

    While a line is down its session keeps what is sent. On watched links nothing may go then: it
    would arrive out of order. The session's own answers are dropped where a socket takes no more,
    and the other end asks again.
    """

    __slots__ = ("_interceptor", "end", "session", "transmit", "up")

    def __init__(
        self,
        end: int,
        session: Session,
        transmit: Transmit,
        interceptor: Interceptor,
        *,
        up: bool = True,
    ) -> None:
        self.end = end
        self.session = session
        self.transmit = transmit
        self.up = up
        self._interceptor = interceptor

    def send(self, frame: bytes) -> None:
        """Send a frame of the session; `PeerStalled` if too much waits for the other end."""
        try:
            data = self.session.wrap(frame)
            if self.up:
                self.transmit(data)
        except (zmq.Again, SessionFull):
            raise PeerStalled(f"{peer_name(self.end)} does not read what is sent to it") from None

    def receive(self, data: bytes) -> bytes | None:
        """The next frame, if `data` has it; the session's answers go out first."""
        interceptor, session = self._interceptor, self.session
        if interceptor.journal is None:
            frame = session.take(data)
        else:
            frame = interceptor.record(self.end, session, data)
        if session.replies:
            self.answer()
        return frame

    def answer(self) -> None:
        """Send what the session has to say itself."""
        if self.up:
            for data in self.session.replies:
                with suppress(zmq.Again):
                    self.transmit(data, _NOBLOCK)
        self.session.replies.clear()

    def changed(self, *, up: bool) -> None:
        """The connection is lost, or there is a new one."""
        self.up = up
        if up:
            self.session.reconnected()
            if self.session.restored:
                self.session.miss()
            self.answer()

    def resume(self, taken: int) -> None:
        """Over a new connection send all after frame `taken`; `SessionBroken` if that is gone."""
        self.session.resume(taken)
        self.up = True
        self.answer()

    def probe(self) -> None:
        """Let the session ask a connected peer that confirms nothing."""
        if self.up:
            self.session.probe()
            self.answer()

    def ask(self) -> None:
        """Ask how much was taken, because nothing is sent before that is known."""
        if self.up:
            self.session.ask()
            self.answer()
