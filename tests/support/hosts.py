"""Hosts without an engine: what they are handed, and a hand on their frames."""

import dataclasses
from collections.abc import Callable, Sequence

from posse.agent.host import AgentHost
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import AgentHostEffect, SendFrame
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


class Recorded(AgentHost):
    """An agent's host; `sent` has its frames so far, with their targets."""

    def __init__(self, setup: AgentSetup, rank: int, sources: Sources) -> None:
        self.sent: list[tuple[int, bytes]] = []
        super().__init__(setup, rank, sources)

    def _take_effects(self) -> Sequence[AgentHostEffect]:
        effects = super()._take_effects()
        self.sent += [(e.target, e.frame) for e in effects if isinstance(e, SendFrame)]
        return effects


def frame(message: Message, source: int, sequence: int, run: int = 0, now: float = 0.0) -> bytes:
    """A frame that nobody stamped."""
    return encode(message, run=run, source=source, sequence=sequence, now=now, sent=0)


def begin(seed: int = 0, run: int = 0) -> bytes:
    """The coordinator's first frame of a run."""
    return frame(control.Begin(seed, run), COORDINATOR, 0, run)
