"""Hosts without an engine: what they are handed, and a hand on their frames."""

import dataclasses
from collections.abc import Callable

from posse.hosts.sources import Sources
from posse.hosts.spending import NOT_KEPT
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.wire import encode
from posse.wire.sources import of_this_machine


def sources(clock: Callable[[], int] = lambda: 0) -> Sources:
    """What a host is handed of this machine, with one clock for everything and no ledger."""
    return dataclasses.replace(
        of_this_machine(clock), clock=clock, spending=lambda arms, base, rank: NOT_KEPT
    )


def frame(message: Message, source: int, sequence: int, run: int = 0, now: float = 0.0) -> bytes:
    """A frame that nobody stamped."""
    return encode(message, run=run, source=source, sequence=sequence, now=now, sent=0)


def begin(seed: int = 0, run: int = 0) -> bytes:
    """The coordinator's first frame of a run."""
    return frame(control.Begin(seed, run), COORDINATOR, 0, run)
