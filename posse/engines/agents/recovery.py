"""How an agent that was killed and is started again returns to its state."""

from collections.abc import Callable
from typing import Any

import msgspec

from posse.durable.checkpoint import of_sources
from posse.durable.journal import FRAME, STEPS, Input, Journal
from posse.families import get_system
from posse.hosts.agent import AgentHost
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.sources import Sources
from posse.protocol import control
from posse.wire.line import taken_again
from posse.wire.session import Session, SessionState

LINKED = "linked"
"""An input of a journal: a link to a neighbour changed."""


class Beginning(msgspec.Struct, frozen=True):
    """The state of an agent when its host was made; its journal begins with it.

    `offset` and `incarnation` are as in `posse.engines.agents.joining`, `inbox` is where it was
    bound, and `uplink` the session with the coordinator. In a checkpoint `state` has the host, and
    the sessions with the neighbours.
    """

    rank: int
    setup: AgentSetup
    offset: int
    incarnation: bytes
    inbox: str
    uplink: SessionState
    state: bytes = b""


def outside_agent(journal: Journal, sources: Sources, setup: AgentSetup) -> dict[str, Any]:
    """The parts of a host that belong to its process, by name; see `posse.durable.checkpoint`."""
    system = get_system(setup.system)
    named = {"journal": journal, "system": system, "codec": system.agents_codec}
    if setup.mode == "field" and system.agent.signs:
        named["signs"] = sources.signer(setup.agents, setup.name)
    return named | of_sources(sources)


def agent_again(
    one: Input,
    host: AgentHost,
    session_with: Callable[[int], Session],
    told: Callable[[bytes], object],
) -> None:
    """Replay one input to an agent's host; `told` takes frames that are not for the host."""
    what, whom, said = one
    if what == FRAME:
        if (frame := taken_again(session_with(whom), said)) is not None:
            host.receive(whom, frame) if host.knows(frame) else told(frame)
    elif what == STEPS:
        for _ in range(whom):
            host.step()
    else:
        host.say(control.Linked(whom, bool(said)))
