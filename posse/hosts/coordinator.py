"""The coordinator's side of the wire, without the wire: frames in, frames out.

Both engines run this same object. It runs the server's machine where the system has one, the
virtual clock where the run has one, and gathers the closing reports.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from time import monotonic, monotonic_ns

from posse.arms.shared import SharedArms
from posse.clocks.conductor import Conductor
from posse.errors import RunFailed
from posse.hosts.sources import in_milliseconds
from posse.measure.traffic import Delays, Meter
from posse.plan import Plan
from posse.results import field, lab
from posse.results.assembly import Seen
from posse.results.record import RunRecord
from posse.seeds import generator
from posse.systems.base import CoordinatorContext
from posse.systems.network import Network
from protocol import control
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.machine import (
    COORDINATOR,
    Broadcast,
    Dismiss,
    Finish,
    GatheringMachine,
    Note,
    PeerFinished,
    Played,
    Pull,
    Received,
    Send,
    ServerEffect,
    ServerEffects,
    ServerEvent,
    ServerMachine,
    Started,
    Timer,
    TimerFired,
    assert_never_effect,
)
from protocol.wire import Codec, Header, Message, Plane, encode, read_header

_NAMED = 10
_CONTROL = int(Plane.CONTROL)  # an enum's member costs a call to look up, once or more per frame


class CoordinatorHost:
    """Runs one run: decodes what agents send, carries out what the server's machine wants.

    `outbox` holds frames to be carried, as (rank, frame), oldest first. `record` is there when the
    run is complete. `observe` is called after each data message with this host, for progress.
    `timer` is when `fire` is to be called, in seconds of `time.monotonic` (infinite: never).
    """

    def __init__(
        self,
        plan: Plan,
        network: Network,
        run: int,
        stamp: Callable[[], int],
        observe: Callable[["CoordinatorHost"], None] = lambda host: None,
        serial: int | None = None,
    ) -> None:
        spec = plan.spec
        self.plan = plan
        self.run = run
        self._serial = run if serial is None else serial
        self.outbox: list[tuple[int, bytes]] = []
        self.record: RunRecord | None = None
        self.refused: Counter[str] = Counter()
        self.log: defaultdict[str, list[list[float]]] = defaultdict(list)
        self._system = plan.system
        self._codec = Codec(self._system.to_coordinator + control.TO_COORDINATOR)
        self._agents = spec.agents.count
        self._field = spec.mode == "field"
        self._stamp = in_milliseconds(stamp) if self._field else stamp
        self._observe = observe
        self._meter = Meter()
        self._delays = Delays()
        self._sequence: Counter[int] = Counter()
        self._last: dict[int, int] = {}
        self.timer = math.inf
        self.dismissed: dict[int, str] = {}
        self._answers: list[int | None] = [None] * self._agents
        self._finished: set[int] = set()
        self._rates = spec.agents.activity.rates(self._agents)
        self._rate_of_active = 1.0
        self._rounds_of_finished = 0.0
        self._exhausted: dict[int, str] = {}
        self._attested: dict[int, tuple[int, bytes, set[int]]] = {}
        self._complaints: dict[tuple[str, int, str], None] = {}
        self._reports: dict[int, control.Report] = {}
        self._stopped: set[int] = set()
        self._verdict: Finish | None = None
        self._began = monotonic_ns()
        self._slot = 0.0
        self._reached = [0.0] * self._agents
        self._elapsed = 0.0
        self._network = network
        self._clock = plan.clock
        self._conductor = Conductor(self._agents) if self._clock == "virtual" else None
        self._world = SharedArms(spec, run) if self._system.shared_arms else None
        self._machine: ServerMachine | None = None
        if self._system.coordinator is not None:
            self._machine = self._system.coordinator(
                CoordinatorContext(
                    agents=self._agents,
                    arms=spec.arms.arm_count(),
                    parameters=plan.parameters,
                    variant=spec.variant,
                    knowledge=network.server,
                    generator=lambda purpose: generator(
                        spec.seed, run, COORDINATOR, purpose, field=self._field
                    ),
                )
            )

    @property
    def now(self) -> float:
        """The time, in the unit of the run's clock."""
        if self._conductor is not None:
            return self._conductor.now
        if self._world is not None:
            return float(self._world.slots)
        if self._clock == "slots":
            return self._slot
        since = monotonic_ns() - self._began
        return (since // 1_000_000 * 1e-3) if self._field else since * 1e-9

    def expected_rounds(self) -> float:
        """The activations to be expected by now: those of each agent until it finished.

        Exact counts are the agents' own and come with their reports; this is for progress.
        """
        return self._rounds_of_finished + self._rate_of_active * self.now

    def begin(self) -> None:
        """Start the run."""
        if self._machine is not None:
            self._tell(Started())
        for rank in range(self._agents):
            self._send(rank, control.Begin(self.plan.spec.seed, self.run))

    def fire(self) -> None:
        """The time of `timer` has come."""
        self.timer = math.inf
        if self._verdict is None:
            self._tell(TimerFired())

    @property
    def outlives_agents(self) -> bool:
        """Whether the loss of an agent is for the server's machine to deal with."""
        return self._system.outlives_agents

    def lose(self, rank: int) -> None:
        """The process of agent `rank` is gone; only where `outlives_agents`."""
        if rank in self.dismissed:
            return
        self.dismissed[rank] = "lost"
        if self._verdict is not None:
            self._close_if_complete()
        elif rank not in self._finished:
            self._finished.add(rank)
            self._tell(PeerFinished(rank))

    def waiting_for(self) -> list[int]:
        """The agents without whose message the run cannot go on, as far as that is known."""
        if self._verdict is not None:
            return [n for n in self._present() if n not in self._done_with]
        if self._conductor is not None and self._conductor.waiting():
            return self._conductor.waiting()
        if isinstance(self._machine, GatheringMachine) and (missing := self._machine.missing()):
            return missing
        left = [n for n in self._present() if n not in self._finished]
        slowest = min((self._reached[n] for n in left), default=0.0)
        return [n for n in left if self._reached[n] == slowest]

    @property
    def _done_with(self) -> set[int]:
        """Who has said the last word of this run: a report, or in the field only that."""
        return self._stopped if self._field else set(self._reports)

    def fall_silent(self) -> bool:
        """Nothing was heard for the deadline; whether that ends the run as a result.

        Where an agent's end would tell of its rewards, silence is how a run ends without consensus.
        """
        if not self._field or self._system.end != "nothing" or self._verdict is not None:
            return False
        for rank in self._present():
            if self._verdict is None:
                self._tell(PeerFinished(rank))
        return self._verdict is not None

    def _present(self) -> list[int]:
        return [n for n in range(self._agents) if n not in self.dismissed]

    @property
    def trouble(self) -> str:
        """Who refused what whom sent, for the sentence that ends a run; empty if nobody did."""
        shown = list(self._complaints)[:_NAMED]
        return "".join(
            f"; {by} refused what agent {about} sent: {reason}" for by, about, reason in shown
        )

    def receive(self, rank: int, frame: bytes) -> None:
        """Take one frame from a joined agent. What it did wrong is refused and counted."""
        try:
            header = read_header(frame)
            if header.source != rank:
                raise RemoteProtocolError("wrong-source", f"{header.source} from agent {rank}")
            message = self._codec.decode(header, frame)
            if header.run != self._serial:
                raise RemoteProtocolError("stale-run", f"run {header.run}")
            if rank in self.dismissed:
                raise RemoteProtocolError("dismissed", f"agent {rank}")
            if header.sequence <= self._last.get(rank, -1):
                raise RemoteProtocolError("replayed", f"sequence {header.sequence}")
            self._last[rank] = header.sequence
            if self._field:
                # nobody reports what it sent
                kind = type(message).__name__
                self._meter.count(rank, COORDINATOR, header.plane, kind, frame)
            if header.plane == _CONTROL:
                self._control(rank, message, header, frame)
            else:
                self._data(rank, message, header)
        except RemoteProtocolError as error:
            self.refused[error.reason] += 1
            self._complaints[("the coordinator", rank, error.reason)] = None
        if self._conductor is not None:
            self._advance(self._conductor)
        self._observe(self)

    def _data(self, rank: int, message: Message, header: Header) -> None:
        if self._machine is None:
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        if self._verdict is not None:
            return
        if header.sent:
            self._delays.add(self._stamp() - header.sent)
        self._slot = max(self._slot, header.now)
        effects = self._machine.handle(Received(rank, message), self.now)
        self._carry_out(effects)

    def _control(self, rank: int, message: Message, header: Header, frame: bytes) -> None:
        match message:
            case control.Due(due) if self._conductor is not None:
                if not self._conductor.heard(rank, due):
                    raise RemoteProtocolError("out-of-turn", "Due was not asked for")
            case control.SlotReached() if self._clock in ("slots", "wall"):
                self._reached[rank] = header.now
                self._slot = max(self._slot, header.now)
                self._observe(self)
            case control.Finished(arm, exhausted) if rank not in self._finished:
                self._finished.add(rank)
                self._rate_of_active -= self._rates[rank]
                self._rounds_of_finished += self._rates[rank] * self.now
                self._answers[rank] = arm
                if exhausted:
                    self._exhausted[rank] = exhausted
                if self._verdict is None:
                    self._agent_finished(rank, header.now)
            case control.Attested(step, value):
                self._compare(rank, step, value)
            case control.Complaint(about, reason):
                self._complaints[(f"agent {rank}", about, reason)] = None
            case control.Failed(reason):
                raise RunFailed(reason + self.trouble)
            case control.Stopped() if self._field and self._verdict is not None:
                self._stopped.add(rank)
                self._close_if_complete()
            case control.Report() if (
                not self._field and self._verdict is not None and rank not in self._reports
            ):
                self._reports[rank] = message
                # an agent cannot count its own report in it
                self._meter.count(rank, COORDINATOR, _CONTROL, "Report", frame)
                self._close_if_complete()
            case _:
                raise RemoteProtocolError("out-of-turn", type(message).__name__)

    def _compare(self, rank: int, step: int, value: bytes) -> None:
        """All agents must hold the same after a step."""
        first, held, said = self._attested.setdefault(step, (rank, value, set()))
        if held != value:
            raise RunFailed(
                f"agents {first} and {rank} hold different results after step {step}, where all "
                f"must hold the same{self.trouble}"
            )
        said.add(rank)
        if len(said) == self._agents:
            del self._attested[step]

    def _agent_finished(self, rank: int, sent_at: float) -> None:
        if self._machine is not None:
            self._carry_out(self._machine.handle(PeerFinished(rank), sent_at))
        elif len(self._finished) == self._agents:
            self._end(Finish("finished"))

    def _advance(self, conductor: Conductor) -> None:
        if self._verdict is None and (turn := conductor.next()) is not None:
            conductor.owes(turn)
            self._send(turn, control.Advance())

    def _tell(self, event: ServerEvent) -> None:
        assert self._machine is not None
        self._carry_out(self._machine.handle(event, self.now))

    def _carry_out(self, effects: ServerEffects) -> None:
        for effect in effects:
            match effect:
                case Send(to, message):
                    self._send(to, message)
                case Played(arms, payoffs):
                    self._shared().played(arms, payoffs)
                case Pull():
                    self._pull(effect)
                case Timer(after):
                    self.timer = monotonic() + after
                case Broadcast(message):
                    for rank in self._present():
                        self._send(rank, message)
                case Dismiss(agent, reason):
                    self.dismissed[agent] = reason
                    self.refused[reason] += 1
                case Note(row, at):
                    self._system.results.check(row)
                    self.log[row.table].append([self.now if at is None else at, *row.cells()])
                case Finish():
                    self._end(effect)
                case _:
                    assert_never_effect(effect, self._machine, "the coordinator's", ServerEffect)

    def _shared(self) -> SharedArms:
        if self._world is None:
            raise LocalProtocolError(
                f"{self._system.name} has no arms that all agents share: each agent pulls its own"
            )
        return self._world

    def _pull(self, order: Pull) -> None:
        world = self._shared()
        if shortage := world.shortage(order):
            self._exhausted[COORDINATOR] = shortage
            self._end(Finish("exhausted"))
        else:
            self._tell(world.pull(order))

    def _end(self, verdict: Finish) -> None:
        if self._verdict is None:
            self._verdict = verdict
            self.timer = math.inf
            self._elapsed = (monotonic_ns() - self._began) * 1e-9
            for rank in self._present():
                self._send(rank, control.Stop())
            self._close_if_complete()

    def _close_if_complete(self) -> None:
        if all(rank in self._done_with for rank in self._present()):
            self.record = self._close()

    def _send(self, to: int, message: Message) -> None:
        frame = encode(
            message,
            run=self._serial,
            source=COORDINATOR,
            sequence=self._sequence[to],
            now=self.now,
            sent=self._stamp(),
        )
        self._sequence[to] += 1
        self._meter.count(COORDINATOR, to, message.plane, type(message).__name__, frame)
        if message.plane != _CONTROL and self._conductor is not None:
            self._conductor.owes(to)
        self.outbox.append((to, frame))

    def _close(self) -> RunRecord:
        """What the run turned out to be."""
        assert self._verdict is not None
        seen = Seen(
            verdict=self._verdict,
            answers=self._answers,
            exhausted=self._exhausted,
            dismissed=self.dismissed,
            log=dict(self.log),
            refused=self.refused,
            meter=self._meter,
            delays=self._delays,
            elapsed=self._elapsed,
            network=self._network.facts,
            world=self._world,
        )
        if self._field:
            record = field.record(self.plan, self.run, seen)
        else:
            record = lab.record(self.plan, self.run, seen, self._reports)
        self._system.results.complete(self.plan.spec, self.plan.parameters, record)
        return record
