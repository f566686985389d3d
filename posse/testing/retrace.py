"""Replays one machine of a run: its state at a time, and what led to its last decision.

A host is deterministic, so a run of the lab is played again in memory from its specification, and
an agent of the field from its own journal, on its own machine, without a word to anybody and
without a new draw. The machine may be anybody's: it is watched from outside.
"""

import inspect
import linecache
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from posse import system as systems
from posse.agent.host import AgentHost
from posse.agent.recovery import Beginning, outside_agent
from posse.arms import ArmsSpec, LiveArms, RealArms
from posse.durable import frames
from posse.durable.checkpoint import read as read_checkpoint
from posse.durable.journal import FRAME, STEPS, Journal, owner_of
from posse.durable.recording import record_sources
from posse.engines import memory
from posse.errors import InputError, PosseError
from posse.gates import files
from posse.gates.decode import unpacked
from posse.gates.shown import printable
from posse.hosts.spending import NOT_KEPT, Spending
from posse.plan import Plan
from posse.protocol.machine import (
    COORDINATOR,
    Broadcast,
    Disclose,
    Finish,
    Note,
    Observed,
    Pulled,
    Received,
    Send,
    Stopwatch,
    peer_name,
)
from posse.protocol.message import Plane
from posse.protocol.orders import unsealed
from posse.protocol.script import ScriptMachine
from posse.protocol.wire import HEADER, read_header
from posse.system.reading import are_floats, unpack
from posse.system.record import System
from posse.system.shapes import Alone
from posse.wire.session import ENVELOPE_BYTES
from posse.wire.sources import SignerOf, of_this_machine

Say = Callable[[str], None]
"""Prints a line."""

_KEPT = 100_000
"""Most events that are remembered."""

_NO_DECISION = (Disclose, Note, Stopwatch)

_DEEPEST = 2

_LONGEST = 300
"""Characters of one value that are shown."""


class _Reached(PosseError):
    """The machine's next event is after the time asked for."""


class Moment(NamedTuple):
    """An event that a machine was handed, and what it answered; `effects` is None if it raised."""

    now: float
    event: Any
    effects: list[Any]

    @property
    def decides(self) -> bool:
        """Whether the machine did more than to take note, or to wait."""
        return any(type(effect) not in _NO_DECISION for effect in self.effects)


@dataclass
class Trace:
    """What a machine was handed up to the time `until`, and its state then."""

    rank: int
    until: float
    machine: Any = None
    moments: deque[Moment] = field(default_factory=lambda: deque(maxlen=_KEPT))
    kinds: Counter[str] = field(default_factory=Counter)
    now: float = 0.0

    @property
    def name(self) -> str:
        """The process that the machine belongs to."""
        return "the server" if self.rank == COORDINATOR else peer_name(self.rank)

    def state(self) -> list[tuple[str, str]]:
        """The fields of the machine with their values; of a script its line and its variables."""
        machine = self.machine
        if isinstance(machine, ScriptMachine):
            return _place(machine)
        return [*_parts("", machine, 0)]

    def why(self) -> list[tuple[Moment, list[Moment]]]:
        """Its last decision, with the events that led to it from the decision before on.

        If that was only its end, the decision before comes first. Empty if it decided nothing.
        """
        decisions: list[tuple[Moment, list[Moment]]] = []
        led: list[Moment] = []
        for moment in self.moments:
            led.append(moment)
            if moment.decides:
                decisions = [*decisions[-1:], (moment, led)]
                led = []
        ends = bool(decisions) and {type(e) for e in decisions[-1][0].effects} <= {Finish, Note}
        return decisions if ends else decisions[-1:]


class _Watched:
    """A machine whose events are remembered; all else is the machine's own."""

    def __init__(self, machine: Any, trace: Trace) -> None:
        self._machine, self._trace = machine, trace
        trace.machine = machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def handle(self, event: Any, now: float) -> Any:
        """Hand the event on, unless it is after the time asked for."""
        self._note(event, now)
        effects = self._machine.handle(event, now)
        if isinstance(effects, (list, tuple)):
            self._trace.moments.append(Moment(now, event, [*effects]))
        return effects

    def _note(self, event: Any, now: float) -> None:
        trace = self._trace
        if now > trace.until:
            raise _Reached("the time is reached")
        trace.now = now
        trace.kinds[_kind(event)] += 1


class _WatchedPatient(_Watched):
    """A machine that also takes several messages at once."""

    def keep(self, received: Any) -> bool:
        """Hand the messages on."""
        kept: bool = self._machine.keep(received)
        if kept:
            for event in received:
                self._note(event, self._trace.now)
                self._trace.moments.append(Moment(self._trace.now, event, []))
        return kept

    @property
    def awaited(self) -> int:
        """See `posse.protocol.machine.PatientMachine`."""
        return int(self._machine.awaited)


