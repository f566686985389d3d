"""What makes a link lose nothing when its connection does, without input or output.

One `Session` stands at each end of a link. It numbers the frames that go, keeps them until the
other end confirms them, and lets each frame that comes through once and in order. Frames stay as
they were encoded; before each stands an envelope:

    offset  size  field
    0       4     mark: b"pn", version of this envelope, what follows
    4       4     number of the frame, counted from 1 per link and direction
    8       4     confirmed: the highest number taken in order from the other end

What follows is one of:

    F   a frame
    C   nothing: a confirmation that had no frame to go with
    A   nothing: send again all that comes after `confirmed`
    P   nothing: `number` is the last that was sent; say how far you are

Integers are little-endian, and numbers go on with 0 after 2^32 - 1. What does not begin with such a
mark has no number: joining, whose frames make sense on one connection only. It is passed on as it
is.

Where both ends are told beforehand from which number to count (agent and agent, by the
coordinator), it is another for each session, as TCP's first numbers are: what is still under way
from the session before is then far from what is awaited, and dropped. An inbox that many send to
finds the sender of a frame in the frame; what carries none is signed.

A frame that was taken before is dropped; one that comes too early is dropped too, and what is
missing asked for again, with all that follows ("go back N"). Over ZeroMQ's streams that happens
only when a connection was lost.
"""

import struct
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from mypy_extensions import mypyc_attr

_ENVELOPE = struct.Struct("<4sII")
ENVELOPE_BYTES: Final = _ENVELOPE.size
_pack: Final = _ENVELOPE.pack
_unpack: Final = _ENVELOPE.unpack_from

MAGIC: Final = b"pn"
"""What all that a session sends begins with."""

_U32: Final = 0xFFFF_FFFF
_HALF: Final = 1 << 31
"""A number that is less than this ahead of another is later, else earlier."""

FRAME: Final = MAGIC + b"\x01F"
_CONFIRM: Final = MAGIC + b"\x01C"
_AGAIN: Final = MAGIC + b"\x01A"
_PROBE: Final = MAGIC + b"\x01P"

CONFIRM_EVERY: Final = 64
"""Frames taken, with nothing to send, after which that is confirmed by itself. A link on which one
end only listens so costs 1.6 % more frames, and its sender keeps a few hundred."""

MOST_FRAMES = 100_000
"""Frames kept for a peer: ZeroMQ's own queue has the same mark, `posse.engines.sockets`."""

MOST_BYTES = 64 << 20
"""Bytes kept for a peer: eight of the largest frames there are."""


LATE = 15
"""Looks, ten in a second, in which nothing is confirmed before the other end is asked."""

SOON, SOON_AFTER = 2, 16
"""It is asked after so few already where so many frames went since it was last asked: in lockstep a
lost frame holds everybody up, and a link on which little is said has no more questions for it."""


class SessionState(NamedTuple):
    """What is needed to go on with a session: its numbers, and the frames that are kept."""

    taken: int = 0
    confirmed: int = 0
    kept: tuple[bytes, ...] = ()


class SessionFull(Exception):
    """The other end confirmed nothing for so long that no more can be kept for it."""


