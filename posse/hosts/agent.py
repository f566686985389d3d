"""One agent's side of the wire, without the wire: frames in, frames out.

Both engines run this same object; they differ only in how they carry its frames.
"""

import functools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from agent.noise import SeededNoise
from posse.arms import ArmsContext, ArmsSpec, LabMeans
from posse.arms.buffer import Tape
from posse.clocks.activity import Activity
from posse.clocks.coarse import coarse
from posse.clocks.pace import FreePace, Pace, SharedPace, SlotPace, VirtualPace
from posse.measure.account import Account
from posse.measure.traffic import Delays, Meter
from posse.security.noise import FieldNoise
from posse.seeds import Purpose, generator
from posse.systems import AgentContext, get_system
from protocol import control
from protocol.control import Resources
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.machine import (
    COORDINATOR,
    Abort,
    AgentEffect,
    AgentEffects,
    AgentEvent,
    AgentMachine,
    Attest,
    Broadcast,
    Disclose,
    Explore,
    Finish,
    Note,
    PatientMachine,
    Pull,
    Received,
    Refuse,
    Send,
    Started,
    Stopwatch,
    assert_never_effect,
)
from protocol.wire import HEADER, Codec, Message, Plane, encode, read_header

_LOBBY_KINDS = tuple(
    bytes([0xA0 + len(kind.__name__)]) + kind.__name__.encode() for kind in control.TO_JOINING
)
_CONTROL = int(Plane.CONTROL)  # an enum's member costs a call to look up, once or more per frame
_CONTROL_BYTE = bytes([_CONTROL])

_MOST_COMPLAINTS = 10

NEIGHBOURS = -2
"""As a frame's target: every neighbour."""


class AgentSetup(msgspec.Struct, frozen=True, kw_only=True):
    """All that an agent is told about a series of runs; the payload of `control.Configure`.

    `arms` is only their number where all agents share them. `neighbours` are names, `inboxes` their
    addresses and `keys` their public keys where agents talk to each other. `mode`: lab or field.
    """

    system: str
    variant: str
    parameters: dict[str, Any]
    agents: int
    arms: ArmsSpec | int
    rate: float
    clock: str
    base: str
    neighbours: tuple[int, ...] = ()
    inboxes: dict[int, str] = {}
    keys: dict[int, str] = {}
    mode: str = "lab"
    knowledge: dict[str, Any] = {}


@functools.cache
def codec_of(system: str) -> Codec:
    """What an agent of this system may be sent.

    Making it costs half a megabyte of fresh memory; made before the fork, all agents share one.
    """
    return Codec(get_system(system).to_agent + control.TO_AGENT)


class ResourceMeter:
    """What this agent's process uses; nothing here, where agents share one."""

    def begin(self) -> None:
        """A run begins."""

    def used(self) -> Resources:
        """Since `begin`."""
        return Resources(0.0, 0, 0)


NO_RESOURCES = ResourceMeter()


