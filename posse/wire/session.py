"""Sessions: a link loses no frame when it loses its connection. Without input or output.

One `Session` stands at each end of a link. It numbers outgoing frames, keeps them until the other
end confirms them, and passes each incoming frame on once and in order. Frames stay as they were
encoded; before each stands an envelope:

    offset  size  field
    0       4     mark: b"pn", version of this envelope, what follows
    4       4     number of the frame, counted from 1 per link and direction
    8       4     confirmed: the highest number taken in order from the other end

What follows is one of:

    F   a frame
    C   nothing: a confirmation that had no frame to go with
    A   nothing: send again all frames after `confirmed`
    P   nothing: `number` is the last that was sent; say how far you are
    G   nothing: everything up to `number` was confirmed, and is gone
    L   nothing: a sign of life of an agent that acts, and has nothing else to tell its coordinator

Integers are little-endian, and numbers go on with 0 after 2^32 - 1. Data without such a mark is
passed on as it is: the frames of joining have no number, and make sense on one connection only.

Between agents the coordinator tells both ends from which number to count. It is another number for
each session, as TCP's first numbers are: a frame still under way from the session before is then
far from the number that is expected, and dropped. An inbox with many senders finds the sender of a
frame in the frame. An envelope without a frame is signed instead.

A frame that was taken before is dropped. A frame that comes too early is dropped too, and the
missing one is asked for again, with all that follow ("go back N"). Over ZeroMQ's streams that
happens only when a connection was lost.
"""

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import mypyc_attr

from posse.protocol.orders import unsealed
from posse.protocol.wire import signed

ENVELOPE_BYTES: Final = 12

MAGIC: Final = b"pn"
"""The first bytes of everything that a session sends."""

_U32: Final = 0xFFFF_FFFF
_HALF: Final = 1 << 31
"""A number less than this ahead of another is later; any other is earlier."""

_FRAME: Final = int.from_bytes(MAGIC + b"\x01F", "little")
_CONFIRM: Final = int.from_bytes(MAGIC + b"\x01C", "little")
_AGAIN: Final = int.from_bytes(MAGIC + b"\x01A", "little")
_PROBE: Final = int.from_bytes(MAGIC + b"\x01P", "little")
_GONE: Final = int.from_bytes(MAGIC + b"\x01G", "little")
_ALIVE: Final = int.from_bytes(MAGIC + b"\x01L", "little")

_FAR = 1 << 24
"""A number further away is of another session."""

CONFIRM_EVERY: Final = 64
"""After this many frames taken, with nothing to send, a bare confirmation goes. So a link on which
one end only listens has 1.6 % more frames, and its sender keeps a few hundred."""

MOST_FRAMES = 100_000
"""Frames kept for a peer. ZeroMQ's own queue has the same limit, see `posse.wire.sockets`."""

MOST_BYTES = 64 << 20
"""Bytes kept for a peer: eight of the largest frames."""


LATE = 15
"""After this many calls of `probe`, ten a second, without a confirmation, it asks the other end."""

SOON, SOON_AFTER = 2, 16
"""It is asked after `SOON` calls if `SOON_AFTER` frames were sent since it was last asked. In
lockstep a lost frame holds everybody up; a link with few frames is not asked more often for it.

A question or its answer may be lost too: it is asked again after `SOON` calls, then twice as late
each time up to `LATE`, and so on from `SOON`. On a link that loses frames the first question comes
after `SOON` calls as well, and the oldest frame goes with each, which so takes one way instead of
three. A link is taken for such a one from a loss until `CALM` frames in a row were not lost.

Who hears no answer at all does not know of the loss, as when frames of both directions are lost. So
from the second unanswered question on the oldest frame goes with them on any link (but every fourth
time), as TCP's retransmission timer sends it without being asked (RFC 6298, 5.4)."""

CALM = 256

SMALL = 1_400
"""Bytes of a frame that goes again unasked on a link that is not known to lose frames: one packet,
as the question is. On a slow link a large one would only queue behind itself."""


class SessionState(NamedTuple):
    """What a session needs to go on: its numbers, and the frames that it keeps."""

    taken: int = 0
    confirmed: int = 0
    kept: tuple[bytes, ...] = ()
    said: bytes = b""


class SessionFull(Exception):
    """The other end has left too much unconfirmed: nothing further can be kept for it."""


