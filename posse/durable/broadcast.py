"""Sessions with several peers that get the same frames, numbered and kept once for all."""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from posse.durable.session import (
    CONFIRM_EVERY,
    MOST_BYTES,
    MOST_FRAMES,
    Session,
    SessionFull,
    enveloped,
)


class Broadcast:
    """One sequence of numbers, from `first` on, and a session with each of `listeners` peers.

    A frame confirms the same number to all peers: the least that was taken from any of them, as all
    count from the same number. In lockstep that is all but the last frame. Frames are kept until
    every peer has confirmed them.
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
        """The number that was confirmed to all peers."""
        self.sessions = tuple(_Listener(self, first, signature) for _ in range(listeners))
        self._kept: deque[bytes] = deque()
        self._sent = first
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes

    def wrap(self, frame: bytes) -> bytes:
        """Number and keep a frame; returns the data for the connections. Or `SessionFull`."""
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
        return enveloped(frame, self._sent, taken)

    def crowded_by(self, listener: Session) -> bool:
        """See `Session.crowded`."""
        self._forget(min(session.confirmed for session in self.sessions))
        slowest = listener.confirmed == self._sent - len(self._kept)
        full = 2 * self._bytes > self._most_bytes and slowest
        return full or 2 * listener.unconfirmed > self._most_frames

    def leave(self, listener: Session) -> None:
        """A peer is gone: keep no frame for it."""
        self.sessions = tuple(session for session in self.sessions if session is not listener)

    def after(self, number: int) -> Iterable[bytes]:
        """The kept frames after this number."""
        return islice(self._kept, len(self._kept) - (self._sent - number), None)

    def _forget(self, number: int) -> None:
        while len(self._kept) > self._sent - number:
            self._bytes -= len(self._kept.popleft())


class _Listener(Session):
    """The session with one of the peers. Only answers and frames sent again go to it alone."""

    __slots__ = ("_line",)

    def __init__(self, line: Broadcast, first: int, signature: bytes) -> None:
        super().__init__(first, signature)
        self._line = line

    def wrap(self, frame: bytes) -> bytes:
        """Not used: a frame goes to all peers."""
        raise NotImplementedError

    @property
    def crowded(self) -> bool:
        """See `Session`; a peer that is gone holds nobody up."""
        return self in self._line.sessions and self._line.crowded_by(self)

    def confirm(self) -> None:
        """See `Session`; a frame to all may have confirmed it meanwhile."""
        self._told = max(self._told, self._line.told)
        if self.taken - self._told >= CONFIRM_EVERY:
            super().confirm()

    def _unconfirmed(self) -> Iterable[bytes]:
        return self._line.after(self.confirmed)

    def _forget(self) -> None:
        """Nothing to do: the line drops frames when it numbers the next one."""
