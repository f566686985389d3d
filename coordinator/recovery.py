"""How a coordinator that was killed and is started again returns to its run."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from posse.coordinator.host import FIRED, LOST, CoordinatorHost
from posse.coordinator.roster import Member, Roster
from posse.coordinator.setups import Observer
from posse.durable.checkpoint import Checkpoints, of_files, of_sources, read
from posse.durable.journal import FRAME, Input, Journal
from posse.gates.decode import Packed
from posse.hosts.effects import HostEffect, SendFrame
from posse.hosts.sources import Sources
from posse.plan import Plan
from posse.protocol.machine import COORDINATOR
from posse.wire.session import SessionState
from posse.wire.world import ClockReading, World


class MemberState(msgspec.Struct, frozen=True):
    """What a journal keeps of a `Member`."""

    rank: int
    incarnation: bytes
    inbox: str
    host: str
    resumed: int
    starts: int
    session: SessionState
    moved: bool = False


class RunBeginning(msgspec.Struct, frozen=True):
    """The state of a run when it began; its coordinator's journal begins with it.

    `run` is its number in the series, `serial` that on the wire, `starts` how often its coordinator
    had been started again, `clocks` what they showed. In a checkpoint `state` is its host, and
    `members` are the agents then.
    """

    run: int
    serial: int
    name: bytes
    starts: int
    clocks: ClockReading
    members: list[MemberState]
    state: bytes = b""


_MUTE: Packed[list[int]] = Packed(list[int])


def members_of(roster: Roster) -> list[MemberState]:
    """The agents, for a journal."""
    return [
        MemberState(
            *(m.rank, m.incarnation, m.inbox, m.host, m.resumed, m.starts, m.session.state, m.moved)
        )
        for m in roster.members.values()
    ]


def restore(roster: Roster, members: list[MemberState]) -> None:
    """Put the agents of a journal back into the roster; none has a connection yet."""
    for state in members:
        kept = msgspec.structs.asdict(state)
        del kept["session"]
        member = Member(**kept, identity=b"", takes_part=True, connection=-1, heard=0.0)
        roster.link(member)
        member.session.restore(state.session)
        roster.members[state.rank] = member


def outside_coordinator(
    journal: Journal, plan: Plan, sources: Sources, observe: Observer
) -> dict[str, Any]:
    """The parts of a coordinator's host that belong to its process, by name."""
    system = plan.system
    named = {"journal": journal, "plan": plan, "system": system, "observe": observe}
    named |= {"codec": plan.coordinators_codec, "spec": plan.spec.arms}
    named |= of_files(plan.spec.arms, plan.spec.base, COORDINATOR)
    if system.wiring is not None and system.wiring.regroup is not None:
        named["regroup"] = system.wiring.regroup
    if plan.field and (signs := sources.signer(plan.spec.agents.count, b"")) is not None:
        named["signs"] = signs
    return named | of_sources(sources)


def restored_host(
    journal: Journal, plan: Plan, sources: Sources, observe: Observer, state: bytes
) -> CoordinatorHost:
    """The host that was written as `state`; the inputs that came since must be replayed."""
    sources = sources.coarse() if plan.field else sources
    host: CoordinatorHost = read(state, outside_coordinator(journal, plan, sources, observe))
    sources.resources.begin()
    return host


def checkpointer(
    journal: Journal,
    begun: RunBeginning,
    host: CoordinatorHost,
    roster: Roster,
    world: World,
) -> Callable[[], None]:
    """A function to call now and then: it makes a checkpoint if one is due."""
    checkpoints = Checkpoints(journal, world.process_time)
    named = outside_coordinator(journal, host.plan, host.sources, host.observe)
    starts = {member.rank: member.starts for member in begun.members}

    def look() -> None:
        if checkpoints.due and not journal.replaying:
            members = [
                msgspec.structs.replace(m, starts=starts.get(m.rank, 0)) for m in members_of(roster)
            ]
            now = msgspec.structs.replace(begun, members=members, clocks=world.read_clocks())
            checkpoints.make(host, named, now)

    return look


def replay_input(
    recorded: Input, host: CoordinatorHost, members: dict[int, Member]
) -> Iterator[HostEffect]:
    """Replay one input to the host of a run; the frames are to be sent again.

    What followed from its other effects comes later in the journal.
    """
    kind, rank, data = recorded
    effects: Sequence[HostEffect] = ()
    if kind == FRAME:
        if (frame := members[rank].line.receive(data)) is not None:
            effects = host.receive(rank, frame)
    elif kind == FIRED:
        effects = host.fire()
    elif kind == LOST:
        effects = host.lose(rank, data.decode())
    else:
        effects = host.fall_silent(_MUTE.read(data)) or ()
    return (effect for effect in effects if isinstance(effect, SendFrame))
