"""One end of a run's links, the same for both hosts.

It checks the frames that come in, and numbers and counts those that go out.
"""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

from mypy_extensions import mypyc_attr

from posse.hosts.effects import HandMessage, SendFrame
from posse.measure.traffic import Meter, bucket
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import COORDINATOR, peer_name
from posse.protocol.message import Message, Plane
from posse.protocol.wire import HEADER, MAX_DATA, NO_RUN, SOURCE, Codec, encode, header_fields

_WORLD: Final = int(Plane.WORLD)

Opened = tuple[int, int, float, int, Message | None]
"""Source, plane, now and sent of a frame's header, and its message."""

NEIGHBOURS: Final = -2
"""The target of a frame for every neighbour."""

_LARGEST: Final = HEADER.size + MAX_DATA

BETWEEN_RUNS = -1
"""The run number of an endpoint outside any run; its frames carry `NO_RUN`."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Endpoint:
    """The ends of all links of one host in one run.

    - `name`: the host's rank, or `COORDINATOR`; it has links to its `peers`
    - `stamp`: the clock for delays, in nanoseconds; always 0 if there is none
    - `effects`: where what is sent is noted, oldest first
    - `together`: all hosts of the run live in this process, and messages of the plane `world` are
      handed over unencoded, see `Meter.hand`
    - `per_link`: number each link's frames apart, not all in one sequence; an agent has one, so
      that a broadcast is one frame

    A peer's fault raises `RemoteProtocolError` and changes nothing here. The transport decides who
    a peer is; the frame's header counts only if the transport does not know.
    """

    def __init__(
        self,
        *,
        name: int,
        run: int,
        peers: Collection[int],
        codec: Codec,
        stamp: Callable[[], int],
        effects: list[Any],
        together: bool = False,
        per_link: bool = False,
    ) -> None:
        self.run = run
        self._stated = NO_RUN if run == BETWEEN_RUNS else run
        self.meter = Meter()
        self.delays: dict[int, Counter[int]] = {}
        """The delays of frames by peer, by their `bucket`."""
        self.refused: Counter[str] = Counter()
        self.name = name
        self._peers = frozenset(peers)
        self.codec = codec
        self._stamp = stamp
        self._effects = effects
        self._together = together
        self._per_link = per_link
        self._numbers: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def open(self, sender: int | None, frame: bytes) -> Opened:
        """Open a frame, once each; there is no message if the frame is of another run.

        `sender` is the peer as the transport knows it, None if it does not.
        """
        plane, run, source, sequence, now, sent = header_fields(frame)
        if sender is not None and source != sender:
            raise RemoteProtocolError("wrong-source", f"{source} on the link of {sender}")
        if source not in self._peers:
            raise RemoteProtocolError("stranger", str(source))
        if run != self.run:
            return source, plane, now, sent, None
        message = self.codec.decode(plane, frame)
        if sequence <= self._last.get(source, -1):
            raise RemoteProtocolError("replayed", f"sequence {sequence}")
        self._last[source] = sequence
        return source, plane, now, sent, message

    def arrived(self, source: int, sent: int, received: int = 0) -> None:
        """Note the delay of a frame that came when `stamp` showed `received`, or now if that is 0.

        `source` and `sent` are those of its header.
        """
        if sent:
            delays = self.delays.get(source)
            if delays is None:
                delays = self.delays[source] = Counter()
            delays[bucket((received or self._stamp()) - sent)] += 1

    def send(self, to: int, message: Message, now: float) -> None:
        """Encode, number and count a message to one peer."""
        if to not in self._peers:
            raise no_link_error(self.name, to)
        if self._together and message.plane == _WORLD:
            self._effects.append(HandMessage(to, message, now))
            self.meter.hand(self.name, to, message)
            return
        self._put(to, to, to if self._per_link else NEIGHBOURS, message, now)

    def send_to_all(self, neighbours: tuple[int, ...], message: Message, now: float) -> None:
        """Encode, number and count a message to all neighbours, as one frame."""
        self._put(NEIGHBOURS, neighbours, NEIGHBOURS, message, now)

    def _put(
        self, target: int, ends: int | tuple[int, ...], row: int, message: Message, now: float
    ) -> None:
        """Put a frame for `target`, counted for these `ends`, numbered in the sequence `row`."""
        numbers = self._numbers
        numbers[row] = number = numbers.get(row, -1) + 1
        frame = encode(message, self._stated, self.name, number, now, self._stamp())
        if len(frame) > _LARGEST and (message.plane == Plane.DATA or self.name != COORDINATOR):
            raise LocalProtocolError(
                f"{type(message).__name__} has {len(frame) - HEADER.size:,} bytes; a message may "
                f"have {MAX_DATA:,} at most"
            )
        self.meter.count(self.name, ends, type(message), frame)
        self._effects.append(SendFrame(target, frame))


def no_link_error(name: int, to: object) -> LocalProtocolError:
    """The error for a message to who is no peer."""
    return LocalProtocolError(
        f"{peer_name(name)} has no link to {to!r:.80}; the receiver must be COORDINATOR or a rank, "
        "an int"
    )


def unheard_error(
    message: Message, to: int, hears: Collection[type[Message]]
) -> LocalProtocolError:
    """The error for a message of a kind that is not in the receiver's `hears`."""
    receiver = "a server" if to == COORDINATOR else "an agent"
    listed = f"only {', '.join(kind.__name__ for kind in hears)}" if hears else "nothing"
    return LocalProtocolError(
        f"{type(message).__name__} is sent, but {receiver} here hears {listed}; add it to `hears`"
    )


def blamed_peer(sender: int | None, frame: bytes) -> int | None:
    """The sender of a bad frame, by the transport, else by the frame's header if it has one."""
    if sender is None and len(frame) >= SOURCE.stop:
        return int.from_bytes(frame[SOURCE.start : SOURCE.stop], "little", signed=True)
    return sender