class AgentHost:
    """Runs one agent's machine: decodes what it receives, carries out what it wants.

    `outbox` holds frames to be carried, as (target, frame), oldest first; a target is a rank,
    `COORDINATOR` or `NEIGHBOURS`.
    `stamp` is the clock for delays, in nanoseconds; it returns 0 where there is none.
    """

    def __init__(
        self,
        setup: AgentSetup,
        rank: int,
        stamp: Callable[[], int],
        resources: ResourceMeter = NO_RESOURCES,
    ) -> None:
        self.setup = setup
        self.rank = rank
        self._resources = resources
        self.outbox: list[tuple[int, bytes]] = []
        self.system = get_system(setup.system)
        self.field = setup.mode == "field"
        self.stamp = coarse(stamp) if self.field else stamp
        self.parameters = msgspec.convert(setup.parameters, self.system.parameters)
        self._codec = codec_of(setup.system)
        self._neighbours = frozenset(setup.neighbours)
        self._known = self._neighbours | {COORDINATOR}
        self.machine: AgentMachine
        self._patient: PatientMachine | None = None
        self.pace: Pace
        self.account: Account
        self._run = -1
        self._running = False
        self.ledger: Account | None = None
        """In the field: what this agent did in its last run. It is shown here and sent nowhere."""
        self._early: list[tuple[int | None, bytes]] = []
        self._last: dict[int, int] = {}
        self._sequence = 0
        self._complaints = 0
        self._stopwatches: dict[str, int] = {}
        self._reset_meters()
        self.send(COORDINATOR, control.Ready())

    def knows(self, frame: bytes) -> bool:
        """Whether the coordinator's frame is for this host, not for the process around it."""
        return frame[3:4] != _CONTROL_BYTE or not frame.startswith(_LOBBY_KINDS, HEADER.size + 1)

    @property
    def hears_neighbours_only(self) -> bool:
        """Whether nothing is due from the coordinator before a neighbour's message is here."""
        if not self._running or self.system.coordinator is not None:
            return False
        return self.pace.under_way and not self.pace.ready

    @property
    def awaited(self) -> int:
        """How many more of the neighbours' messages must be here before this agent acts."""
        return self._patient.awaited if self._patient is not None else 1

    @property
    def slot(self) -> float:
        """This agent's time by a clock that neighbours share; without one nobody is further on."""
        return self.pace.now if self.setup.clock == "slots" else math.inf

    @property
    def busy(self) -> bool:
        """Whether `step` has something to do without another message."""
        return self._running and self.pace.ready

    def step(self) -> None:
        """Carry out what the agent does of its own accord (clocks `slots` and `wall`)."""
        self.pace.step()

    def receive(self, sender: int | None, frame: bytes, arrived: int = 0) -> None:
        """Take one frame. What a peer did wrong is refused and counted.

        `sender` is who the transport knows the peer to be, None where it does not know. `arrived`:
        what `stamp` showed when the frame was here, if that was not just now.
        """
        source: int | None = None
        try:
            header = read_header(frame)
            _, _, plane, run, source, sequence, now, sent = header
            if sender is not None and source != sender:
                raise RemoteProtocolError("wrong-source", f"{source} on the link of {sender}")
            if source not in self._known:
                raise RemoteProtocolError("stranger", str(source))
            ours = plane == _CONTROL and source == COORDINATOR
            if run > self._run and not ours:
                # a neighbour heard of the run's beginning before we did
                self._early.append((sender, frame))
                return
            if not ours and (run < self._run or not self._running):
                return  # under way when its run ended
            message = self._codec.decode(header, frame)
            if plane == _CONTROL and isinstance(message, control.Control):
                if not ours:
                    raise RemoteProtocolError("control-from-agent", str(source))
                self._control(message, run, now)
                return
            if sequence <= self._last.get(source, -1):
                raise RemoteProtocolError("replayed", f"sequence {sequence}")
            self._last[source] = sequence
            if sent:
                self.delays.add((arrived or self.stamp()) - sent)
            self.pace.message(Received(source, message), now)
        except RemoteProtocolError as error:
            self._refuse(error.reason, source)

    def _refuse(self, reason: str, source: int | None, count: int = 1) -> None:
        """Count what a peer did wrong; name a neighbour to the coordinator, some times."""
        self.refused[reason] += count
        if self._running and source in self._neighbours and self._complaints < _MOST_COMPLAINTS:
            self._complaints += 1
            self.send(COORDINATOR, control.Complaint(source, reason))

    def _control(self, message: Message, run: int, now: float) -> None:
        match message:
            case control.Begin(seed, number):
                self._begin(seed, number, serial=run)
                early, self._early = self._early, []
                for sender, frame in early:
                    self.receive(sender, frame)
            case control.Advance():
                self.pace.advance(now)
            case control.Stop() if run == self._run and self._running:
                self._stop(now)
            case _:
                raise RemoteProtocolError("out-of-turn", type(message).__name__)

    def _begin(self, seed: int, run: int, serial: int) -> None:
        setup = self.setup
        self._run = serial
        self._running = True
        self._last = {}
        self._sequence = 0
        self._complaints = 0
        self._reset_meters()
        self._resources.begin()

        def seeded(purpose: Purpose, rank: int = self.rank) -> np.random.Generator:
            return generator(seed, run, rank, purpose, field=self.field)

        arms = setup.arms if isinstance(setup.arms, int) else setup.arms.arm_count()
        self.machine = self.system.agent(
            AgentContext(
                rank=self.rank,
                agents=setup.agents,
                arms=arms,
                parameters=self.parameters,
                variant=setup.variant,
                neighbours=setup.neighbours,
                knowledge=setup.knowledge,
                noise=FieldNoise() if self.field else SeededNoise(seeded(Purpose.NOISE)),
                generator=seeded,
                field=self.field,
            )
        )
        self._patient = self.machine if isinstance(self.machine, PatientMachine) else None
        self._set_pace(run, seed, arms, seeded)
        self.pace.start()

    def _set_pace(
        self, run: int, seed: int, arms: int, seeded: Callable[..., np.random.Generator]
    ) -> None:
        """Build the agent's own arms, and the clock by which it pulls them."""
        setup = self.setup
        if isinstance(setup.arms, int):
            self.account = Account(arms, {})
            self.pace = SharedPace(self)
            return
        context = ArmsContext(
            rank=self.rank,
            agents=setup.agents,
            run=run,
            seed=seed,
            base=setup.base,
            rewards=seeded(Purpose.REWARDS),
            instance=seeded(Purpose.INSTANCE, COORDINATOR),
        )
        references = {}
        if isinstance(setup.arms, LabMeans):
            table = setup.arms.table(setup.agents, seeded(Purpose.INSTANCE, COORDINATOR))
            if self.system.regret_against == "own":
                references["regret"] = table[self.rank]
            else:
                references["regret"] = table.mean(axis=0)
                if (table != table[0]).any():
                    references["regret_local"] = table[self.rank]
        self.account = Account(arms, references)
        tape = Tape(setup.arms.build(context), arms)
        match setup.clock:
            case "virtual":
                activity = Activity(setup.rate, seeded(Purpose.ACTIVITY))
                self.pace = VirtualPace(self, tape, activity)
            case "slots":
                self.pace = SlotPace(self, tape)
            case _:
                self.pace = FreePace(self, tape)

    def _reset_meters(self) -> None:
        self.meter = Meter()
        self.delays = Delays()
        self.refused: Counter[str] = Counter()
        self._stopwatches = {}
        self.seconds: dict[str, list[float]] = {}

    def _stop(self, now: float) -> None:
        self.pace.stop(now)
        self._running = False
        account = self.account
        if self.field:
            # what this agent did stays with it
            self.ledger = account
            self.send(COORDINATOR, control.Stopped())
            return
        self.send(
            COORDINATOR,
            control.Report(
                pulls=account.pulls.astype("<i8").tobytes(),
                activations=account.activations,
                slots=account.slots,
                regret={name: r.total for name, r in account.regret.items()},
                curve={name: r.curve().tobytes() for name, r in account.regret.items()},
                links=self.meter.links(),
                delays=dict(self.delays.histogram()),
                refused=dict(self.refused),
                releases=account.releases,
                log=account.log,
                seconds=self.seconds,
                resources=self._resources.used(),
            ),
        )

    def tell(self, event: AgentEvent, now: float) -> Pull | Explore | Finish | None:
        """Hand an event to the machine and carry out its effects; return its order, if any."""
        effects = self.machine.handle(event, now)
        return self._carry_out(effects) if effects else None

    def begin_machine(self) -> Pull | Explore | Finish | None:
        """Tell the machine that the run begins."""
        return self.tell(Started(), 0.0)

    def _carry_out(  # noqa: PLR0912  a branch for each effect
        self, effects: AgentEffects
    ) -> Pull | Explore | Finish | None:
        order: Pull | Explore | Finish | None = None
        for effect in effects:
            match effect:
                case Send(to, message):
                    self.send(to, message)
                case Pull() | Explore():
                    order = effect
                case Broadcast(message):
                    frame = self._frame(message)
                    kind = type(message).__name__
                    self.meter.count_each(
                        self.rank, self.setup.neighbours, message.plane, kind, frame
                    )
                    self.outbox.append((NEIGHBOURS, frame))
                case Disclose(release):
                    self.account.disclosed(release)
                case Note(name, row):
                    self.account.log.setdefault(name, []).append([self.pace.now, *row])
                case Stopwatch(name, running):
                    self._time(name, running)
                case Attest(step, value):
                    # what agents hold among themselves is not the coordinator's in the field
                    if not self.field:
                        self.send(COORDINATOR, control.Attested(step, value))
                case Refuse(reason, sender, count):
                    self._refuse(reason, sender, count)
                case Abort(reason):
                    # reasons name rounds and agents, never a reward
                    self.send(COORDINATOR, control.Failed(f"agent {self.rank}: {reason}"))
                case Finish(_, arm):
                    order = effect
                    self._say_finished(arm)
                case _:
                    assert_never_effect(effect, self.machine, f"agent {self.rank}'s", AgentEffect)
        return order

    def _say_finished(self, arm: int | None) -> None:
        """In the field an end that tells more than was sent is kept back, see `System.end`."""
        self.account.answer = arm
        if not self.field or self.system.end == "answer":
            self.send(COORDINATOR, control.Finished(arm))
        elif self.system.end == "bare":
            self.send(COORDINATOR, control.Finished(None))

    def _time(self, name: str, running: bool) -> None:
        now = self.stamp()
        if running:
            self._stopwatches[name] = now
        elif began := self._stopwatches.pop(name, 0):
            self.seconds.setdefault(name, []).append((now - began) * 1e-9)

    def exhausted(self, what: str) -> None:
        """The agent's rewards are used up: it stops and says so, see `System.end`."""
        self.account.exhausted = what
        if not self.field:
            self.send(COORDINATOR, control.Finished(None, what))
        elif self.system.end == "answer":
            self.send(COORDINATOR, control.Finished(None, "its rewards are used up"))
        elif self.system.end == "bare":
            self.send(COORDINATOR, control.Finished(None))

    def send(self, to: int, message: Message) -> None:
        """Encode and count one message, and put it into the outbox."""
        if to != COORDINATOR and to not in self._neighbours:
            raise LocalProtocolError(f"agent {self.rank} has no link to {to}")
        if to != COORDINATOR and self.system.broadcasts:
            raise LocalProtocolError(f"{self.setup.system} says the same to all, not one to {to}")
        frame = self._frame(message)
        self.meter.count(self.rank, to, message.plane, type(message).__name__, frame)
        self.outbox.append((to, frame))

    def _frame(self, message: Message) -> bytes:
        frame = encode(
            message,
            run=max(self._run, 0),
            source=self.rank,
            sequence=self._sequence,
            now=self.pace.now if self._run >= 0 and hasattr(self, "pace") else 0.0,
            sent=self.stamp(),
        )
        self._sequence += 1
        return frame
