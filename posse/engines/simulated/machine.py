"""A process's world in the simulation: its clocks, its chance, its disk, its arms."""

import errno
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from posse.arms import Arms, ArmsContext, ArmsSpec
from posse.arms.base import which_open
from posse.arms.changing import Timed
from posse.arms.csv import Csv
from posse.arms.live import Live
from posse.arms.persons import Admit, NamesPersons
from posse.durable.scratch import Scratch
from posse.engines.simulated.network import SimulatedNetwork
from posse.engines.simulated.schedule import Killed, Process, TurnSchedule
from posse.engines.simulated.sockets import SimulatedContext, SimulatedPoller
from posse.gates import files
from posse.gates.disk import Disk
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.noise import Noise, SeededNoise
from posse.security.zap import ZapStatus
from posse.wire.world import World

WALL = 1_700_000_000.0
"""What the clocks on the wall show at virtual time 0."""

_PRAGMAS = ("journal_mode = MEMORY", "synchronous = OFF")
"""What a database is opened with here: only a simulated machine loses power."""

_BUSY = 0.02
"""Seconds after which a database that another process holds is asked for again."""

_FLUSHED = 30.0
"""Seconds after which the system has written what nobody waits for."""

_MOST_LOST = 8
"""Rows that a loss of power may take from a journal that did not wait for the disk."""

_WRITES = ("INSERT", "UPDATE", "DELETE", "COMMIT")

FULL, BROKEN = "database or disk is full", "disk I/O error"
"""The troubles of a disk, as SQLite names them."""

_CODES = {FULL: errno.ENOSPC, BROKEN: errno.EIO}

_FORGET = "DELETE FROM batches WHERE number > (SELECT max(number) - ? FROM batches)"

T = TypeVar("T")

_MEMORY = 20 << 20, 5 << 20


class SimulatedDisk(Disk):
    """The disk of a process's machine. `trouble`: why writing fails, "" if it does not; `locks`:
    whether its files can be locked.

    `shared`: a file that the processes of other machines write, too; it loses nothing.
    """

    def __init__(self, schedule: TurnSchedule, shared: Path | None = None) -> None:
        self._schedule = schedule
        self._shared = shared
        self.trouble = ""
        self.locks = True
        self.slow = 0.0
        """Seconds that each write takes."""
        self._open: list[SimulatedDatabase] = []
        self._added: dict[Path, list[tuple[float, int]]] = {}
        """By file, when something was added to its end, and how long it was: it may not be safe."""

    def writes(self, path: Path) -> None:
        """Wait as long as a write takes, and fail if it does; a killed process stops writing."""
        process = self._schedule.running
        assert process is not None
        if not process.alive:
            raise Killed
        if self.slow:
            process.wait(self._schedule.now + self.slow, deaf=True)
        if self.trouble:
            raise OSError(_CODES[self.trouble], self.trouble, str(path))

    def removes(self, path: Path) -> None:
        """As `writes`, but a full disk has room for that."""
        trouble, self.trouble = self.trouble, "" if self.trouble == FULL else self.trouble
        try:
            self.writes(path)
        finally:
            self.trouble = trouble

    def adds(self, path: Path, data: bytes) -> bytes:
        if self.trouble == FULL:  # there is room for a part
            return data[: self._schedule.random.randrange(len(data))]
        self.writes(path)
        if path != self._shared:
            safe = self._schedule.now - _FLUSHED
            before = [(when, size) for when, size in self._added.get(path, []) if when > safe]
            self._added[path] = [*before, (self._schedule.now, path.stat().st_size)]
        return data

    def database(
        self, path: Path, timeout: float, connect: Callable[[float], sqlite3.Connection]
    ) -> Any:
        process = self._schedule.running
        assert process is not None
        connection = self.waiting(process, timeout, lambda: connect(0.0))
        made = SimulatedDatabase(connection, self, self._schedule, process, timeout)
        self._open.append(made)
        return made

    def waiting(self, process: Process, timeout: float, call: Callable[[], T]) -> T:
        """Do something with a database, which may wait for one that holds it, in virtual time."""
        until = self._schedule.now + timeout
        while True:
            try:
                return call()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or self._schedule.now >= until:
                    raise
            process.wait(self._schedule.now + _BUSY, deaf=True)

    def closed(self, database: "SimulatedDatabase") -> None:
        """A process has closed a database."""
        self._open = [other for other in self._open if other is not database]

    def killed(self, process: Process, *, silently: bool = False) -> None:
        """The system closes what a process had open; `silently` with its machine's power."""
        for database in self._open:
            if database.process is process:
                if silently and not database.waits:
                    database.connection.rollback()
                    lost = self._schedule.random.randint(0, _MOST_LOST)
                    with suppress(sqlite3.OperationalError):  # it has no tables yet
                        database.connection.execute(_FORGET, (lost,))
                database.connection.close()
        self._open = [d for d in self._open if d.process is not process]
        if silently:
            self._lose()

    def _lose(self) -> None:
        """The ends of files that nobody waited for are lost, or torn."""
        for path, added in self._added.items():
            safe = [size for when, size in added if when > self._schedule.now - _FLUSHED]
            if safe and path.exists():
                left = self._schedule.random.randint(safe[0], max(safe[0], path.stat().st_size))
                descriptor = files.claim(path)
                os.ftruncate(descriptor, left)
                os.close(descriptor)
        self._added.clear()


