"""How a coordinator that was killed and is started again comes back to its run and its agents."""

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from posse.durable.checkpoint import Checkpoints, of_sources, read
from posse.durable.journal import FRAME, Input, Journal
from posse.durable.session import Session, SessionState
from posse.engines.base import Observer, Tap
from posse.engines.roster import Member, Roster
from posse.hosts.coordinator import CoordinatorHost
from posse.hosts.sources import Sources
from posse.plan import Plan

_FIRED, _LOST, _SILENT = "fired", "lost", "silent"
"""Inputs of a run's host besides frames."""


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
        roster.members[state.rank] = Member(
            state.rank,
            b"",
            state.incarnation,
            state.inbox,
            takes_part=True,
            connection=-1,
            heard=0.0,
            host=state.host,
            resumed=state.resumed,
            starts=state.starts,
            session=session,
        )


def committing(journal: Journal, tap: Tap | None) -> Tap:
    """A tap that commits the inputs a frame follows from, before `tap` hears the frame."""

    def hear(source: int | None, target: int | None, data: bytes) -> None:
        journal.commit()
        if tap is not None:
            tap(source, target, data)

    return hear


class KeptCoordinatorHost(CoordinatorHost):
    """A coordinator's host that journals its inputs. Frames are journaled where they are taken.

    An agent that is lost by falling silent is journaled as both; a replay loses it once only.
    """

    def __init__(self, journal: Journal, *arguments: Any, **options: Any) -> None:
        self.journal = journal
        super().__init__(*arguments, **options)

    def outside(self) -> dict[str, Any]:
        """The parts that belong to this process, by name; see `posse.durable.checkpoint`."""
        return outside(self.journal, self.plan, self._sources, self._observe)

    def fire(self) -> None:
        self.journal.add(_FIRED, 0)
        super().fire()

    def lose(self, rank: int, why: str = "lost") -> None:
        self.journal.add(_LOST, rank, why.encode())
        super().lose(rank, why)

    def fall_silent(self, mute: Collection[int] = ()) -> bool:
        self.journal.add(_SILENT, 0, msgspec.msgpack.encode(list(mute)))
        return super().fall_silent(mute)


def outside(journal: Journal, plan: Plan, sources: Sources, observe: Observer) -> dict[str, Any]:
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
) -> KeptCoordinatorHost:
    """The host that was written as `state`; the inputs that came since must be replayed."""
    sources = sources.coarse() if plan.field else sources
    host: KeptCoordinatorHost = read(state, outside(journal, plan, sources, observe))
    sources.resources.begin()
    return host


def shortening(
    begun: RunBeginning, host: KeptCoordinatorHost, roster: Roster
) -> Callable[[], None]:
    """A function to call now and then: it makes a due checkpoint if nothing waits to be sent."""
    checkpoints = Checkpoints(host.journal)
    starts = {member.rank: member.starts for member in begun.members}

    def look() -> None:
        if checkpoints.due and not (host.outbox or host.journal.replaying):
            members = [
                msgspec.structs.replace(m, starts=starts.get(m.rank, 0)) for m in members_of(roster)
            ]
            now = msgspec.structs.replace(begun, members=members)
            checkpoints.make(host, host.outside(), now)

    return look


def again(one: Input, host: CoordinatorHost, members: dict[int, Member]) -> None:
    """Replay one input to the host of a run."""
    what, whom, said = one
    if what == FRAME:
        session = members[whom].session
        frame = session.take(said)
        session.replies.clear()
        if frame is not None:
            host.receive(whom, frame)
            # their consequences are inputs too, and come later in the journal
            host.left.clear()
            host.linked.clear()
    elif what == _FIRED:
        host.fire()
    elif what == _LOST:
        host.lose(whom, said.decode())
    else:
        host.fall_silent(msgspec.msgpack.decode(said, type=list[int]))