class SessionBroken(Exception):
    """The other end is not the one with which this session began."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Session:
    """See the module's text. Both ends count from `first`; `signature` follows a bare envelope.

    `taken` is the highest number taken in order, `sent` the last number given to a frame, and
    `confirmed` the last that the other end is known to have. They are not cut to 32 bits. After
    `take`, `resume` and the like the caller hands `replies` to the connection, oldest first, and
    clears it.

    Above 20 attributes: both directions, what is asked and when, and what is counted.
    """

    __slots__ = (
        "_asked",
        "_asked_at",
        "_bytes",
        "_kept",
        "_lossy_until",
        "_missed",
        "_most_bytes",
        "_most_frames",
        "_probed",
        "_repeated",
        "_signature",
        "_silent",
        "_told",
        "_wait",
        "bare",
        "confirmed",
        "outdated",
        "replies",
        "resent",
        "resent_bytes",
        "restored",
        "said",
        "sent",
        "taken",
    )  # slots save a tenth per frame: with many links no session is in the processor's cache

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
        """Envelopes without a frame so far: confirmations and questions."""
        self.restored = False
        """Whether this end was started again, and no frame was taken in order since."""
        self._missed = 0
        """Calls of `probe` since it asked for what it missed."""
        self.outdated = False
        """Whether this end, started again, has forgotten what the other end still knows."""
        self._signature = signature
        self.said = b""
        """How far the chain of signed orders is, if there is one: see `posse.protocol.orders`."""
        self.sent = first
        self.confirmed = first
        self._told = first
        self._asked = -1
        self._asked_at = first
        self._probed = first
        self._silent = 0
        self._wait = LATE
        self._lossy_until = first
        self._repeated = -1
        self._kept: deque[bytes] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes

    @property
    def state(self) -> SessionState:
        """See `restore`."""
        return SessionState(self.taken, self.confirmed, tuple(self._unconfirmed()), self.said)

    def restore(self, state: SessionState) -> None:
        """Continue a session from its state; there is no connection yet."""
        self.taken = self._told = state.taken
        self.confirmed = self._probed = state.confirmed
        self.sent = state.confirmed
        self.said = state.said
        for frame in state.kept:
            self.wrap(frame)

    # --- what goes -------------------------------------------------------------------------------

    def wrap(self, frame: bytes) -> bytes:
        """Number and keep a frame; returns the data for the connection. Or `SessionFull`."""
        kept, keep, size = self._kept, self.sent - self.confirmed, self._bytes
        while len(kept) > keep:
            size -= len(kept.popleft())
        self._bytes = size
        if size + len(frame) > self._most_bytes or keep >= self._most_frames:
            raise SessionFull
        number, taken = self.sent + 1, self.taken
        self._bytes, self.sent, self._told = size + len(frame), number, taken
        kept.append(frame)
        return enveloped(frame, number, taken)

    @property
    def unconfirmed(self) -> int:
        """Frames that the other end is not known to have."""
        return self.sent - self.confirmed

    @property
    def crowded(self) -> bool:
        """Whether more than half of what may be kept is: a caller that can wait should."""
        self._forget()
        return 2 * self.unconfirmed > self._most_frames or 2 * self._bytes > self._most_bytes

    def resume(self, taken: int) -> None:
        """Send all after frame `taken` over a new connection; `SessionBroken` if that cannot be."""
        if not self.confirmed <= taken <= self.sent:
            raise SessionBroken(f"it took {taken} frames, not {self.confirmed} to {self.sent}")
        self.confirmed = taken
        self._again()

    def reconnected(self) -> None:
        """There is a new connection: send again all that is not confirmed."""
        self._repeated = self.confirmed  # what the other end asks for now is on its way
        self._again()

    def probe(self) -> None:
        """Ask if nothing is confirmed for long, see `LATE`. To be called ten times a second."""
        if self.restored:  # what `miss` asked may be lost, or its answer
            self._missed = (self._missed + 1) % LATE
            if not self._missed:
                self.miss()
        self._forget()
        lossy = self.confirmed < self._lossy_until
        if self._probed != self.confirmed or self.sent == self.confirmed:
            self._probed = self.confirmed
            self._silent = 0
            self._wait = SOON if lossy else LATE
            return
        self._silent += 1
        late = self._silent >= self._wait
        if late:
            self._silent = 0
            if lossy or self._wait < LATE:
                self._send_oldest(MOST_BYTES if lossy else SMALL)
            self._wait = SOON if self._wait == LATE else min(2 * self._wait, LATE)
            self._repeated = -1
        if late or (self._silent == SOON and self.sent - self._asked_at >= SOON_AFTER):
            self._asked_at = self.sent
            self.ask()

    def ask(self) -> None:
        """Ask how much the other end has taken, even if it confirmed all."""
        self._bare(_PROBE, self.sent)

    def show_life(self) -> None:
        """Tell the other end that this one acts. It confirms nothing new, as no frame does yet."""
        self.replies.append(enveloped(self._signature, 0, self._told, _ALIVE))
        self.bare += 1

    def confirm(self) -> None:
        """Confirm now what was taken."""
        self._bare(_CONFIRM)

    def miss(self) -> None:
        """Ask for all that was not taken, because this end was started again."""
        self._bare(_AGAIN)

    def _again(self) -> None:
        for number, frame in enumerate(self._unconfirmed(), self.confirmed + 1):
            self.replies.append(enveloped(frame, number, self.taken))
            self.resent_bytes += len(frame)
        self._told = self.taken
        self._asked = -1
        self.resent += self.sent - self.confirmed

    def _send_oldest(self, most: int) -> None:
        """Send the oldest frame again that is not confirmed, if it has at most this many bytes."""
        for frame in islice(self._unconfirmed(), 1):
            if len(frame) > most:
                return
            self.replies.append(enveloped(frame, self.confirmed + 1, self.taken))
            self._told = self.taken
            self.resent += 1
            self.resent_bytes += len(frame)

    def _lost(self) -> None:
        """A frame was lost on the way, in either direction, though no connection was."""
        if self.confirmed >= self._lossy_until:
            self._wait = SOON
        self._lossy_until = self.sent + CALM

    def _unconfirmed(self) -> Iterable[bytes]:
        self._forget()
        return self._kept

    def _bare(self, mark: int, number: int = 0) -> None:
        self.replies.append(enveloped(self._signature, number, self.taken, mark))
        self._told = self.taken
        self.bare += 1

    def _forget(self) -> None:
        """Drop the frames that are confirmed."""
        kept, keep = self._kept, self.sent - self.confirmed
        while len(kept) > keep:
            self._bytes -= len(kept.popleft())

    # --- what comes ------------------------------------------------------------------------------

    def take(self, data: bytes) -> bytes | None:
        """The frame in `data` if it is the next one, `data` if it has no number, else None."""
        if len(data) < ENVELOPE_BYTES:
            return data
        mark: int = read_i32_le(data, 0)
        number: int = read_i32_le(data, 4)
        confirmed: int = read_i32_le(data, 8)
        if mark == _FRAME:
            new = (confirmed - self.confirmed) & _U32
            if new <= self.sent - self.confirmed:
                self.confirmed += new
            elif self.restored:
                self._compare(confirmed, self.sent)
            taken = self.taken + 1
            if not (number - taken) & _U32:
                self.taken = taken
                self.restored = False
                if taken - self._told >= CONFIRM_EVERY:
                    self.confirm()
                return data[ENVELOPE_BYTES:]
            self._out_of_order(number)
            return None
        if not data.startswith(MAGIC):
            return data
        self._take_bare(mark, number, confirmed)
        return None

    def _take_bare(self, mark: int, number: int, confirmed: int) -> None:
        new = (confirmed - self.confirmed) & _U32
        if new <= self.unconfirmed:
            self.confirmed += new
        elif self.restored:
            self._compare(confirmed, self.sent)
        if mark == _GONE and self.restored:
            self._compare(number, self.taken)
        elif mark == _AGAIN and 0 < (self.confirmed - confirmed) & _U32 < _FAR:
            self._bare(_GONE, self.confirmed)
        elif mark == _AGAIN and self._repeated != self.confirmed:
            # once per number: otherwise a peer that asks and does not read would fill our memory
            self._repeated = self.confirmed
            self._lost()
            self._again()
        elif mark == _PROBE:
            behind = self._is_ahead(number)
            if behind:
                self._lost()
            self._bare(_AGAIN if behind else _CONFIRM)

    def _compare(self, number: int, own: int) -> None:
        """The other end knows of frame `number`, this one only of those up to `own`."""
        self.outdated |= 0 < (number - own) & _U32 < _FAR

    # modulo 2^32, as TCP compares its numbers: half of them are ahead of any number
    def _is_ahead(self, number: int) -> bool:
        return 0 < (number - self.taken) & _U32 < _HALF

    def _out_of_order(self, number: int) -> None:
        # A gap is asked for once. All that is under way behind it is dropped too, and each of these
        # frames would ask again; if the question itself is lost, the other end's probe finds out.
        if self._is_ahead(number) and self._asked != self.taken:
            self._asked = self.taken
            self._lost()
            self._bare(_AGAIN)


def enveloped(frame: bytes, number: int, confirmed: int, mark: int = _FRAME) -> bytes:
    """A frame behind its envelope."""
    data = BytesWriter()
    write_i32_le(data, mark)
    write_i32_le(data, signed(number))
    write_i32_le(data, signed(confirmed))
    data.write(frame)
    return data.getvalue()


def is_numbered(data: bytes) -> bool:
    """Whether `data` has a session's envelope."""
    return data.startswith(MAGIC) and len(data) >= ENVELOPE_BYTES


def shows_life(data: bytes) -> bool:
    """Whether `data` are a sign of life of an agent that acts."""
    return len(data) >= ENVELOPE_BYTES and read_i32_le(data, 0) == _ALIVE


def content(data: bytes) -> bytes:
    """`data` without its envelope and seal, if it has them."""
    return unsealed(data[ENVELOPE_BYTES:]) if is_numbered(data) else data
