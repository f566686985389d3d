"""Base classes of messages and frame headers; `posse.protocol.wire` turns them into bytes."""

from enum import IntEnum
from typing import ClassVar

import msgspec


class Plane(IntEnum):
    """What traffic is counted as: the paper's data, posse's own control, the shared arms' world."""

    DATA = 0
    CONTROL = 1
    WORLD = 2


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, forbid_unknown_fields=True):
    """Base of everything that crosses a link; `kind_name` is its kind in a frame."""

    plane: ClassVar[Plane] = Plane.DATA


def kind_name(kind: type[Message]) -> str:
    """The name of a kind of message in frames and counts: its tag, by default its class name."""
    return str(kind.__struct_config__.tag)


class Header(msgspec.Struct, frozen=True, gc=False):
    """The fields of a frame's header, as in the table of `posse.protocol.wire`."""

    plane: int
    run: int
    source: int
    sequence: int
    now: float
    sent: int
