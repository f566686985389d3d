"""A process's world in the simulation: its clocks, its chance, its disk, its arms."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

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
from posse.gates.databases import Disk
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.noise import Noise, SeededNoise
from posse.security.zap import ZapStatus
from posse.wire.world import World

WALL = 1_700_000_000.0
"""What the clocks on the wall show at virtual time 0."""

_PRAGMAS = ("locking_mode = EXCLUSIVE", "journal_mode = MEMORY", "synchronous = OFF")
"""What a journal's file is opened with here: only a simulated machine loses power."""

_MOST_LOST = 8
"""Rows that a loss of power may take from a journal that did not wait for the disk."""

_FORGET = "DELETE FROM batches WHERE number > (SELECT max(number) - ? FROM batches)"

_MEMORY = 20 << 20, 5 << 20


class SimulatedDisk(Disk):
    """The disk of a process's machine. `trouble`: why writing fails, "" if it does not."""

    def __init__(self, schedule: TurnSchedule) -> None:
        self._schedule = schedule
        self.trouble = ""
        self.slow = 0.0
        """Seconds that each write takes."""
        self._open: list[SimulatedDatabase] = []

    def database(self, path: Path, timeout: float) -> Any:
        process = self._schedule.running
        assert process is not None
        made = SimulatedDatabase(super().database(path, timeout), self, self._schedule, process)
        self._open.append(made)
        return made

    def remove(self, path: Path) -> None:
        running = self._schedule.running
        if running is not None and running.alive:
            super().remove(path)

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
    ) -> None:
        self.connection = connection
        self.process = process
        self.waits = False
        """Whether each row waits for the disk."""
        self._disk, self._schedule = disk, schedule

    def execute(self, statement: str, values: Any = ()) -> Any:
        """As SQLite does, with the disk's trouble."""
        if not self.process.alive:
            raise Killed
        if statement.startswith("PRAGMA"):
            self.waits |= statement.endswith("= FULL")
            for pragma in _PRAGMAS:
                self.connection.execute(f"PRAGMA {pragma}")
            return ()
        if statement.startswith(("INSERT", "COMMIT")):
            if self._disk.slow:
                self.process.wait(self._schedule.now + self._disk.slow, deaf=True)
            if self._disk.trouble:
                raise sqlite3.OperationalError(self._disk.trouble)
        return self.connection.execute(statement, values)

    def close(self) -> None:
        """Close it."""
        if self.process.alive:
            self.connection.close()


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
        disk: SimulatedDisk,
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
        self.disk: SimulatedDisk = disk
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