class SimulatedScratch(Scratch):
    """A folder in another; a kill leaves it."""

    def __init__(self, within: Path, process: Process) -> None:
        self._process = process
        self.path = within / f"scratch-{len([*within.glob('scratch-*')])}"
        files.make_folder(self.path, new=True)

    def remove(self) -> None:
        if self._process.alive:
            files.remove_folder(self.path)


class SimulatedDatabase:
    """An SQLite file whose writing may fail or take time; a kill leaves what was committed."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        disk: SimulatedDisk,
        schedule: TurnSchedule,
        process: Process,
        timeout: float,
    ) -> None:
        self.connection = connection
        self.process = process
        self.waits = False
        """Whether each row waits for the disk."""
        self._alone = self._keeps = False
        """Whether no other process is to have it, and so whether its lock is kept for good."""
        self._disk, self._schedule, self._timeout = disk, schedule, timeout

    def setlimit(self, category: int, limit: int) -> int:
        """Limit what SQLite takes; see `sqlite3.Connection.setlimit`."""
        return self.connection.setlimit(category, limit)

    def set_progress_handler(self, handler: Callable[[], int] | None, steps: int) -> None:
        """Have SQLite ask now and then whether to go on; see `sqlite3.Connection`."""
        self.connection.set_progress_handler(handler, steps)

    @property
    def in_transaction(self) -> bool:
        """Whether what was written is not committed yet."""
        return self.connection.in_transaction

    def execute(self, statement: str, values: Any = ()) -> Any:
        """As SQLite does, with the disk's trouble."""
        self._write(statement)
        if statement.startswith("PRAGMA") and "=" in statement:  # a setting, no question
            self.waits |= statement.endswith(("= FULL", "= EXTRA"))
            alone = statement.startswith("PRAGMA locking_mode")
            self._alone |= alone
            for pragma in [statement] if alone else [f"PRAGMA {own}" for own in _PRAGMAS]:
                self.connection.execute(pragma)
            return ()
        self._lock()
        call = partial(self.connection.execute, statement, values)
        return self._disk.waiting(self.process, self._timeout, call)

    def executemany(self, statement: str, rows: Any) -> Any:
        """As SQLite does, with the disk's trouble."""
        self._write(statement)
        return self.connection.executemany(statement, rows)

    def executescript(self, script: str) -> Any:
        """As SQLite does; what it makes is there already, but once."""
        self._lock()
        call = partial(self.connection.executescript, script)
        return self._disk.waiting(self.process, self._timeout, call)

    def _lock(self) -> None:
        """Without locks SQLite asks again and again, as where another process has the file."""
        if self._keeps or self.connection.in_transaction:
            return
        until = self._schedule.now + self._timeout
        while not self._disk.locks:
            if self._schedule.now >= until:
                raise sqlite3.OperationalError("database is locked")
            self.process.wait(self._schedule.now + _BUSY, deaf=True)
        self._keeps = self._alone

    def _write(self, statement: str) -> None:
        if not self.process.alive:
            raise Killed
        if statement.startswith(_WRITES):
            try:
                self._disk.writes(Path())
            except OSError as error:
                raise sqlite3.OperationalError(error.strerror) from None

    def close(self) -> None:
        """Close it."""
        if self.process.alive:
            self.connection.close()
            self._disk.closed(self)