def _watching(system: System, trace: Trace) -> System:
    """The system, whose machine of the trace's rank is watched."""

    def watched(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def made(context: Any) -> Any:
            machine = make(context)
            if getattr(context, "rank", COORDINATOR) != trace.rank:
                return machine
            patient = hasattr(machine, "awaited") and hasattr(machine, "keep")
            return (_WatchedPatient if patient else _Watched)(machine, trace)

        made.__module__ = getattr(make, "__module__", __name__)
        return made

    shape: Any = system.shape
    if isinstance(shape, Alone):
        shape = replace(shape, make=watched(shape.make))
    elif trace.rank == COORDINATOR:
        shape = replace(shape, server=replace(shape.server, make=watched(shape.server.make)))
    else:
        shape = replace(shape, agent=replace(shape.agent, make=watched(shape.agent.make)))
    return replace(system, shape=shape)


class SameMessages:
    """Compares the messages of a run that is played again with those of its capture, by link.

    `same` counts those that are equal. A capture may be of one process alone.
    """

    def __init__(self, path: Path, run: int) -> None:
        self._path, self.same = path, 0
        self._said: dict[tuple[int | None, int | None], deque[tuple[str, list[Any]]]] = {}
        for frame in frames.select(frames.read(path), plane="data", run=run):
            if not frame.resent:
                link = self._said.setdefault((frame.source, frame.target), deque())
                link.append((frame.kind, list(frame.fields)))
        if not self._said:
            raise InputError(f"{path} has no message of run {run}")

    def __call__(self, source: int | None, target: int | None, data: bytes) -> None:
        """Take a frame of the run that is played."""
        said = self._said.get((source, target))
        if not said or read_header(data).plane != Plane.DATA:
            return
        kind, *given = unpacked(data[HEADER.size :])
        if (kind, given) != said[0]:
            raise InputError(
                f"{self._path} is not of this run: message {self.same + 1} that is compared, of "
                f"{peer_name(source)} to {peer_name(target)}, is {said[0][0]} there and {kind} "
                "here, or has other values; name the run file, the run and the version that made it"
            )
        said.popleft()
        self.same += 1

    def require_all(self) -> None:
        """`InputError` if the run, which has ended, did not say all that the capture has."""
        if left := sum(map(len, self._said.values())):
            raise InputError(
                f"{self._path} is not of this run, which lacks {left:,} of its messages"
            )


def of_lab(
    plan: Plan,
    rank: int,
    *,
    run: int = 0,
    until: float = math.inf,
    compare: SameMessages | None = None,
) -> Trace:
    """Play run `run` of a lab's plan again, and watch the machine of `rank` up to `until`.

    `compare` hears all messages up to then.
    """
    if plan.field:
        raise InputError(
            "a run of the field cannot be played again from its run file: nobody has its rewards; "
            "name an agent's journal, on that agent's machine"
        )
    if isinstance(plan.spec.arms, LiveArms):
        raise InputError("live arms gave rewards that nobody can ask for again")
    ranks = range(plan.spec.agents.count)
    if rank not in ranks and not (rank == COORDINATOR and plan.system.server is not None):
        which = f"agents are 0 to {len(ranks) - 1}"
        there = ", and there is no server" if plan.system.server is None else ""
        raise InputError(f"there is no {peer_name(rank)}: {which}{there}")
    trace = Trace(rank, until)
    watched = replace(plan, system=_watching(plan.system, trace))
    with systems.standing_for(plan.spec.system, watched.system), suppress(_Reached):
        memory.run(watched, run, tap=compare)
        if compare is not None:
            compare.require_all()
    return trace


def of_journal(path: Path, *, until: float = math.inf, signer: SignerOf | None = None) -> Trace:
    """Replay an agent's journal, or a copy of it, and watch its machine up to `until`.

    The file is read as a copy, so that a running agent may have it. Rewards of a log are read from
    it again; those of one's own arms, noise and seeds stand in the journal. A journal begins at the
    agent's last checkpoint, whose machine is the state before the first event that is known.
    """
    files.require_files(path)
    with files.temporary("posse-replay-") as folder:
        copy = Path(folder) / "journal"
        for end in ("", "-wal"):
            if (there := path.with_name(f"{path.name}{end}")).is_file():
                files.write(copy.with_name(f"journal{end}"), files.read(there), private=True)
        journal = Journal(copy, owner_of(copy), synchronous=False)
        try:
            before = journal.began_as(Beginning)
            if before is None:
                raise InputError(f"{path} has no run that is under way or was interrupted")
            return _replayed(journal, before, until, signer)
        finally:
            journal.close()


def _replayed(journal: Journal, before: Beginning, until: float, signer: SignerOf | None) -> Trace:
    setup, trace = before.setup, Trace(before.rank, until)
    if isinstance(setup.arms, LiveArms):
        raise InputError("live arms cannot be replayed: an application would have to answer again")
    system = systems.get_system(setup.system)
    if signer is None and setup.mode == "field" and system.agent.signs:
        raise InputError(f"agents of {system.name} sign: add --keys DIR, this agent's keys")
    watched = systems.standing_for(setup.system, _watching(system, trace))
    with watched, journal.replay() as inputs, suppress(_Reached):
        host = _host(journal, before, signer, trace)
        for kind, end, data in inputs:
            if kind == STEPS:
                for _ in range(end):
                    host.step()
            elif (
                kind == FRAME
                and (frame := unsealed(data[ENVELOPE_BYTES:]))
                and (end >= 0 or host.knows(frame))
            ):
                host.receive(end, frame)
    return trace


def _host(journal: Journal, before: Beginning, signer: SignerOf | None, trace: Trace) -> AgentHost:
    setup, field_ = before.setup, before.setup.mode == "field"
    own = of_this_machine(lambda: 0, signer=signer or (lambda agents, name: None))

    def ledger(arms: ArmsSpec, base: str, rank: int) -> Spending:
        # one that enters nothing: what the real one answered stands in the journal
        return Spending() if isinstance(arms, RealArms) else NOT_KEPT

    # `acted` as in a process, where it decides how rewards are asked for
    own = replace(
        own, spending=ledger, entering=lambda arms, base, rank: NOT_KEPT, acted=lambda: None
    )
    sources = record_sources(journal, own, field=field_)
    if not before.state:
        return AgentHost(setup, before.rank, sources)
    sources = sources.coarse() if field_ else sources
    named = outside_agent(journal, sources, setup, before.rank)
    host: AgentHost
    host, _ = read_checkpoint(before.state, named)
    if host.run is not None:
        machine: Any = host.run.machine
        host.run.machine = _Watched(machine, trace)
        trace.now = host.run.pace.now
    return host


# --- in words -------------------------------------------------------------------------------------


def _kind(event: Any) -> str:
    what = event.message if isinstance(event, Received) else event
    return type(what).__name__


def _place(machine: ScriptMachine) -> list[tuple[str, str]]:
    """Where a script stands, what it waits for, and its variables."""
    if machine.place is None:
        return [("the script", "has ended")]
    file, line, variables, awaited = machine.place
    source = linecache.getline(file, line).strip()
    at = [("line", f"{Path(file).name}:{line}: {source}"), ("waits for", awaited)]
    return [*at, *_shown(variables)]


def _parts(name: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """The fields of a machine, and those of the machines and tables that it consists of."""
    own = getattr(value, "__dict__", {})
    if is_dataclass(value):
        own = {part.name: getattr(value, part.name) for part in fields(value)}
    if not own or depth > _DEEPEST or (depth and not is_dataclass(value)):
        yield name, value_in_words(value)
        return
    for part, inner in own.items():
        yield from _parts(f"{name}.{part}".lstrip("."), inner, depth + 1)


def _shown(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, value_in_words(value)) for name, value in values.items() if name != "me"]


def value_in_words(value: Any) -> str:
    """A value in a line."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=5, threshold=32, edgeitems=8, separator=", ")
    elif isinstance(value, bytes) and value and are_floats(value):
        text = value_in_words(np.array(unpack(value)))
    elif isinstance(value, msgspec.Struct):
        parts = msgspec.structs.asdict(value).items()
        text = f"{type(value).__name__}({', '.join(f'{k}={value_in_words(v)}' for k, v in parts)})"
    elif is_dataclass(value) or inspect.isgenerator(value):
        text = type(value).__name__
    else:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    text = printable(" ".join(text.split()), _LONGEST + 1)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def effect_in_words(effect: Any) -> str:
    """An effect in a line."""
    if isinstance(effect, Send):
        return f"to {peer_name(effect.to)}: {value_in_words(effect.message)}"
    if isinstance(effect, Broadcast):
        return f"to all: {value_in_words(effect.message)}"
    return value_in_words(effect)


def event_in_words(event: Any) -> str:
    """An event in a line."""
    if isinstance(event, Received):
        return f"from {peer_name(event.sender)}: {value_in_words(event.message)}"
    if isinstance(event, Pulled):
        sums = zip(event.arms, event.sums.tolist(), strict=True)
        earned = ", ".join(f"arm {arm} {total:.6g}" for arm, total in list(sums)[:16])
        return f"rewards, sums of {event.times:,}: {earned}"
    if isinstance(event, Observed):
        sums = zip(event.arms, event.rewards.sum(axis=1).tolist(), strict=True)
        earned = ", ".join(f"arm {arm} {total:.6g}" for arm, total in list(sums)[:16])
        return f"rewards, sums of {event.rewards.shape[1]:,}: {earned}"
    return value_in_words(event)