class SessionBroken(Exception):
    """The other end is not the one that this session was begun with."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Session:
    """See the module's text. Both ends count from `first`; `signature` follows what has no frame.

    `taken` is the highest number taken in order, `sent` the last that was given to a frame and
    `confirmed` the last that the other end is known to have; they are not cut to 32 bits. After
    `take`, `resume` and the like `replies` holds what is to be handed to the connection, oldest
    first; whoever does so clears it.
    """

    __slots__ = (
        "_asked",
        "_asked_at",
        "_bytes",
        "_kept",
        "_most_bytes",
        "_most_frames",
        "_probed",
        "_repeated",
        "_signature",
        "_silent",
        "_told",
        "bare",
        "confirmed",
        "replies",
        "resent",
        "resent_bytes",
        "sent",
        "taken",
    )  # a frame costs a tenth less: with many links nothing of a session is in the cache

    def __init__(
        self,
        first: int = 0,
        signature: bytes = b"",
        most_frames: int = MOST_FRAMES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.taken = first
        self.replies: list[bytes] = []
        self.resent = 0
        """Frames sent again so far."""
        self.resent_bytes = 0
        """Their bytes, without envelopes."""
        self.bare = 0
        """Confirmations, questions and the like, which carried no frame, so far."""
        self._signature = signature
        self.sent = first
        self.confirmed = first
        self._told = first
        self._asked = -1
        self._asked_at = first
        self._probed = first
        self._silent = 0
        self._repeated = -1
        self._kept: deque[bytes] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes

    @property
    def state(self) -> SessionState:
        """See `restore`."""
        return SessionState(self.taken, self.confirmed, tuple(self._unconfirmed()))

    def restore(self, state: SessionState) -> None:
        """Be where a session was, over no connection."""
        self.taken = self._told = state.taken
        self.confirmed = self._probed = state.confirmed
        self.sent = state.confirmed
        for frame in state.kept:
            self.wrap(frame)

    # --- what goes -------------------------------------------------------------------------------

    def wrap(self, frame: bytes) -> bytes:
        """Number and keep a frame; returns what is to be handed to the connection."""
        kept, keep, size = self._kept, self.sent - self.confirmed, self._bytes
        while len(kept) > keep:
            size -= len(kept.popleft())
        self._bytes = size
        if size + len(frame) > self._most_bytes or keep >= self._most_frames:
            raise SessionFull
        number, taken = self.sent + 1, self.taken
        self._bytes, self.sent, self._told = size + len(frame), number, taken
        kept.append(frame)
        return _pack(FRAME, number & _U32, taken & _U32) + frame

    @property
    def unconfirmed(self) -> int:
        """Frames that the other end is not known to have."""
        return self.sent - self.confirmed

    @property
    def crowded(self) -> bool:
        """Whether half of what may be kept is: whoever can wait with more should."""
        self._forget()
        return 2 * self.unconfirmed > self._most_frames or 2 * self._bytes > self._most_bytes

    def resume(self, taken: int) -> None:
        """There is a new connection, and the other end has taken so many: the rest goes again."""
        if not self.confirmed <= taken <= self.sent:
            raise SessionBroken(f"it has taken {taken}, between {self.confirmed} and {self.sent}")
        self.confirmed = taken
        self._again()

    def reconnected(self) -> None:
        """There is a new connection, and nobody says what the other end has taken."""
        self._repeated = self.confirmed  # what it asks for now is on its way
        self._again()

    def probe(self) -> None:
        """To be called ten times a second: asks, if nothing is confirmed for long; see `LATE`."""
        self._forget()
        if self._probed != self.confirmed or self.sent == self.confirmed:
            self._probed = self.confirmed
            self._silent = 0
            return
        self._silent += 1
        late = self._silent % LATE == 0
        if late:
            self._repeated = -1
        if late or (self._silent == SOON and self.sent - self._asked_at >= SOON_AFTER):
            self._asked_at = self.sent
            self.ask()

    def ask(self) -> None:
        """Ask how much the other end has taken, though it confirmed all."""
        self._bare(_PROBE, self.sent)

    def confirm(self) -> None:
        """Say how much was taken, now."""
        self._bare(_CONFIRM)

    def miss(self) -> None:
        """Ask for all that was not taken: this end was started again."""
        self._bare(_AGAIN)

    def _tell(self) -> None:
        """Nothing went back for so long that what was taken is to be confirmed by itself."""
        self._bare(_CONFIRM)

    def _again(self) -> None:
        for number, frame in enumerate(self._unconfirmed(), self.confirmed + 1):
            self.replies.append(envelope(number, self.taken) + frame)
            self.resent_bytes += len(frame)
        self._told = self.taken
        self._asked = -1
        self.resent += self.sent - self.confirmed

    def _unconfirmed(self) -> Iterable[bytes]:
        self._forget()
        return self._kept

    def _bare(self, mark: bytes, number: int = 0) -> None:
        self.replies.append(_pack(mark, number & _U32, self.taken & _U32) + self._signature)
        self._told = self.taken
        self.bare += 1

    def _forget(self) -> None:
        """Keep no longer what is confirmed."""
        kept, keep = self._kept, self.sent - self.confirmed
        while len(kept) > keep:
            self._bytes -= len(kept.popleft())

    # --- what comes ------------------------------------------------------------------------------

    def take(self, data: bytes) -> bytes | None:
        """The frame in what came, if it is the next one, or has no number; else None."""
        try:
            mark, number, confirmed = _unpack(data)
        except struct.error:
            return data
        if mark == FRAME:
            new = (confirmed - self.confirmed) & _U32
            if new <= self.sent - self.confirmed:
                self.confirmed += new
            taken = self.taken + 1
            if number == taken & _U32:
                self.taken = taken
                if taken - self._told >= CONFIRM_EVERY:
                    self._tell()
                return data[ENVELOPE_BYTES:]
            self._out_of_order(number)
            return None
        if mark[:2] != MAGIC:
            return data
        self._take_bare(mark, number, confirmed)
        return None

    def _take_bare(self, mark: bytes, number: int, confirmed: int) -> None:
        new = (confirmed - self.confirmed) & _U32
        if new <= self.unconfirmed:
            self.confirmed += new
        if mark == _AGAIN and self._repeated != self.confirmed:
            # else a peer that asks and does not read would fill our memory
            self._repeated = self.confirmed
            self._again()
        elif mark == _PROBE:
            self._bare(_AGAIN if self._is_ahead(number) else _CONFIRM)

    def _is_ahead(self, number: int) -> bool:
        return 0 < (number - self.taken) & _U32 < _HALF

    def _out_of_order(self, number: int) -> None:
        if self._is_ahead(number) and self._asked != self.taken:
            self._asked = self.taken
            self._bare(_AGAIN)


def envelope(number: int, confirmed: int) -> bytes:
    """What stands before a frame."""
    return _pack(FRAME, number & _U32, confirmed & _U32)


def is_numbered(data: bytes) -> bool:
    """Whether this belongs to a session; of one that was never begun here nothing is taken."""
    return data.startswith(MAGIC) and len(data) >= ENVELOPE_BYTES


def content(data: bytes) -> bytes:
    """What is behind the envelope, if there is one."""
    return data[ENVELOPE_BYTES:] if is_numbered(data) else data