class SimulatedNoise(Noise):
    """The field's noise in the simulation, where it must repeat."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        return values + self._chance.laplace(0.0, scale, values.shape)

    def laplace(self, scale: float, size: int) -> FloatArray:
        return self._chance.laplace(0.0, scale, size)

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        return values + np.rint(self._chance.normal(0.0, deviation, values.shape)).astype(np.int64)

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        return SeededNoise(self._chance).polya(values, scale, shares)

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return [bool(draw) for draw in self._chance.random(size) < probability]


class SlowArms(Arms):
    """Arms that may take time whenever they are asked for rewards; a log never does.

    `one_by_one`: rewards are not read ahead, as a user's own are not.
    """

    def __init__(self, arms: Arms, wait: Callable[[], None], *, one_by_one: bool) -> None:
        self._arms, self._wait = arms, wait
        self.simulated = arms.simulated and not one_by_one

    def remaining(self, arm: int) -> int | None:
        return self._arms.remaining(arm)

    def open(self, slot: int) -> BoolArray:
        """Which arms are open in this slot of the agent, shape (K,)."""
        return which_open(self._arms, slot)

    def admit_by(self, admit: Admit) -> None:
        """See `posse.arms.persons.NamesPersons`."""
        if isinstance(self._arms, NamesPersons):
            self._arms.admit_by(admit)

    def draw(self, arm: int, count: int) -> FloatArray:
        self._wait()
        return self._arms.draw(arm, count)

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        self._wait()
        return self._arms.totals(arms, times)


class SimulatedWorld(World):
    """The world of one start of a process. `seed` names its chance.

    `boots`: how often its machine lost power before.
    """

    is_simulated = True

    def __init__(
        self,
        schedule: TurnSchedule,
        network: SimulatedNetwork,
        rank: int,
        seed: str,
        boots: int = 0,
    ) -> None:
        chance = random.Random(seed)
        self._boot = f"start {boots} of machine {rank}"
        ahead = random.Random(f"clock {rank}" + f" {boots}" * bool(boots)).uniform(0.0, 1e4)
        self._network = network
        self.process: Process = None  # type: ignore[assignment]
        self.folder = Path()
        """Where temporary files may be."""
        self.wall_ahead = 0.0
        """Seconds by which the clock on the wall is wrong."""
        self.slow_arms = 0.0
        """Seconds that each look at the arms takes."""
        self.slow_reads = 0.0
        """Seconds that each message that is read takes."""
        self.one_by_one = 0.0
        """Whether arms are asked for one reward at a time."""
        self.per_turn = 0.01
        """Processor time of a turn, in seconds."""
        self.monotonic = lambda: schedule.now + ahead
        self.monotonic_ns = lambda: int((schedule.now + ahead) * 1e9)
        self.wall = lambda: schedule.now + WALL + self.wall_ahead
        self.process_time = lambda: self.process.turns * self.per_turn
        self.sleep = lambda seconds: self.process.wait(schedule.now + seconds, deaf=True)
        self.randbits = chance.getrandbits
        self.token_bytes = chance.randbytes
        self.end = lambda context: None
        self._schedule = schedule
        self._draw = chance.getrandbits

    @property
    def boot(self) -> str:
        return self._boot

    def ahead_by(self, nanoseconds: int) -> World:
        return self._set_ahead(nanoseconds)  # faults go on changing this one

    def context(self, *, many: bool = False) -> Any:
        return SimulatedContext(self.process, self._network)

    def authenticate(
        self,
        context: Any,
        decide: Callable[[str], ZapStatus],
        refused: Callable[[str, str], None],
    ) -> None:
        context.guard(decide, refused, self.monotonic)

    def poller(self) -> Any:
        return SimulatedPoller(self.process, self._network)

    def watchman(self, name: str, watch: Callable[[], None]) -> None:
        """Nobody: in the simulation nobody sends what no honest peer would."""

    def shut(self, descriptor: int, copy: object) -> None:
        self._network.shut(self.process, descriptor)

    def own_address(self, endpoint: str) -> str:
        return self._network.host(self.process.rank)

    def owns(self, host: str) -> bool:
        return host == self._network.host(self.process.rank)

    def why_silent(self, endpoint: str) -> str:
        return ""

    def greets(self, endpoint: str) -> bool:
        return self._network.listener(endpoint) is not None

    def closed_by_us(self, port: int) -> set[str]:
        return set()

    def memory(self) -> tuple[int, int]:
        return _MEMORY

    def scratch(self) -> Scratch:
        return SimulatedScratch(self.folder, self.process)

    def noise(self) -> Noise:
        return SimulatedNoise(self._draw(64))

    def arms(self, spec: ArmsSpec, context: ArmsContext) -> Arms:
        arms = super().arms(spec, context)
        if isinstance(arms, Csv | Timed | Live):
            return arms
        return SlowArms(arms, self._pull, one_by_one=bool(self.one_by_one))

    def _pull(self) -> None:
        if self.slow_arms:
            self.process.wait(self._schedule.now + self.slow_arms, deaf=True)

    def read(self) -> None:
        """The process reads a message."""
        if self.slow_reads:
            self.process.wait(self._schedule.now + self.slow_reads, deaf=True)
