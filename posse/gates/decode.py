"""The gate of decoding: bytes become a typed value, or one error that says what is wrong.

Two places decode bytes: this one, whatever they are from (a coordinator's configuration, a file, a
page), and `posse.protocol.wire`, which decodes peers' frames. msgspec raises three kinds of error
for bytes that are not what they should be, and json a fourth; whoever decodes elsewhere forgets
one, so ruff forbids it.
"""

import csv
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from posse.errors import InputError
from posse.gates.shown import printable
from posse.protocol.wire import UNDECODABLE

T = TypeVar("T")

_HALVES = re.compile(r"\\u[dD][89a-fA-F]")
"""Begins half of a character, or both halves of one, in JSON."""


class Undecodable(InputError, ValueError):
    """Bytes are not what they should be; the text is printable, whoever wrote them."""


class Packed(Generic[T]):
    """Reads one kind of value from msgpack; `unpack` reads what msgpack itself has no type for."""

    def __init__(self, kind: Any, unpack: Callable[[int, memoryview], Any] | None = None) -> None:
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(kind, ext_hook=unpack)

    def read(self, data: bytes) -> T:
        """The value, or `Undecodable`."""
        try:
            return self._decoder.decode(data)
        except UNDECODABLE as error:
            raise Undecodable(printable(str(error))) from None


def unpacked(data: bytes | memoryview) -> Any:
    """What msgpack says, of whatever kind, or `Undecodable`."""
    try:
        return msgspec.msgpack.decode(data)
    except UNDECODABLE as error:
        raise Undecodable(printable(str(error))) from None


def from_json(text: bytes | str, kind: Any = Any, table: Callable[..., Any] | None = None) -> Any:
    """A value of this kind from JSON, or `Undecodable`. As Python writes it: NaN is a number.

    `table` makes an object of its pairs, a dict unless told.
    """
    try:
        read = json.loads(text, object_pairs_hook=table)
        if _HALVES.search(text if isinstance(text, str) else text.decode("latin-1")):
            json.dumps(read, ensure_ascii=False).encode()  # half a character is no text
        return msgspec.convert(read, kind, str_keys=True)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise Undecodable(printable(str(error))) from None


def from_toml(text: str) -> dict[str, Any]:
    """A table from TOML, or `Undecodable`."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Undecodable("it is nested too deeply") from None
    except ValueError as error:  # also for a number with too many digits
        raise Undecodable(printable(str(error))) from None


def rows(lines: Iterable[str], separator: str = ",") -> Iterator[list[str]]:
    """The rows of a table of text, or `Undecodable`."""
    try:
        yield from csv.reader(lines, delimiter=separator, strict=True)
    except csv.Error as error:
        raise Undecodable(printable(str(error))) from None
