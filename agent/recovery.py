"""How an agent that was killed and is started again returns to its state."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from posse.agent.host import AgentHost
from posse.durable.checkpoint import of_files, of_sources
from posse.durable.journal import FRAME, STEPS, Input, Journal
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import AgentHostEffect
from posse.hosts.sources import Sources
from posse.protocol import control
from posse.system import get_system
from posse.wire.line import Line
from posse.wire.session import SessionState
from posse.wire.world import ClockReading

LINKED = "linked"
"""An input of a journal: a link to a neighbour changed."""


class Beginning(msgspec.Struct, frozen=True):
    """The state of an agent when its host was made; its journal begins with it.

    `offset` and `incarnation` are as in `posse.agent.joining`, `clocks` is what they
    showed, `inbox` where it was bound, and `uplink` the session with the coordinator. In a
    checkpoint `state` has the host, and the sessions with the neighbours.
    """

    rank: int
    setup: AgentSetup
    clocks: ClockReading
    offset: int
    incarnation: bytes
    inbox: str
    uplink: SessionState
    state: bytes = b""


def outside_agent(
    journal: Journal, sources: Sources, setup: AgentSetup, rank: int
) -> dict[str, Any]:
    """The parts of a host that belong to its process, by name; see `posse.durable.checkpoint`."""
    system = get_system(setup.system)
    named = {"journal": journal, "system": system, "codec": system.agents_codec}
    named |= {"setup": setup, "spec": setup.arms, **of_files(setup.arms, setup.base, rank)}
    if setup.mode == "field" and system.agent.signs:
        named["signs"] = sources.signer(setup.agents, setup.signed_name)
    return named | of_sources(sources)


def replay_input(
    recorded: Input,
    host: AgentHost,
    line_to: Callable[[int], Line],
    receive_unread: Callable[[bytes], object],
) -> Sequence[AgentHostEffect]:
    """Replay one input to an agent's host; `receive_unread` takes frames not for the host."""
    kind, end, data = recorded
    if kind == STEPS:
        return [effect for _ in range(end) for effect in host.step()]
    if kind != FRAME:
        return host.say(control.Linked(end, bool(data)))
    frame = line_to(end).receive(data)
    if frame is not None and host.knows(frame):
        return host.receive(end, frame)
    if frame is not None:
        receive_unread(frame)
    return ()
