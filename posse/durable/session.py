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

_ENVELOPE = struct.Struct("<4sII")
ENVELOPE_BYTES = _ENVELOPE.size
_pack = _ENVELOPE.pack
_unpack = _ENVELOPE.unpack_from

_MAGIC = b"pn"
_U32 = 0xFFFF_FFFF
_HALF = 1 << 31
"""A number that is less than this ahead of another is later, else earlier."""

_FRAME, _CONFIRM, _AGAIN, _PROBE = (_MAGIC + b"\x01" + kind for kind in (b"F", b"C", b"A", b"P"))

CONFIRM_EVERY = 64
"""Frames taken, with nothing to send, after which that is confirmed by itself. A link on which one
end only listens so costs 1.6 % more frames, and its sender keeps a few hundred."""

MOST_FRAMES = 100_000
"""Frames kept for a peer: ZeroMQ's own queue has the same mark, `posse.engines.sockets`."""

MOST_BYTES = 64 << 20
"""Bytes kept for a peer: eight of the largest frames there are."""


class SessionFull(Exception):
    """The other end confirmed nothing for so long that no more can be kept for it."""


class SessionBroken(Exception):
    """The other end is not the one that this session was begun with."""


class Session:
    """See the module's text. Both ends count from `first`; `signature` follows what has no frame.

    `taken` is the highest number taken in order, not cut to 32 bits. After `take` and `resume`,
    `replies` holds what is to be handed to the connection, oldest first; whoever does so clears it.
    """

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
        self.duplicates = 0
        """Frames that came again so far."""
        self.bare = 0
        """Confirmations, questions and the like, which carried no frame, so far."""
        self._signature = signature
        self._sent = first
        self._confirmed = first
        self._told = first
        self._asked = -1
        self._probed = first
        self._repeated = -1
        self._kept: deque[bytes] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes

    # --- what goes -------------------------------------------------------------------------------

    def wrap(self, frame: bytes) -> bytes:
        """Number and keep a frame; returns what is to be handed to the connection."""
        size, number, taken = self._bytes + len(frame), self._sent + 1, self.taken
        if size > self._most_bytes or number - self._confirmed > self._most_frames:
            raise SessionFull
        self._bytes, self._sent, self._told = size, number, taken
        self._kept.append(frame)
        return _pack(_FRAME, number & _U32, taken & _U32) + frame

    @property
    def unconfirmed(self) -> int:
        """Frames that are kept."""
        return len(self._kept)

    def resume(self, taken: int) -> None:
        """There is a new connection, and the other end has taken so many: the rest goes again."""
        if not self._confirmed <= taken <= self._sent:
            raise SessionBroken(f"it has taken {taken}, between {self._confirmed} and {self._sent}")
        self._forget(taken - self._confirmed)
        self._again()

    def reconnected(self) -> None:
        """There is a new connection, and nobody says what the other end has taken."""
        self._repeated = self._confirmed  # what it asks for now is on its way
        self._again()

    def probe(self) -> None:
        """To be called now and then: asks, if nothing was confirmed since the last time."""
        if self._kept and self._probed == self._confirmed:
            self._bare(_PROBE, self._sent)
        self._probed = self._confirmed
        self._repeated = -1

    def confirm(self) -> None:
        """Say how much was taken, now."""
        self._bare(_CONFIRM)

    def _again(self) -> None:
        number = self._confirmed
        for frame in self._kept:
            number += 1
            self.replies.append(_pack(_FRAME, number & _U32, self.taken & _U32) + frame)
        self._told = self.taken
        self._asked = -1
        self.resent += len(self._kept)

    def _bare(self, mark: bytes, number: int = 0) -> None:
        envelope = _pack(mark, number & _U32, self.taken & _U32)
        self.replies.append(envelope + self._signature)
        self._told = self.taken
        self.bare += 1

    def _forget(self, frames: int) -> None:
        kept = self._kept
        for _ in range(frames):
            self._bytes -= len(kept.popleft())
        self._confirmed += frames

    # --- what comes ------------------------------------------------------------------------------

    def take(self, data: bytes) -> bytes | None:
        """The frame in what came, if it is the next one, or has no number; else None."""
        if len(data) < ENVELOPE_BYTES:
            return data
        mark, number, confirmed = _unpack(data)
        if mark != _FRAME and mark[:2] != _MAGIC:
            return data
        new = (confirmed - self._confirmed) & _U32
        if new and new <= self._sent - self._confirmed:
            self._forget(new)
        ahead = (number - self.taken) & _U32
        if mark == _FRAME:
            if ahead == 1:
                self.taken += 1
                if self.taken - self._told >= CONFIRM_EVERY:
                    self._bare(_CONFIRM)
                return data[ENVELOPE_BYTES:]
            self._out_of_order(ahead)
        elif mark == _AGAIN and self._repeated != self._confirmed:
            # else a peer that asks and does not read would fill our memory
            self._repeated = self._confirmed
            self._again()
        elif mark == _PROBE:
            self._bare(_AGAIN if 0 < ahead < _HALF else _CONFIRM)
        return None

    def _out_of_order(self, ahead: int) -> None:
        if not 0 < ahead < _HALF:
            self.duplicates += 1
        elif self._asked != self.taken:
            self._asked = self.taken
            self._bare(_AGAIN)


def is_numbered(data: bytes) -> bool:
    """Whether this belongs to a session; of one that was never begun here nothing is taken."""
    return data.startswith(_MAGIC) and len(data) >= ENVELOPE_BYTES


def content(data: bytes) -> bytes:
    """What is behind the envelope, if there is one."""
    return data[ENVELOPE_BYTES:] if is_numbered(data) else data
