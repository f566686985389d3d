"""The coordinator's side of the wire, without the wire: frames in, frames out.

Both engines run this same object. It runs the server's machine where the system has one, the
virtual clock where the run has one, and gathers the closing reports.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from time import monotonic_ns

import numpy as np

from posse import regret
from posse.conductor import Conductor
from posse.errors import RunFailed
from posse.meter import Meter, bucket, quantile
from posse.record import RunRecord, communication
from posse.seeds import generator
from posse.spec import RunSpec
from posse.systems.base import CoordinatorContext, Network
from protocol import control
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.machine import (
    COORDINATOR,
    Broadcast,
    Effects,
    Event,
    Finish,
    Machine,
    Note,
    PeerFinished,
    Received,
    Send,
    Started,
)
from protocol.privacy import spent
from protocol.wire import Codec, Header, Message, Plane, encode, read_header


class CoordinatorHost:
    """Runs one run: decodes what agents send, carries out what the server's machine wants.

    `outbox` holds frames to be carried, as (rank, frame), oldest first. `record` is there when the
    run is complete. `observe` is called after each data message with this host, for progress.
    """

    def __init__(
        self,
        spec: RunSpec,
        network: Network,
        run: int,
        stamp: Callable[[], int],
        observe: Callable[["CoordinatorHost"], None] = lambda host: None,
        serial: int | None = None,
    ) -> None:
        self.spec = spec
        self.run = run
        self._serial = run if serial is None else serial
        self.outbox: list[tuple[int, bytes]] = []
        self.record: RunRecord | None = None
        self.refused: Counter[str] = Counter()
        self.log: defaultdict[str, list[list[float]]] = defaultdict(list)
        self._system = spec.definition()
        self._codec = Codec(self._system.to_coordinator + control.TO_COORDINATOR)
        self._agents = spec.agents.count
        self._stamp = stamp
        self._observe = observe
        self._meter = Meter()
        self._delays: Counter[int] = Counter()
        self._sequence: Counter[int] = Counter()
        self._last: dict[int, int] = {}
        self._answers: list[int | None] = [None] * self._agents
        self._finished: set[int] = set()
        self._exhausted: dict[int, str] = {}
        self._reports: dict[int, control.Report] = {}
        self._verdict: Finish | None = None
        self._began = monotonic_ns()
        self._slot = 0.0
        self._reached = [0.0] * self._agents
        self._elapsed = 0.0
        self._network = network
        self._clock = spec.clock()
        self._conductor = Conductor(self._agents) if self._clock == "virtual" else None
        self._machine: Machine | None = None
        if self._system.coordinator is not None:
            self._machine = self._system.coordinator(
                CoordinatorContext(
                    agents=self._agents,
                    arms=spec.arms.arm_count(),
                    parameters=spec.model(),
                    variant=spec.variant,
                    knowledge=network.server,
                    generator=lambda purpose: generator(spec.seed, run, COORDINATOR, purpose),
                )
            )

    @property
    def now(self) -> float:
        """The time, in the unit of the run's clock."""
        if self._conductor is not None:
            return self._conductor.now
        if self._clock == "slots":
            return self._slot
        return (monotonic_ns() - self._began) * 1e-9

    def begin(self) -> None:
        """Start the run."""
        if self._machine is not None:
            self._tell(Started())
        for rank in range(self._agents):
            self._send(rank, control.Begin(self.spec.seed, self.run))

    def waiting_for(self) -> list[int]:
        """The agents without whose message the run cannot go on, as far as that is known."""
        if self._verdict is not None:
            return [n for n in range(self._agents) if n not in self._reports]
        if self._conductor is not None and self._conductor.waiting():
            return self._conductor.waiting()
        left = [n for n in range(self._agents) if n not in self._finished]
        slowest = min((self._reached[n] for n in left), default=0.0)
        return [n for n in left if self._reached[n] == slowest]

    def receive(self, rank: int, frame: bytes) -> None:
        """Take one frame from a joined agent. What it did wrong is refused and counted."""
        try:
            header = read_header(frame)
            if header.source != rank:
                raise RemoteProtocolError("wrong-source", f"{header.source} from agent {rank}")
            message = self._codec.decode(header, frame)
            if header.run != self._serial:
                raise RemoteProtocolError("stale-run", f"run {header.run}")
            if header.sequence <= self._last.get(rank, -1):
                raise RemoteProtocolError("replayed", f"sequence {header.sequence}")
            self._last[rank] = header.sequence
            if header.plane == Plane.CONTROL:
                self._control(rank, message, header, frame)
            else:
                self._data(rank, message, header)
        except RemoteProtocolError as error:
            self.refused[error.reason] += 1
        if self._conductor is not None:
            self._advance(self._conductor)

    def _data(self, rank: int, message: Message, header: Header) -> None:
        if self._machine is None:
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        if self._verdict is not None:
            return
        if header.sent:
            self._delays[bucket(self._stamp() - header.sent)] += 1
        self._slot = max(self._slot, header.now)
        effects = self._machine.handle(Received(rank, message), self.now)
        self._carry_out(effects)
        self._observe(self)

    def _control(self, rank: int, message: Message, header: Header, frame: bytes) -> None:
        match message:
            case control.Due(due) if self._conductor is not None:
                if not self._conductor.heard(rank, due):
                    raise RemoteProtocolError("out-of-turn", "Due was not asked for")
            case control.SlotReached() if self._clock == "slots":
                self._reached[rank] = header.now
                self._slot = max(self._slot, header.now)
                self._observe(self)
            case control.Finished(arm, exhausted) if rank not in self._finished:
                self._finished.add(rank)
                self._answers[rank] = arm
                if exhausted:
                    self._exhausted[rank] = exhausted
                if self._verdict is None:
                    self._agent_finished(rank)
            case control.Failed(reason):
                raise RunFailed(reason)
            case control.Report() if self._verdict is not None and rank not in self._reports:
                self._reports[rank] = message
                # an agent cannot count its own report in it
                self._meter.count(rank, COORDINATOR, Plane.CONTROL, "Report", frame)
                if len(self._reports) == self._agents:
                    self.record = self._close()
            case _:
                raise RemoteProtocolError("out-of-turn", type(message).__name__)

    def _agent_finished(self, rank: int) -> None:
        if self._machine is not None:
            self._tell(PeerFinished(rank))
        elif len(self._finished) == self._agents:
            self._end(Finish("finished"))

    def _advance(self, conductor: Conductor) -> None:
        if self._verdict is None and (turn := conductor.next()) is not None:
            conductor.owes(turn)
            self._send(turn, control.Advance())

    def _tell(self, event: Event) -> None:
        assert self._machine is not None
        self._carry_out(self._machine.handle(event, self.now))

    def _carry_out(self, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Broadcast(message):
                    for rank in range(self._agents):
                        self._send(rank, message)
                case Send(to, message):
                    self._send(to, message)
                case Note(name, row):
                    self.log[name].append([self.now, *row])
                case Finish():
                    self._end(effect)
                case _:
                    raise LocalProtocolError(f"a coordinator cannot {type(effect).__name__}")

    def _end(self, verdict: Finish) -> None:
        if self._verdict is None:
            self._verdict = verdict
            self._elapsed = (monotonic_ns() - self._began) * 1e-9
            for rank in range(self._agents):
                self._send(rank, control.Stop())

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
        if message.plane != Plane.CONTROL and self._conductor is not None:
            self._conductor.owes(to)
        self.outbox.append((to, frame))

    def _close(self) -> RunRecord:
        """Put the agents' reports together."""
        assert self._verdict is not None
        spec = self.spec
        reports = [self._reports[n] for n in range(self._agents)]
        pulls = np.array([np.frombuffer(report.pulls, dtype="<i8") for report in reports])
        for report in reports:
            self._meter.add(report.links)
            self._delays.update(report.delays)
            self.refused.update(report.refused)
        links = self._meter.links()
        activations = [report.activations for report in reports]
        curves = {
            name: [np.frombuffer(r.curve[name]).reshape(-1, 3) for r in reports]
            for name in reports[0].curve
        }
        totals = {name: sum(report.regret[name] for report in reports) for name in curves}
        claim = self._system.claim(spec.model(), spec.variant)
        used = [report.resources for report in reports]
        record = RunRecord(
            run=self.run,
            seed=spec.seed,
            status=self._verdict.status,
            best_arm=self._verdict.arm,
            rounds=None if self._clock == "slots" else sum(activations),
            slots=max(report.slots for report in reports) if self._clock == "slots" else None,
            pulls=int(pulls.sum()),
            regret=totals.get("regret"),
            regret_local=totals.get("regret_local"),
            regret_per_agent=(
                [report.regret["regret"] for report in reports] if "regret" in totals else None
            ),
            regret_curve=(
                regret.merge(curves["regret"], by_time=self._clock == "slots")
                if "regret" in curves
                else None
            ),
            pulls_per_arm=pulls.sum(axis=0).tolist(),
            pulls_per_agent=pulls.sum(axis=1).tolist(),
            activations_per_agent=activations,
            answers=self._answers,
            exhausted=self._exhausted,
            log=dict(self.log),
            network=self._network.facts,
            communication=communication(links),
            delay=_delay(self._delays),
            privacy=None
            if claim is None
            else {
                "claim": {name: getattr(claim, name) for name in claim.__struct_fields__},
                "variant": spec.variant,
                "spent_per_agent": [spent(report.releases) for report in reports],
                "releases_per_agent": [
                    sum(release.times for release in report.releases) for report in reports
                ],
            },
            refused=dict(self.refused),
            resources=None
            if not any(r.peak_bytes for r in used)
            else {
                "cpu_seconds_per_agent": [r.cpu_seconds for r in used],
                "peak_bytes_per_agent": [r.peak_bytes for r in used],
                "proportional_bytes_per_agent": [r.proportional_bytes for r in used],
            },
            elapsed_seconds=self._elapsed,
            agent_logs=[report.log for report in reports],
            links=links,
            ledgers=[report.releases for report in reports],
        )
        self._system.summarise(spec, record)
        return record


def _delay(histogram: Counter[int]) -> dict[str, float | int | None] | None:
    """Seconds from send to receipt, as a distribution."""
    if not histogram:
        return None
    return {
        "messages": histogram.total(),
        **{f"p{int(100 * q)}": quantile(histogram, q) for q in (0.5, 0.9, 0.99, 1.0)},
    }
