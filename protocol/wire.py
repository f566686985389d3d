"""The wire codec: one frame is a fixed header and a msgpack payload.

    offset  size  field
    0       2     magic, b"po"
    2       1     version of this protocol
    3       1     plane: data, control or world
    4       4     run, counted from 0, or `NO_RUN`
    8       4     source: the sender's rank, or -1 for the coordinator (signed)
    12      4     sequence, counted from 0 in each run: per sender for agents, so that a broadcast
                  is one frame, and per link for the coordinator
    16      8     now, in the unit of the run's clock
    24      8     sent, the sender's clock in nanoseconds (0 where there is no clock)

Integers and floats are little-endian. The payload is a tagged msgpack array, `[kind, field, …]`.
A peer's bytes are never trusted: the codec checks the length, then the header, then each field's
type and bounds. Nothing that a frame contains is ever run.
"""

import math
import struct
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from librt.strings import (
    BytesWriter,
    read_f64_le,
    read_i32_le,
    read_i64_le,
    write_f64_le,
    write_i32_le,
    write_i64_le,
)
from numpy.typing import NDArray

from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.message import Header, Message, Plane, kind_name

MAGIC = b"po"
VERSION = 1
HEADER = struct.Struct("<2sBBIiIdq")
_MARK: Final = int.from_bytes(MAGIC + bytes([VERSION]), "little")
"""Magic and version; one number with the plane, which is its highest byte."""

_U32: Final = 0xFFFF_FFFF
_HALF: Final = 1 << 31

_SIZE: Final = HEADER.size
_INFINITE: Final = math.inf
_DATA: Final = int(Plane.DATA)
NO_RUN = 0xFFFF_FFFF
"""The run number of frames outside of runs, which no run has."""

Fields = tuple[int, int, int, int, float, int]
"""The fields of a `Header`, in its order."""

SOURCE = slice(8, 12)
"""The bytes of a frame that name its sender."""

MAX_FRAME = 8 << 20
"""Largest frame that a socket accepts, in bytes; only a coordinator sends such large ones."""

MAX_DATA: Final = 1 << 20
"""Largest payload of plane `data`, and of anything that an agent sends to a coordinator, in bytes.
The largest honest ones are a slot's bundle of a few hundred neighbours' means, and a report with a
regret curve, a thousand links and ten thousand rows. Decoded, one may take fifty times its bytes.
"""


UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not what they should be; see `posse.gates.decode`."""

_encode: Final = msgspec.msgpack.Encoder().encode


def encode(message: Message, run: int, source: int, sequence: int, now: float, sent: int) -> bytes:
    """The frame that carries `message`."""
    try:
        payload = _encode(message)
    except TypeError as error:
        raise LocalProtocolError(
            f"{type(message).__name__} cannot be encoded: {error}; give its fields plain numbers, "
            "by float(), int() or an array's tolist()"
        ) from None
    frame = BytesWriter()
    write_i32_le(frame, _MARK | message.plane << 24)
    write_i32_le(frame, signed(run))
    write_i32_le(frame, source)
    write_i32_le(frame, signed(sequence))
    write_f64_le(frame, now)
    write_i64_le(frame, sent)
    frame.write(payload)
    return frame.getvalue()


def signed(number: int) -> int:
    """The signed integer with the lowest 32 bits of `number`, as librt writes them."""
    return ((number + _HALF) & _U32) - _HALF


def payload_size(message: Message) -> int:
    """The bytes of a message's payload."""
    return len(_encode(message))


def measure_payloads(messages: Sequence[Message]) -> int:
    """Encode messages of one kind; returns the bytes of all their payloads.

    Raises `LocalProtocolError` if they decode to anything else.
    """
    encoded = _encode(messages)
    try:
        decoded = msgspec.msgpack.decode(encoded, type=list[type(messages[0])])  # type: ignore[misc]
    except msgspec.ValidationError as error:
        raise LocalProtocolError(f"{type(messages[0]).__name__}: {error}") from None
    if decoded != messages:
        raise LocalProtocolError(f"{type(messages[0]).__name__} is not what the codec makes of it")
    count = len(messages)
    return len(encoded) - (len(_encode([None] * count)) - count)


