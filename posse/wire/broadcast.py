"""Sessions with several peers that get the same frames, numbered and kept once for all."""

from collections.abc import Iterable
from itertools import islice

from mypy_extensions import mypyc_attr

from posse.wire.session import CONFIRM_EVERY, MOST_BYTES, MOST_FRAMES, Session


@mypyc_attr(allow_interpreted_subclasses=True)
class BroadcastSession(Session):
    """What all of `listeners` peers are sent, from `first` on, and a session with each of them.

    A frame confirms the same number to all peers: the least that was taken from any of them, as all
    count from the same number. In lockstep that is all but the last frame. Frames are kept until
    every peer has confirmed them.
    """

    __slots__ = ("sessions",)

    def __init__(
        self,
        first: int,
        signature: bytes,
        listeners: int,
        most_frames: int = MOST_FRAMES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(first, signature, most_frames, most_bytes)
        self.sessions = tuple(_ListenerSession(self, first, signature) for _ in range(listeners))

    def wrap(self, frame: bytes) -> bytes:
        """See `Session`; the data are for all connections."""
        taken = self.sessions[0].taken if self.sessions else 0
        confirmed = self.sent
        for session in self.sessions:
            taken = min(taken, session.taken)
            confirmed = min(confirmed, session.confirmed)
        self.taken, self.confirmed = taken, confirmed
        data = super().wrap(frame)
        for session in self.sessions:
            session.sent = self.sent
        return data

    def crowded_by(self, listener: Session) -> bool:
        """See `Session.crowded`."""
        self.confirmed = min(session.confirmed for session in self.sessions)
        self._forget()
        full = 2 * self._bytes > self._most_bytes and listener.confirmed == self.confirmed
        return full or 2 * listener.unconfirmed > self._most_frames

    def leave(self, listener: Session) -> None:
        """A peer is gone: keep no frame for it."""
        self.sessions = tuple(session for session in self.sessions if session is not listener)

    def after(self, number: int) -> Iterable[bytes]:
        """The kept frames after this number."""
        return islice(self._kept, len(self._kept) - (self.sent - number), None)


@mypyc_attr(allow_interpreted_subclasses=True)
class _ListenerSession(Session):
    """The session with one of the peers. Only answers and frames sent again go to it alone."""

    __slots__ = ("_group",)

    def __init__(self, group: BroadcastSession, first: int, signature: bytes) -> None:
        super().__init__(first, signature)
        self._group = group

    def wrap(self, frame: bytes) -> bytes:
        """Not used: a frame goes to all peers."""
        raise NotImplementedError

    @property
    def crowded(self) -> bool:
        """See `Session`; a peer that is gone holds nobody up."""
        return self in self._group.sessions and self._group.crowded_by(self)

    def confirm(self) -> None:
        """See `Session`; a frame to all may have confirmed it meanwhile."""
        self._told = max(self._told, self._group._told)
        if self.taken - self._told >= CONFIRM_EVERY:
            super().confirm()

    def _unconfirmed(self) -> Iterable[bytes]:
        # for a peer that is gone nothing was kept; it may still ask
        here = self in self._group.sessions
        return self._group.after(self.confirmed) if here else ()

    def _forget(self) -> None:
        """Nothing to do: the group drops frames when it numbers the next one."""
