"""A simulated posse: the processes of one coordinator and its agents, and what happened to them."""

import gc
import logging
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Any

import msgspec

from posse import defect
from posse.agent.remote import remote_agent
from posse.arms import LiveArms
from posse.durable.capture import Tap, writing
from posse.engines.simulated.machine import SimulatedDisk, SimulatedWorld
from posse.engines.simulated.network import SimulatedNetwork
from posse.engines.simulated.schedule import Process, TurnSchedule
from posse.engines.simulated.starter import SimulatedStarter, started
from posse.engines.simulated.visitors import SimulatedDoor
from posse.errors import PosseError
from posse.gates import files
from posse.gates.disk import DISK
from posse.live.service import serve_by
from posse.log import LOG
from posse.plan import Plan, prepare
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.machine import COORDINATOR, peer_name
from posse.protocol.wire import kind_of
from posse.results.record import RunRecord
from posse.security import keys
from posse.security.address import FORWARDED
from posse.security.keys import AgentKeys
from posse.wire.forwarding import FORWARD
from posse.wire.links import without_topic
from posse.wire.session import content, is_numbered

_ADDRESS = "tcp://127.0.0.1:39999"
COORDINATORS_JOURNAL = "coordinator.journal"
FIRST_STRANGER = MOST_AGENTS
"""The rank of the first stranger; all agents are below."""

_SHM = Path("/dev/shm")
WAIT = 300.0
"""Seconds that an agent waits for its coordinator, if nothing else is said."""


class TraceEvent(msgspec.Struct, frozen=True):
    """What happened: `when` in virtual seconds, `what`, from whom to whom, and more about it."""

    when: float
    what: str
    source: int
    target: int
    detail: str = ""

    def __str__(self) -> str:
        ends = peer_name(self.source)
        if self.target != self.source:
            ends += f" -> {peer_name(self.target)}"
        return f"{self.when:.6f} {self.what} {ends} {self.detail}".rstrip()


class EndedProcess(msgspec.Struct, frozen=True):
    """The end of a process: its exit code, and its error as a sentence ("" for none)."""

    rank: int
    code: int
    why: str


Serve = Callable[..., AbstractContextManager[Callable[[Sequence[int]], Any]]]
"""What the coordinator's process does: `posse.api.serve`."""