def header_fields(frame: bytes) -> Fields:
    """The fields of a frame's header, or `RemoteProtocolError` if it is not valid.

    Not a `Header`, which takes longer to make, and in compiled code to read.
    """
    if len(frame) < _SIZE:
        raise RemoteProtocolError("short", f"{len(frame)} bytes")
    mark: int = read_i32_le(frame, 0)
    run: int = read_i32_le(frame, 4)
    source: int = read_i32_le(frame, 8)
    sequence: int = read_i32_le(frame, 12)
    now: float = read_f64_le(frame, 16)
    if mark & 0xFF_FFFF != _MARK:
        if not frame.startswith(MAGIC):
            raise RemoteProtocolError("garbage", "the frame does not begin with posse's magic")
        raise RemoteProtocolError("version", f"version {frame[2]}, ours is {VERSION}")
    if not abs(now) < _INFINITE:
        raise RemoteProtocolError("not-finite", "the frame's time is NaN or infinite")
    return mark >> 24 & 0xFF, run & _U32, source, sequence & _U32, now, read_i64_le(frame, 24)


def read_header(frame: bytes) -> Header:
    """The header of a frame, or `RemoteProtocolError` if it is not valid."""
    return Header(*header_fields(frame))


def in_our_version(frame: bytes) -> bytes:
    """A frame of another version of the wire, marked as ours, to read what no version may change.

    That is all of `Join` up to `version`, and `Refused`: with these two, programs that do not
    understand each other can still say which they are.
    """
    return frame[: len(MAGIC)] + bytes([VERSION]) + frame[len(MAGIC) + 1 :]


def kind_of(frame: bytes) -> str:
    """The kind that a frame claims to be, unchecked; "" if it names none."""
    tag = _SIZE + 1  # after the msgpack array's first byte; a short string's has its length
    length = frame[tag] - 0xA0 if len(frame) > tag else 0
    name = frame[tag + 1 : tag + 1 + length].decode("ascii", "replace") if 0 < length < 32 else ""
    return name if name.isidentifier() and name.isascii() else ""


def sent_at(frame: bytes) -> float:
    """The time in a frame's header, unchecked; 0 if the frame is too short to have one."""
    return read_f64_le(frame, 16) if len(frame) >= _SIZE else 0.0


def name_of(rank: int) -> bytes:
    """A sender's rank as the header encodes it."""
    return rank.to_bytes(4, "little", signed=True)


class Codec:
    """Decodes the kinds of messages that one end accepts, with at most `most` bytes of payload."""

    def __init__(self, kinds: tuple[type[Message], ...], most: int = MAX_FRAME) -> None:
        self._kinds = kinds
        self._most = most
        self._planes: dict[int, msgspec.msgpack.Decoder[Message]] = {}
        for plane in Plane:
            on_plane = tuple(kind for kind in kinds if kind.plane == plane)
            if on_plane:
                union: Any = on_plane[0]
                for kind in on_plane[1:]:
                    union |= kind
                self._planes[int(plane)] = msgspec.msgpack.Decoder(union)

    def decode(self, plane: int, frame: bytes) -> Message:
        """The message in a frame of this plane, or `RemoteProtocolError` if it is not valid."""
        decoder = self._planes.get(plane)
        if decoder is None:
            raise RemoteProtocolError("unknown-kind", f"nothing is expected on {plane}")
        payload = frame[_SIZE:]
        if len(payload) > (MAX_DATA if plane == _DATA else self._most):
            raise RemoteProtocolError("oversize", f"{len(payload)} bytes of payload")
        try:
            return decoder.decode(payload)
        except msgspec.ValidationError as error:
            unknown = str(error).startswith("Invalid value")
            raise RemoteProtocolError(
                "unknown-kind" if unknown else "malformed", self._fault(str(error), kind_of(frame))
            ) from None
        except UNDECODABLE as error:
            raise RemoteProtocolError("malformed", str(error)) from None

    def _fault(self, error: str, kind: str) -> str:
        """What is wrong, with the names of kind and field: msgspec says only the field's number."""
        fault, _, place = error.partition(" - at ")
        for decoded in self._kinds:
            if kind_name(decoded) == kind:
                for number, name in enumerate(decoded.__struct_fields__, 1):
                    place = place.replace(f"$[{number}]", name)
        return f"{kind} {place}: {fault}"


def pack_floats(values: NDArray[np.float64]) -> bytes:
    """Floats as bytes, eight little-endian bytes each."""
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def unpack_floats(data: bytes, count: int) -> NDArray[np.float64]:
    """`count` finite floats from a peer's bytes, or `RemoteProtocolError`."""
    if len(data) != 8 * count:
        raise RemoteProtocolError("wrong-length", f"{len(data)} bytes for {count} numbers")
    values = np.frombuffer(data, dtype="<f8")
    if not np.isfinite(values).all():
        raise RemoteProtocolError("not-finite", "a number is NaN or infinite")
    return values
