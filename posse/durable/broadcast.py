"""Sessions with several ends to which the same frames go, numbered and kept once for all."""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from posse.durable.session import (
    CONFIRM_EVERY,
    MOST_BYTES,
    MOST_FRAMES,
    Session,
    SessionFull,
    envelope,
)


class Broadcast:
    """One line of numbers, from `first` on, and a session with each of `listeners` ends.

    A frame confirms to all ends at once, and so the least that was taken from any of them: all
    count from the same number. In lockstep that is all but the last. Frames are kept until every
    end confirmed them.
    """

    def __init__(
        self,
        first: int,
        signature: bytes,
        listeners: int,
        most_frames: int = MOST_FRAMES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.told = first
        """What was confirmed to all ends."""
        self.sessions = tuple(_Listener(self, first, signature) for _ in range(listeners))
        self._kept: deque[bytes] = deque()
        self._forgotten = first
        """The last number that is not kept any more."""
        self._sent = first
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes

    def wrap(self, frame: bytes) -> bytes:
        """Number and keep a frame; returns what is to be handed to the connections."""
        taken = self.sessions[0].taken if self.sessions else 0
        confirmed = self._sent
        for session in self.sessions:
            taken = min(taken, session.taken)
            confirmed = min(confirmed, session.confirmed)
        self._forget(confirmed)
        self._bytes += len(frame)
        if self._bytes > self._most_bytes or len(self._kept) >= self._most_frames:
            self._bytes -= len(frame)
            raise SessionFull
        self._kept.append(frame)
        self._sent += 1
        for session in self.sessions:
            session.sent = self._sent
        self.told = taken
        return envelope(self._sent, taken) + frame

    def crowded_by(self, listener: Session) -> bool:
        """See `Session.crowded`."""
        self._forget(min(session.confirmed for session in self.sessions))
        full = 2 * self._bytes > self._most_bytes and listener.confirmed == self._forgotten
        return full or 2 * listener.unconfirmed > self._most_frames

    def leave(self, listener: Session) -> None:
        """One end is gone: no frame is kept for it any more."""
        self.sessions = tuple(session for session in self.sessions if session is not listener)

    def after(self, number: int) -> Iterable[bytes]:
        """The frames that are kept from after this number on."""
        return islice(self._kept, number - self._forgotten, None)

    def _forget(self, number: int) -> None:
        for _ in range(number - self._forgotten):
            self._bytes -= len(self._kept.popleft())
        self._forgotten = number


class _Listener(Session):
    """The session with one of the ends; what goes to it alone are answers, and what it missed."""

    __slots__ = ("_line",)

    def __init__(self, line: Broadcast, first: int, signature: bytes) -> None:
        super().__init__(first, signature)
        self._line = line

    def wrap(self, frame: bytes) -> bytes:
        """Not here: a frame goes to all."""
        raise NotImplementedError

    @property
    def crowded(self) -> bool:
        """See `Session`; who is gone holds nobody up."""
        return self in self._line.sessions and self._line.crowded_by(self)

    def _tell(self) -> None:
        self._told = max(self._told, self._line.told)
        if self.taken - self._told >= CONFIRM_EVERY:
            self.confirm()

    def _unconfirmed(self) -> Iterable[bytes]:
        return self._line.after(self.confirmed)

    def _forget(self) -> None:
        """Not here: the line forgets, when it numbers the next."""
