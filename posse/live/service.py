"""What serves a live agent's requests in its process: the desk under a lock, its store, its clock.

It outlives runs: after one has ended its answer goes on being served, and the next one begins at
the same doors.
"""

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from posse.errors import DiskTrouble, PosseError
from posse.live.desk import Decision, Desk, DeskSettings, Memory, RewardRefusal, RunSoFar
from posse.live.store import DecisionStore

_SILENT = 3
"""Decisions that time out in a row, with no reward in between, before that is a failure."""

_TICK = 0.2
"""Seconds between two looks at decisions that may have timed out."""


class LiveStatus(msgspec.Struct, frozen=True):
    """What a door did since it opened; nothing of rewards' values.

    `waiting`: decisions that the order still wants asked. `counts` by what happened. `told` is
    when a reward last came, in seconds of the wall's clock; 0 if none has.
    """

    over: bool
    answer: int | None
    answer_name: str
    open: int
    waiting: int
    counts: dict[str, int]
    told: float
    oldest: float
    latency: dict[str, float]


class Service:
    """See the module's text. `path` is the store's file, None for no store.

    `wall` is the clock on the wall, in seconds.
    """

    def __init__(
        self,
        settings: DeskSettings,
        path: Path | None = None,
        rank: int = 0,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.rank = rank
        self._wall = wall
        self._lock = threading.Lock()
        self._token = b""
        self.store = None if path is None else DecisionStore(path, self._settled)
        keeper, secret = (self.store, self.store.secret) if self.store else (Memory(), b"")
        self._desk = Desk(settings, keeper, secret=secret)
        if self.store is not None:
            self._desk.answer = self.store.last_answer
        self._safe = [0] * len(settings.names)
        """Of each arm how many rewards are on disk."""
        self._awaited: list[tuple[int, int]] | None = None
        self._asked_for: object = None
        self.alarm = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        """A file descriptor that is readable when the awaited rewards have come."""
        self._last_told = 0.0
        self._spans = {"ask": [0.0] * 512, "tell": [0.0] * 512}
        self._served = {"ask": 0, "tell": 0}
        self._ends = threading.Event()
        if self.store is not None and (token := self.store.under_way):
            self.begin(token)  # rewards may come before the agent has its run again
        self.doors: list[Any] = []
        self._clock = threading.Thread(target=self._tick, name="live clock", daemon=True)
        self._clock.start()

    # --- for the run -----------------------------------------------------------------------------

    def begin(self, token: bytes) -> None:
        """Begin the run of this token, or go on with it after a restart."""
        with self._lock:
            if token == self._token:
                return
            if self.store is not None:
                self._desk.begin(self.store.begin(token, len(self._safe), self._wall()))
            else:
                self._desk.begin(RunSoFar(run=self._desk.run + 1))
            self._token, self._asked_for = token, None
            self._safe = [self._desk.have(arm) for arm in range(len(self._safe))]

    def admit_by(self, admit: Callable[[Sequence[str]], list[bool]]) -> None:
        """Ask the ledger of persons before a decision."""
        with self._lock:
            self._desk.admit = admit

    def order(
        self, order: object, arms: tuple[int, ...], counts: Sequence[int], *, explore: bool
    ) -> None:
        """What a machine's order wants: this many rewards of each arm in this run, or without end.

        The same object says the same again and costs nothing.
        """
        if order is self._asked_for:
            self._awaited = list(zip(arms, counts, strict=True))
            return
        with self._lock:
            self._asked_for = order
            self._awaited = list(zip(arms, counts, strict=True))
            if explore:
                self._desk.explore(arms)
            else:
                self._desk.order(arms, counts)

    def have(self, arms: Sequence[int], counts: Sequence[int]) -> bool:
        """Whether this many rewards of each arm came and are on disk; `PosseError` if never."""
        if self.trouble:
            raise (DiskTrouble if self.store and self.store.trouble else PosseError)(self.trouble)
        return self._came(zip(arms, counts, strict=True))

    def _came(self, wanted: Iterable[tuple[int, int]]) -> bool:
        if self.store is None:
            return all(self._desk.have(arm) >= count for arm, count in wanted)
        return all(self._safe[arm] >= count for arm, count in wanted)

    @property
    def trouble(self) -> str:
        """Why the run has to end; empty if it has not."""
        return (self.store.trouble if self.store else "") or self._desk.trouble

    def read(self, arm: int, first: int, count: int) -> list[float]:
        """Rewards of an arm by their places in this run."""
        return self._desk.read(arm, first, count)

    def finish(self, answer: int | None) -> None:
        """The run is over: serve its answer."""
        with self._lock:
            self._desk.finish(answer)
            run, answer = self._desk.run, self._desk.answer
        if self.store is not None and not self.store.trouble:
            self.store.end(run, answer)

    # --- for the doors ---------------------------------------------------------------------------

    def ask(self, person: str = "") -> Decision:
        """A decision; on disk before this returns, if there is a store."""
        began = time.perf_counter()
        with self._lock:
            decision = self._desk.ask(self._wall(), person)
        if self.store is not None and not decision.idle:
            self.store.flush()
        self._time("ask", began)
        return decision

    def tell(self, id_: str, reward: float) -> bool:
        """Take a reward; on disk before this returns, if there is a store. See `Desk.tell`."""
        began = time.perf_counter()
        with self._lock:
            used = self._desk.tell(self._wall(), id_, reward)
        self._come()
        self._time("tell", began)
        return used

    def ask_soon(self, person: str, answer: Callable[[Decision | PosseError], object]) -> None:
        """As `ask`, for a loop: `answer` is called, by another thread, when it is on disk.

        Or with what keeps it from there.
        """
        began = time.perf_counter()
        with self._lock:
            decision = self._desk.ask(self._wall(), person)

        def done() -> None:
            self._time("ask", began)
            answer(self._lost or decision)

        if self.store is None or decision.idle:
            done()
        else:
            self.store.after(done)

    def tell_soon(
        self,
        rewards: Sequence[tuple[str, float]],
        answer: Callable[[list[bool | RewardRefusal] | PosseError], object],
    ) -> None:
        """As `tell`, of several, for a loop."""
        began, told = time.perf_counter(), list[bool | RewardRefusal]()
        with self._lock:
            now = self._wall()
            for id_, reward in rewards:
                try:
                    told.append(self._desk.tell(now, id_, reward))
                except RewardRefusal as refused:
                    told.append(refused)

        def done() -> None:
            self._time("tell", began)
            answer(self._lost or told)

        self._last_told = self._wall()
        if self.store is None:
            self._settled([])
            done()
        else:
            self.store.after(done)

    def health(self) -> str:
        """What is wrong, in a sentence; "" if nothing is."""
        if self.trouble:
            return self.trouble
        silent = self._desk.silent
        if silent < _SILENT:
            return ""
        return f"the application tells nothing: the last {silent} decisions timed out"

    def status(self) -> LiveStatus:
        """What happened so far; from any thread."""
        with self._lock:
            desk = self._desk
            is_open, waiting, oldest = desk.look(self._wall())
            return LiveStatus(
                over=desk.over,
                answer=(answer := desk.answer if desk.over else None),
                answer_name="" if answer is None else self.settings.names[answer],
                open=is_open,
                waiting=waiting,
                counts=dict(desk.counts),
                told=self._last_told,
                oldest=oldest,
                latency={what: _median(self._spans[what], n) for what, n in self._served.items()},
            )

    def close(self) -> None:
        """Close doors and store."""
        self._ends.set()
        for door in self.doors:
            door.close()
        self._clock.join()
        if self.store is not None:
            self.store.close()
        os.close(self.alarm)

    # --- inside ----------------------------------------------------------------------------------

    @property
    def _lost(self) -> DiskTrouble | None:
        return DiskTrouble(self.store.trouble) if self.store and self.store.trouble else None

    def _come(self) -> None:
        self._last_told = self._wall()
        if self.store is not None:
            self.store.flush()
        else:
            self._settled([])

    def _settled(self, arms: list[int]) -> None:
        """Rewards of these arms are on disk: whoever awaits them may look."""
        for arm in arms:
            self._safe[arm] += 1
        awaited = self._awaited
        if awaited is not None and self._came(awaited):
            self._awaited = None
            self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            os.eventfd_write(self.alarm, 1)

    def _time(self, what: str, began: float) -> None:
        place = self._served[what]
        self._spans[what][place % 512] = time.perf_counter() - began
        self._served[what] = place + 1

    def _tick(self) -> None:
        while not self._ends.wait(_TICK):
            with self._lock:
                before = self._desk.counts["timed out"]
                self._desk.expire(self._wall())
                changed = self._desk.counts["timed out"] != before
            if changed and self.store is not None:
                self.store.after(lambda: None)
            elif changed:
                self._settled([])
            if self.trouble:
                self._ring()


def hush(alarm: int) -> None:
    """Let an alarm be silent until more comes."""
    with contextlib.suppress(BlockingIOError):
        os.eventfd_read(alarm)


def _median(spans: list[float], count: int) -> float:
    """The median of the last spans, in seconds."""
    return sorted(spans[:count])[min(count, len(spans)) // 2] if count else 0.0


_SERVICES: dict[tuple[str, ...], Service] = {}
_OPENING = threading.Lock()


def service_of(key: tuple[str, ...], make: Callable[[], Service]) -> Service:
    """The one service of this process by its key, made at first: it outlives runs."""
    with _OPENING:
        atexit.unregister(close_all)
        atexit.register(close_all)
        if key not in _SERVICES:
            _SERVICES[key] = make()
        return _SERVICES[key]


def serve_by(key: tuple[str, ...], service: Service | None) -> None:
    """Let this service be the one of its key, in a simulation; None: none is any more."""
    with _OPENING:
        _SERVICES.pop(key, None)
        if service is not None:
            _SERVICES[key] = service


def services() -> list[Service]:
    """All services of this process."""
    return list(_SERVICES.values())


def close_all() -> None:
    """Close every service of this process."""
    with _OPENING:
        while _SERVICES:
            _SERVICES.popitem()[1].close()
