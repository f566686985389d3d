"""What crosses a link, and what stands before it; `protocol.wire` makes bytes of both."""

from enum import IntEnum
from typing import ClassVar

import msgspec


class Plane(IntEnum):
    """Data is what the paper sends; control is the lab's own; world is the arms' medium."""

    DATA = 0
    CONTROL = 1
    WORLD = 2


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, forbid_unknown_fields=True):
    """Base of everything that crosses a link. The class name is the kind."""

    plane: ClassVar[Plane] = Plane.DATA


class Header(msgspec.Struct, frozen=True, gc=False):
    """The fields of a frame's header, as in the table of `protocol.wire`."""

    mark: bytes
    """Magic and version."""
    plane: int
    run: int
    source: int
    sequence: int
    now: float
    sent: int
