"""Base classes of messages and frame headers; `posse.protocol.wire` turns them into bytes."""

from enum import IntEnum
from typing import ClassVar, Literal

import msgspec


class Plane(IntEnum):
    """What traffic is counted as: the paper's data, posse's own control, the shared arms' world."""

    DATA = 0
    CONTROL = 1
    WORLD = 2


Follows = Literal["releases", "run", "rewards"]
"""What a field of a message may depend on, besides what is configured: on nothing but what was
released under noise; on the run's number; or on rewards as they are, which no claim covers."""

WHOLE = ""
"""In `Message.follows`: whether the message is sent at all, when, and how often."""


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, forbid_unknown_fields=True):
    """Base of everything that crosses a link; `kind_name` is its kind in a frame.

    `follows` says by field what it may depend on, "releases" if it does not say: audits look at
    every frame for more. `proof` is a field without which the message must be refused. `reveals`
    says in words what a receiver may learn: docs/private.md has it.
    """

    plane: ClassVar[Plane] = Plane.DATA
    follows: ClassVar[dict[str, Follows]] = {}
    proof: ClassVar[str] = ""
    reveals: ClassVar[str] = ""


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
