"""Live traffic in the simulation: a door without threads, and the application that asks there.

The application is drawn by the seed: some rewards come at once, some out of order, twice or too
late, some never, and from time to time it crashes and forgets what it waited for. What a reward is
follows from its place alone, so that the run is that over a log, whatever the application does.
"""

import random
import threading
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from posse.live.desk import Desk, DeskSettings, Memory, RewardRefusal
from posse.live.service import Service

_AT_ONCE = 20
"""Requests between two looks of the agent."""

_NEVER, _LATE, _TWICE, _CRASH = 0.05, 0.05, 0.1, 0.02


def reward_at(rank: int, arm: int, place: int) -> float:
    """The reward that is told as the `place`-th of an arm of agent `rank`."""
    return float(random.Random(f"visitors {rank} {arm} {place}").random() < 0.3 + 0.2 * arm)


class SimulatedDoor(Service):
    """A live agent's door and its application; both outlive the agent's process.

    `wall` is the simulated clock. `wrong` has what the desk should not have answered.
    """

    def __init__(
        self, settings: DeskSettings, rank: int, seed: int | str, wall: Callable[[], float]
    ) -> None:
        # not the base's: it opens files and starts threads
        self.settings, self.rank, self.store, self.doors = settings, rank, None, []
        self.wrong: list[str] = []
        self._draw = random.Random(f"visitors {seed} {rank}")
        self._desk = Desk(settings, Memory(), random.Random(f"desk {seed} {rank}"), bytes(16))
        self._lock, self._wall = threading.Lock(), wall
        self._token, self._asked_for, self._awaited = b"", None, None
        self._safe = [0] * len(settings.names)
        self._due: list[tuple[float, int, str, int, str]] = []
        self._told: list[tuple[str, float]] = []
        self._count = 0
        self.alarm: Any = None
        self._last_told, self._spans, self._served = 0.0, {}, {}

    def restart(self, wall: Callable[[], float]) -> None:
        """The agent's process is started again; what was on disk is there."""
        self._wall, self._asked_for = wall, None

    def close(self) -> None:
        """Nothing is open."""

    def have(self, arms: Any, counts: Any) -> bool:
        """See `Service.have`; the application acts first."""
        if not super().have(arms, counts):
            self._visit()
        return super().have(arms, counts)

    def _visit(self) -> None:
        now, draw = self._wall(), self._draw
        if draw.random() < _CRASH:
            self._due.clear()
        for _ in range(_AT_ONCE):
            decision = self._desk.ask(now)
            if decision.idle:
                break
            fate = draw.random()
            if fate >= _NEVER:
                kind = "late" if fate < _NEVER + _LATE else "told"
                wait = self.settings.timeout + 1.0 if kind == "late" else draw.expovariate(50.0)
                self._count += 1
                heappush(self._due, (now + wait, self._count, decision.id, decision.arm, kind))
        while self._due and self._due[0][0] <= now:
            _, _, id_, arm, kind = heappop(self._due)
            self._tell(now, id_, reward_at(self.rank, arm, self._desk.have(arm)), kind)
        if self._told and draw.random() < _TWICE:
            self._tell(now, *draw.choice(self._told), "again")

    def _tell(self, now: float, id_: str, reward: float, kind: str) -> None:
        try:
            used = self._desk.tell(now, id_, reward)
            if used is not (kind == "told"):
                self.wrong.append(f"{kind}: used is {used}")
            if kind == "told":
                self._told.append((id_, reward))
        except RewardRefusal as refused:
            if refused.kind != "late" or kind == "told":
                # a reward that was due before its time ran out may be told after it
                self.wrong += [] if refused.kind == "late" else [f"{kind}: {refused}"]
