"""How an audit reads the messages of a system.

`MessageReader` reads any message: each field by its name, numbers as they are, packed bytes as
numbers, texts as length and hash. A system whose messages say more than their fields show (records
packed into bytes, sums that masks hide, what others said before) has a subclass as its `reader`.
"""

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from posse.protocol.message import Message, kind_name
from posse.spec.runfile import RunSpec

Frames = Sequence[tuple[int | None, int | None, bytes]]
"""The frames of a run, each with its source and target; None: a peer that is not known."""


class Recorder(list[tuple[int | None, int | None, bytes]]):
    """Keeps the frames of a run; a `Tap`."""

    def __call__(self, source: int | None, target: int | None, frame: bytes) -> None:
        """Keep a frame."""
        self.append((source, target, frame))


Named = Iterable[tuple[str, float]]
"""Numbers, each with its name."""

ITEMS = 64
"""The most items of a field that are read."""

_LARGE, _SMALL = 1e12, 1e-12
"""Eight bytes are read as a float if its size lies between these."""


class Statistic(NamedTuple):
    """Numbers that `origin` released under noise, whoever passes them on.

    Only the first of a `series` must lie on the grid of safe noise: later ones may be averages of
    several. Those of one `name` must always be the same, or have `most` different values.
    """

    origin: int | None
    series: Any
    values: Sequence[float]
    name: str = ""
    most: int = 1


class Group(NamedTuple):
    """An order to the `members` of a group, whose rewards of `arm` enter sums of this `number`."""

    number: int
    arm: int
    members: tuple[int, ...]


class MessageReader:
    """Reads the messages of one run, of these `kinds`; `spec` is None if no run file is known.

    - `hidden`: kinds whose bytes are keys, seeds, or hidden by masks and seals
    - `exact`: kinds whose numbers have no noise of their own, such as averages of noisy ones
    - `forwards`: kinds that carry what others sent, or a tag for each, and are as long as that is
    - `grouped`: rewards are added up over the groups that `group` reads
    """

    hidden: ClassVar[tuple[type[Message], ...]] = ()
    exact: ClassVar[tuple[type[Message], ...]] = ()
    forwards: ClassVar[tuple[type[Message], ...]] = ()
    grouped: ClassVar[bool] = False

    def __init__(
        self, kinds: Iterable[type[Message]], spec: RunSpec | None, parameters: Any
    ) -> None:
        self.kinds = {kind_name(kind): kind for kind in kinds}
        self.spec = spec
        self.parameters = parameters

    def decode(self, kind: str, fields: Sequence[Any]) -> Message | None:
        """The message with these plain fields; None if it is none of the system's."""
        try:
            return msgspec.convert([kind, *fields], self.kinds[kind])
        except (KeyError, msgspec.ValidationError):
            return None

    def view(self, message: Message) -> Named:
        """The numbers in a message, as an adversary may use them, each with its name."""
        return read_fields(message)

    def statistics(self, message: Message, source: int | None) -> Iterable[Statistic]:
        """The noisy statistics in a message from `source`."""
        if not isinstance(message, (*self.hidden, *self.exact)):
            floats = list(floats_in(msgspec.structs.astuple(message)))
            yield Statistic(source, kind_name(type(message)), floats)

    def group(self, message: Message) -> Group | None:
        """The group that a message to one of its members names; None if it names none."""
        return None

    def members(self, group: tuple[int, ...], step: int) -> tuple[int, ...]:
        """Those of a group whose rewards are in its sum number `step` of an order."""
        return group

    def violations(self, frames: Frames) -> list[str]:
        """A sentence for each sum in the frames of a run that covers fewer agents than claimed."""
        return []


def read_fields(message: Message, without: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """The numbers in all fields of a message but those named."""
    for field in message.__struct_fields__:
        if field not in without:
            yield from read_field(field, getattr(message, field))


def read_field(field: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers in a field, or in an item of one, with paths such as `sums[3]`."""
    match value:
        case bool() | int() | float():
            yield field, float(value)
        case bytes():
            yield f"length of {field}", float(len(value))
            for i, item in enumerate(unpack(value)[:ITEMS]):
                yield f"{field}[{i}]", item
        case list() | tuple():
            yield f"length of {field}", float(len(value))
            for i, item in enumerate(value[:ITEMS]):
                yield from read_field(f"{field}[{i}]", item)
        case dict():
            for key in list(value)[:ITEMS]:
                yield from read_field(f"{field}[{key}]", value[key])
        case _:  # text, time or None: a hash tells values apart
            text = str(value)
            yield f"length of {field}", float(len(text))
            yield f"hash of {field}", zlib.crc32(text.encode()) / 2.0**32


def unpack(data: bytes) -> list[float]:
    """Packed floats, or words of eight bytes as shares of 2^64; then the remaining bytes."""
    end = len(data) // 8 * 8
    whole = data[:end]
    read = np.frombuffer(whole, "<f8") if are_floats(whole) else np.frombuffer(whole, "<u8") / 2**64
    return [*read.tolist(), *map(float, data[end:])]


def are_floats(data: bytes) -> bool:
    """Whether every eight of these bytes are read as a float."""
    if len(data) % 8:
        return False
    size = np.abs(np.frombuffer(data, "<f8"))
    return bool(((size == 0) | ((size > _SMALL) & (size < _LARGE))).all())


def floats_in(value: Any) -> Iterator[float]:
    """All finite floats in a value, and all that its bytes pack."""
    for leaf in leaves(value):
        match leaf:
            case float() if math.isfinite(leaf):
                yield leaf
            case bytes():
                yield from unpack(leaf)


def leaves(value: Any) -> Iterator[Any]:
    """The values in lists and tables within a value."""
    match value:
        case list() | tuple():
            for item in value:
                yield from leaves(item)
        case dict():
            yield from leaves(list(value.values()))
        case _:
            yield value
