"""How a process that was killed and is started again comes back: to its state, and its run."""

from collections.abc import Callable
from typing import Any

import msgspec

from posse.durable.checkpoint import Checkpoints, of_sources, read
from posse.durable.journal import FRAME, STEPS, Input, Journal
from posse.durable.session import Session, SessionState
from posse.engines.base import Observer
from posse.engines.roster import Member, Roster
from posse.families import get_system
from posse.hosts.agent import AgentHost
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.coordinator import FIRED, LOST, CoordinatorHost
from posse.hosts.sources import Sources
from posse.plan import Plan
from posse.protocol import control

LINKED = "linked"
"""An input of a journal: a link to a neighbour changed."""


class Beginning(msgspec.Struct, frozen=True):
    """The state of an agent when its host was made; its journal begins with it.

    `offset` and `incarnation` are as in `posse.engines.joining`, `inbox` is where it was bound, and
    `uplink` the session with the coordinator. In a checkpoint `state` has the host, and the
    sessions with the neighbours.
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
        if (frame := _taken(session_with(whom), said)) is not None:
            host.receive(whom, frame) if host.knows(frame) else told(frame)
    elif what == STEPS:
        for _ in range(whom):
            host.step()
    else:
        host.say(control.Linked(whom, bool(said)))


# --- the coordinator's ----------------------------------------------------------------------------


class MemberState(msgspec.Struct, frozen=True):
    """What a journal keeps of a `Member`."""

    rank: int
    incarnation: bytes
    inbox: str
    host: str
    resumed: int
    starts: int
    session: SessionState


class RunBeginning(msgspec.Struct, frozen=True):
    """The state of a run when it began; its coordinator's journal begins with it.

    `run` is its number in the series, `serial` that on the wire, `starts` how often its coordinator
    had been started again. In a checkpoint `state` is its host, and `members` are the agents then.
    """

    run: int
    serial: int
    name: bytes
    starts: int
    members: list[MemberState]
    state: bytes = b""


def members_of(roster: Roster) -> list[MemberState]:
    """The agents, for a journal."""
    return [
        MemberState(m.rank, m.incarnation, m.inbox, m.host, m.resumed, m.starts, m.session.state)
        for m in roster.members.values()
    ]


def restore(roster: Roster, members: list[MemberState]) -> None:
    """Put the agents of a journal back into the roster; none has a connection yet."""
    for state in members:
        session = Session()
        session.restore(state.session)
        known = msgspec.structs.asdict(state) | {"session": session}
        roster.members[state.rank] = Member(
            **known, identity=b"", takes_part=True, connection=-1, heard=0.0
        )


def outside_coordinator(
    journal: Journal, plan: Plan, sources: Sources, observe: Observer
) -> dict[str, Any]:
    """The parts of a coordinator's host that belong to its process, by name."""
    system = plan.system
    named = {"journal": journal, "plan": plan, "system": system, "observe": observe}
    named["codec"] = plan.coordinators_codec
    if system.wiring is not None and system.wiring.regroup is not None:
        named["regroup"] = system.wiring.regroup
    if plan.field and (signs := sources.signer(plan.spec.agents.count, b"")) is not None:
        named["signs"] = signs
    return named | of_sources(sources)


def brought_back(
    journal: Journal, plan: Plan, sources: Sources, observe: Observer, state: bytes
) -> CoordinatorHost:
    """The host that was written as `state`; the inputs that came since must be replayed."""
    sources = sources.coarse() if plan.field else sources
    host: CoordinatorHost = read(state, outside_coordinator(journal, plan, sources, observe))
    sources.resources.begin()
    return host


def shortening(
    journal: Journal, begun: RunBeginning, host: CoordinatorHost, roster: Roster
) -> Callable[[], None]:
    """A function to call now and then: it makes a due checkpoint if nothing waits to be sent."""
    checkpoints = Checkpoints(journal)
    named = outside_coordinator(journal, host.plan, host.sources, host.observe)
    starts = {member.rank: member.starts for member in begun.members}

    def look() -> None:
        if checkpoints.due and not (host.outbox or journal.replaying):
            members = [
                msgspec.structs.replace(m, starts=starts.get(m.rank, 0)) for m in members_of(roster)
            ]
            now = msgspec.structs.replace(begun, members=members)
            checkpoints.make(host, named, now)

    return look


def coordinator_again(one: Input, host: CoordinatorHost, members: dict[int, Member]) -> None:
    """Replay one input to the host of a run."""
    what, whom, said = one
    if what == FRAME:
        if (frame := _taken(members[whom].session, said)) is not None:
            host.receive(whom, frame)
            # their consequences are inputs too, and come later in the journal
            host.left.clear()
            host.linked.clear()
    elif what == FIRED:
        host.fire()
    elif what == LOST:
        host.lose(whom, said.decode())
    else:
        host.fall_silent(msgspec.msgpack.decode(said, type=list[int]))


def _taken(session: Session, data: bytes) -> bytes | None:
    """The frame that a session takes again; it answers nothing, as that is done already."""
    frame = session.take(data)
    session.replies.clear()
    return frame
