"""Processes that take turns under virtual time. Needs greenlet.

A process is a greenlet: it runs, without time passing, until it waits; then the scheduler lets
time pass to whatever is due next. The same seed gives the same turns.
"""

import heapq
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

from posse.errors import InputError

START = 1_000.0
"""Virtual time at the beginning, in seconds."""


def greenlets() -> Any:
    """The module greenlet; `InputError` if it is not installed."""
    try:
        import greenlet  # noqa: PLC0415
    except ImportError:
        raise InputError(
            'the simulator needs greenlet; run: pip install "posse-bandits[testing]"'
        ) from None
    return greenlet


class Killed(BaseException):
    """The process was killed; nothing that it still does has an effect."""


class TurnSchedule:
    """What is due, in virtual seconds. `random` decides what chance decides in the world."""

    def __init__(self, seed: str) -> None:
        self.now = START
        self.random = random.Random(seed)
        self.running: Process | None = None
        self.greenlets = greenlets()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._done: Callable[[], bool] = lambda: True
        self._until = math.inf
        self.greenlet: Any = self.greenlets.getcurrent()

    def call_at(self, when: float, act: Callable[[], None]) -> None:
        """Act at this time, or now if it has passed."""
        heapq.heappush(self._due, (max(when, self.now), next(self._order), act))

    def call_later(self, seconds: float, act: Callable[[], None]) -> None:
        """Act after this many seconds."""
        self.call_at(self.now + seconds, act)

    def is_next(self, when: float) -> bool:
        """Whether nothing is due until then."""
        return not self._due or when < self._due[0][0]

    def may_pass(self, until: float) -> bool:
        """Whether `carry_on` would let time pass until then, and nothing else happens before."""
        return self.is_next(until) and until <= self._until and not self._done()

    def carry_on(self, done: Callable[[], bool], until: float) -> None:
        """Let time pass until `done`, or nothing is due any more, or the time has come."""
        self.greenlet = self.greenlets.getcurrent()
        self._done, self._until = done, until
        due, pop = self._due, heapq.heappop
        while due and not done():
            if due[0][0] > until:
                return
            self.now, _, act = pop(due)
            act()


class Process:
    """A process of the simulation; `rank` as everywhere, `main` is what it does."""

    def __init__(self, schedule: TurnSchedule, rank: int, main: Callable[[], Any]) -> None:
        self.rank = rank
        self.alive = True
        self.stopped_at: float | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.on_end: Callable[[], None] = lambda: None
        self.reads: Callable[[], None] = lambda: None
        """Called for each message that it reads, which may take time."""
        self.descriptors: set[int] = set()
        """Those of its connections."""
        self._schedule = schedule
        self._main = main
        self.turns = 0
        """How often it had its turn."""
        self._missed = False
        self._waiting = True
        self._greenlet: Any = schedule.greenlets.greenlet(self._run)
        schedule.call_at(schedule.now, lambda: self._resume(0))

    def _run(self) -> None:
        try:
            self.result = self._main()
        except Killed:
            pass
        except KeyboardInterrupt:  # meant for the simulation
            raise
        except BaseException as error:
            self.error = error
        if self.alive:
            self.alive = False
            self.on_end()

    def _resume(self, turn: int) -> None:
        if turn != self.turns or not self.alive:
            return
        if self.stopped_at is not None:
            self._missed = True
            return
        self._switch()

    def _switch(self) -> None:
        schedule = self._schedule
        self.turns += 1
        self._waiting = False
        schedule.running = self
        self._greenlet.switch()
        schedule.running = None

    def wait(self, until: float, *, deaf: bool = False) -> None:
        """Wait until this time, or until woken if not `deaf`; only within the process."""
        if not self.alive:
            raise Killed
        schedule, turn = self._schedule, self.turns
        if deaf and schedule.is_next(until):
            schedule.now = max(schedule.now, until)  # nobody else has a turn before
            return
        if not deaf and self.stopped_at is None and schedule.may_pass(until):
            schedule.now = max(schedule.now, until)  # as below, without a switch there and back
            self.turns += 1
            return
        if until < math.inf:
            schedule.call_at(until, lambda: self._resume(turn))
        self._waiting = not deaf
        schedule.greenlet.switch()
        if not self.alive:
            raise Killed

    def wake(self) -> None:
        """Something came for the process."""
        if self._waiting:
            self._waiting = False
            turn, schedule = self.turns, self._schedule
            schedule.call_later(schedule.random.uniform(5e-6, 6e-5), lambda: self._resume(turn))

    def stop(self) -> None:
        """Stop it, as SIGSTOP does."""
        if self.stopped_at is None:
            self.stopped_at = self._schedule.now

    def go_on(self) -> None:
        """Let it go on, as SIGCONT does."""
        self.stopped_at = None
        if self._missed:
            self._missed = False
            turn = self.turns
            self._schedule.call_at(self._schedule.now, lambda: self._resume(turn))

    def kill(self) -> None:
        """Kill it, as SIGKILL does; from outside."""
        self.alive = False
        if self._greenlet and not self._greenlet.dead:
            schedule = self._schedule
            schedule.running = self
            self._greenlet.throw(Killed)
            schedule.running = None