class SimulatedCluster:
    """The processes of one seed, whose coordinator's is `serve`.

    `records` are the runs that are safe, by number; `ended` the processes that ended by themselves,
    `defects` the tracebacks of those that should not have. `numbers`: the runs that are made, by
    default all of the plan. `keyed`: all have keys, in a folder each, as `posse keys` makes them.
    `ipc`: agents join by a file, as on one machine. `starts`: the coordinator's process starts its
    agents itself, as `posse run` does. `waits`: how long each agent waits for its coordinator.

    Above 20 attributes: all processes with what each has, and all that happened.
    """

    starter: SimulatedStarter | None = None
    """What starts the agents, if the coordinator's process does."""
    came_late = False
    """Whether the coordinator was started when agents had been let go already."""
    forwarded: frozenset[int] = frozenset()
    """Agents that accept no connections."""
    _last_up: Process | None = None
    doors: dict[int, SimulatedDoor]
    """Where applications ask, by rank, if arms are live."""

    def __init__(
        self,
        plan: Plan,
        seed: int | str,
        serve: Serve,
        *,
        numbers: Sequence[int] | None = None,
        tap: Tap | None = None,
        keyed: bool = False,
        ipc: bool = False,
        starts: bool = False,
    ) -> None:
        self.folder = files.new_folder("posse-simulated-", _SHM if _SHM.is_dir() else None)
        """All that the processes keep, and their logs of rewards in the field."""
        self.starts = starts
        self.address = f"ipc://{self.folder}/hub" if ipc else _ADDRESS
        self.plan = plan
        if plan.field:
            self.plan = prepare(msgspec.structs.replace(plan.spec, base=str(self.folder)))
        self.seed = seed
        self.numbers = range(plan.spec.repeat) if numbers is None else numbers
        self.waits = defaultdict[int, float](lambda: WAIT)
        self._serve = serve
        self._tap = tap
        self.schedule = TurnSchedule(f"simulation {seed}")
        self.network = SimulatedNetwork(self.schedule, self._note)
        self.events: list[TraceEvent] = []
        self.records: dict[int, RunRecord] = {}
        self.ended, self.defects = list[EndedProcess](), list[str]()
        self.errors: dict[int, PosseError] = {}
        """The error that ended a process last, by rank."""
        self.logged, self.warned = list[TraceEvent](), list[str]()
        """What was logged, and of that the warnings."""
        self.processes: dict[int, Process] = {}
        self.worlds: dict[int, SimulatedWorld] = {}
        self.disks = {rank: self._disk() for rank in self.ranks}
        self.settings: dict[int, dict[str, float]] = {}
        """By rank: attributes of its world that outlive a restart."""
        self.per_turn = self.schedule.random.choice((0.0, 0.001, 0.01, 0.1))
        self.watching: list[Callable[[TraceEvent], None]] = []
        self.up_at_end: list[int] = []
        """Processes that were still up when time was up."""
        self.coming = 0
        """Faults that are not over; they may start processes again."""
        self._strangers: list[tuple[int, AgentKeys | None]] = []
        self.rivals: list[Process] = []
        """Other coordinators that were started, at the same address."""
        self.replaced = 0
        """How often one of them had its place, and may have begun a run of its own."""
        self.not_refused, self.doors = 0, {}
        """How many of them did not end by themselves beside one that stayed up."""
        self.went_back: list[int] = []
        """Processes whose journal lost rows of the run that it is of."""
        self._starts, self._boots = Counter[int](), Counter[int]()
        spec = plan.spec
        self.per_process = 1
        """Agents that share a process, and are killed, stopped and started together."""
        self.durable = plan.field or spec.engine.durable or spec.engine.restarts > 0
        self.keys = self.folder / "keys" if keyed else None
        """The folder of all key folders; None without keys."""
        if self.keys is not None:
            keys.create(self.keys, spec.agents.count, random.Random(f"keys {seed}").randbytes)

    # --- processes -------------------------------------------------------------------------------

    @property
    def ranks(self) -> range:
        """All processes: the coordinator, and the agents."""
        return range(COORDINATOR, self.plan.spec.agents.count)

    @property
    def capture(self) -> Path:
        """The frames of all processes, in the field."""
        return self.folder / "frames"

    def journal(self, rank: int) -> Path:
        """The journal of a process."""
        name = COORDINATORS_JOURNAL if rank == COORDINATOR else f"agent-{rank}.journal"
        return self.folder / name

    def start(self, rank: int) -> None:
        """Start a process, again if it is down."""
        if self.is_up(rank):
            return
        if rank == COORDINATOR:
            self.came_late = any(end.rank != COORDINATOR for end in self.ended)
            self._spawn(rank, self._coordinate)
        elif rank >= FIRST_STRANGER:
            self._spawn(rank, self._intrude)
        elif not self.starts:  # else the coordinator's process does, or does not
            self._spawn(rank, self._take_part)

    def _spawn(self, rank: int, main: Callable[[int, SimulatedWorld], int]) -> None:
        starts = self._starts[rank] = self._starts[rank] + 1
        disk = self.disks.setdefault(rank, self._disk())
        name = f"process {self.seed} {rank} {starts}"
        boots = self._boots[rank]
        world = SimulatedWorld(self.schedule, self.network, rank, name, boots)
        world.per_turn = self.per_turn
        for setting, value in self.settings.get(rank, {}).items():
            setattr(world, setting, value)
        self._tell("starts", rank)
        process = Process(self.schedule, rank, _on(disk, lambda: main(rank, world)))
        world.process, world.folder = process, self.folder
        process.reads = world.read
        process.on_end = lambda: self._has_ended(process)
        self.processes[rank], self.worlds[rank] = process, world

    def _disk(self) -> SimulatedDisk:
        return SimulatedDisk(self.schedule, self.capture)

    def _coordinate(self, rank: int, world: SimulatedWorld) -> int:
        return self._make_runs(world, self.folder, self.records)

    def _make_runs(self, world: SimulatedWorld, folder: Path, records: dict[int, RunRecord]) -> int:
        left = [n for n in self.numbers if n not in records]
        journal = folder / COORDINATORS_JOURNAL if self.durable else None
        kept: dict[str, Any] = {"capture": folder / self.capture.name} if self.plan.field else {}
        if self.keys is not None:
            agents = self.plan.spec.agents.count
            resumes = journal is not None and journal.exists()
            kept["keys"] = keys.for_coordinator(self.keys, agents, resumes=resumes)
        if self.starts:
            made: Any = started(self.plan, world, partial(self._starter, world.process))
        else:
            made = self._serve(self.plan, bind=self.address, journal=journal, world=world, **kept)
        with made as make:
            for place, outcome in make(left):
                if isinstance(outcome, PosseError):
                    raise outcome
                records[left[place]] = outcome
        return 0

    def _starter(self, process: Process) -> SimulatedStarter:
        self.starter = SimulatedStarter(process, self.network, self._spawn, self.kill)
        return self.starter

    def start_rivals(self, *, same: bool = False, other: bool = False) -> Callable[[], None]:
        """Start more coordinators at the same address; returns what kills them.

        `same`: by the same command; `other`: with a folder of its own. How they end is no end of
        the coordinator's.
        """
        folders = [self.folder] * same
        if other:
            folders.append(files.new_folder("other-", self.folder))
        rivals = [self._rival(folder) for folder in folders]
        first = self.processes[COORDINATOR]
        beside = first.alive
        self.replaced += not beside

        def kill() -> None:
            stayed = beside and first.alive
            self.replaced += beside and not stayed
            for process in rivals:
                self.not_refused += stayed and not isinstance(process.error, PosseError)
                if process.alive:
                    process.alive = False
                    self.network.killed(process)
                    process.kill()
                    self._clear(process)

        return kill

    def _rival(self, folder: Path) -> Process:
        disk = self.disks[COORDINATOR]
        name = f"process {self.seed} rival {len(self.rivals)}"
        world = SimulatedWorld(self.schedule, self.network, COORDINATOR, name)
        main = _on(disk, partial(self._make_runs, world, folder, {}))
        process = world.process = Process(self.schedule, COORDINATOR, main)

        def ends() -> None:
            error = process.error
            if error is not None and not isinstance(error, PosseError):
                self.defects.append(defect.report("a second coordinator", error))
            self._tell("a second ends", COORDINATOR, str(error or ""))
            self.network.killed(process)
            self._clear(process)

        process.on_end = ends
        self.rivals.append(process)
        return process

    def _open_door(self, rank: int, world: SimulatedWorld) -> None:
        """Let an application ask the agent, if its arms are live."""
        spec = self.plan.spec
        if not isinstance(spec.arms, LiveArms):
            return
        if (door := self.doors.get(rank)) is None:
            settings = spec.arms.settings(spec.privacy.persons)
            door = self.doors[rank] = SimulatedDoor(settings, rank, self.seed, world.wall)
        door.restart(world.wall)
        serve_by(spec.arms.key(spec.base, rank), door)

    def _take_part(self, rank: int, world: SimulatedWorld) -> int:
        self._open_door(rank, world)
        with writing(self.capture if self.plan.field else None, goes_on=True) as capture:
            agent = remote_agent(
                self.address,
                rank,
                keys=None if self.keys is None else keys.for_agent(self.keys, rank),
                plan=self.plan,
                lab=True,
                wait=self.waits[rank],
                inbox=FORWARDED if rank in self.forwarded else "",
                tap=capture or self._tap,
                journal=self.journal(rank),
                world=world,
            )
            return agent.serve()

    def intrude(self, claimed: int, shown: AgentKeys | None) -> int:
        """Start an agent that claims this rank with these keys; returns its rank here."""
        self._strangers.append((claimed, shown))
        rank = FIRST_STRANGER + len(self._strangers) - 1
        self.start(rank)
        return rank

    def _intrude(self, rank: int, world: SimulatedWorld) -> int:
        claimed, shown = self._strangers[rank - FIRST_STRANGER]
        return remote_agent(self.address, claimed, keys=shown, lab=True, world=world).serve()

    def _has_ended(self, process: Process) -> None:
        rank, error = process.rank, process.error
        code, why = process.result, ""
        if isinstance(error, PosseError):
            code, why = error.exit_code, str(error)
            # without the frames, and with them the open files, that it came through
            self.errors[rank] = error.with_traceback(None)
            error.__context__ = error.__cause__ = None
        elif error is not None:
            code, why = 70, defect.report(peer_name(rank), error)
            self.defects.append(why)
        self.ended.append(EndedProcess(rank, code, self._plain(why)))
        self._tell("ends", rank, f"{code} {why.splitlines()[0] if why else ''}".rstrip())
        self.network.killed(process)
        process.error = None
        self._clear(process)
        self._tell_starter(rank, code)

    def _tell_starter(self, rank: int, code: int) -> None:
        if self.starter is not None:
            self.starter.close() if rank == COORDINATOR else self.starter.ended(rank, code)

    def _clear(self, process: Process, *, silently: bool = False) -> None:
        """Close what a process had open, as the system does when it ends."""
        self.disks[process.rank].killed(process, silently=silently)
        if self.plan.field:
            gc.collect()  # its ledger's file goes with its objects

    def kill(self, rank: int, *, silently: bool = False) -> None:
        """Kill a process, as SIGKILL does; `silently` with its machine."""
        if not self.is_up(rank):
            return
        process = self.processes[rank]
        self._tell("killed", rank)
        self._boots[rank] += silently
        process.alive = False
        self.network.killed(process, silently=silently)
        process.kill()
        self._clear(process, silently=silently)
        self._tell_starter(rank, -SIGKILL)

    def stop(self, rank: int) -> None:
        """Stop a process, as SIGSTOP does."""
        if self.is_up(rank) and (process := self.processes[rank]).stopped_at is None:
            self._tell("stops", rank)
            process.stop()
            self.network.stopped(process)

    def go_on(self, rank: int) -> None:
        """Let a process go on, as SIGCONT does."""
        if self.is_up(rank) and (since := self.processes[rank].stopped_at) is not None:
            process = self.processes[rank]
            self._tell("goes on", rank)
            since = self.schedule.now - since
            process.go_on()
            self.network.went_on(process, since)

    def set(self, rank: int, name: str, value: float) -> None:
        """Set an attribute of a process's world, now and after each restart."""
        self.settings.setdefault(rank, {})[name] = value
        if rank in self.worlds:
            setattr(self.worlds[rank], name, value)

    # --- the run ---------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether no process is up, and none is to be started again."""
        if self.coming:
            return False
        if self._last_up is None or not self._last_up.alive:
            everybody = [*self.processes.values(), *self.rivals]
            self._last_up = next((process for process in everybody if process.alive), None)
        return self._last_up is None

    def remark(self, what: str, ends: Sequence[int]) -> None:
        """Write into the trace that something begins, or ends, to be wrong."""
        self._tell(what, ends[0], " ".join(map(str, ends[1:])), ends[-1])

    def mates(self, ranks: Iterable[int], *, at_first: bool = False) -> list[int]:
        """These, and all agents that share a process with one of them, or did `at_first`."""
        if self.starter is not None and not at_first:
            together = self.starter.together
            return sorted({*ranks}.union(*(together.get(rank, ()) for rank in ranks)))
        agents, shared = range(self.plan.spec.agents.count), self.per_process
        own = {r // shared for r in ranks if r in agents}
        return sorted({*ranks} | {rank for rank in agents if rank // shared in own})

    def is_up(self, rank: int) -> bool:
        """Whether a process is up, running or stopped."""
        return rank in self.processes and self.processes[rank].alive

    def run(self, until: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Start all; let time pass until all have ended, it is `enough`, or the time comes."""
        handler = _Heard(self._log)
        before = LOG.handlers, LOG.level, LOG.propagate
        LOG.handlers, LOG.propagate = [handler], False
        LOG.setLevel(logging.INFO)
        gc.freeze()  # so that each `gc.collect` looks at what came since only
        try:
            for rank in self.ranks:
                if rank not in self.processes:
                    self.start(rank)
            self.schedule.carry_on(lambda: self.over or enough(), until)
        finally:
            self.up_at_end = [rank for rank in self.ranks if self.is_up(rank)]
            for process in [*self.processes.values(), *self.rivals]:
                if process.alive:
                    process.alive = False
                    process.kill()
                    self.disks[process.rank].killed(process)
            gc.unfreeze()
            LOG.handlers, LOG.propagate = before[0], before[2]
            LOG.setLevel(before[1])

    def close(self) -> None:
        """Leave nothing behind."""
        spec = self.plan.spec
        if isinstance(spec.arms, LiveArms):
            for rank in self.doors:
                serve_by(spec.arms.key(spec.base, rank), None)
        self.network.close()
        files.remove_folder(self.folder)

    # --- what happened ---------------------------------------------------------------------------

    def _note(self, what: str, source: int, target: int, data: bytes) -> None:
        self._tell(what, source, _named(data) if data else "", target)

    def _tell(self, what: str, source: int, detail: str = "", target: int | None = None) -> None:
        to = source if target is None else target
        event = TraceEvent(self.schedule.now, what, source, to, self._plain(detail))
        self.events.append(event)
        for watch in self.watching:
            watch(event)

    def _log(self, record: logging.LogRecord) -> None:
        running = self.schedule.running
        if running is not None and running.alive:
            text = record.getMessage()
            self._tell("logs", running.rank, text)
            self.logged.append(self.events[-1])
            if record.levelno >= logging.WARNING:
                self.warned.append(f"{peer_name(running.rank)}: {text}")
            if " has a defect: " in text:
                self.defects.append(text)

    def _plain(self, text: str) -> str:
        return text.replace(f"{self.folder}/", "")

    @property
    def trace(self) -> str:
        """All that happened, a line each."""
        return "".join(f"{event}\n" for event in self.events)


def _on(disk: SimulatedDisk, main: Callable[[], int]) -> Callable[[], int]:
    """What a process does, with a disk that is its greenlet's alone."""

    def begin() -> int:
        DISK.set(disk)
        return main()

    return begin


class _Heard(logging.Handler):
    def __init__(self, heard: Callable[[logging.LogRecord], Any]) -> None:
        super().__init__()
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard(record)


_BARE = {b"C": "confirms", b"A": "asks again", b"P": "asks how far"}


def _named(data: bytes) -> str:
    """What a frame is, in a word or two."""
    if data.startswith(FORWARD):
        return "Forwarded"
    data = without_topic(data)
    kind = kind_of(content(data))
    if not is_numbered(data):
        return kind or "subscription"
    number, confirmed = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8))
    return f"{kind or _BARE.get(data[3:4], '')} {number}, {confirmed}"
