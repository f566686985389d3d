"""Live traffic in the simulation: a door without threads, and the application that asks there.

The application is drawn by the seed: some rewards come at once, some out of order, twice or too
late, some never, and from time to time it crashes and forgets what it waited for. What a reward is
follows from its place alone. Whatever the application does, the run is that over a log of what it
told, in that order; see `replayed`.
"""

import random
import threading
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import msgspec

from posse.arms import LiveArms
from posse.arms.csv import CsvArms
from posse.engines import memory
from posse.gates import files
from posse.live.desk import Desk, DeskSettings, Memory, RewardRefusal
from posse.live.service import Service
from posse.plan import Plan, Source, changed, prepare
from posse.results.record import RunRecord

_AT_ONCE = 20
"""Requests between two looks of the agent."""

_NEVER, _LATE, _TWICE, _CRASH = 0.05, 0.05, 0.1, 0.02

_TIMEOUT = 5.0
"""Seconds after which a reward is given up in a simulation, at most."""


def visited(source: Source) -> Plan:
    """The plan of one run whose applications are drawn: it uses up nobody's rewards."""
    plan = changed(source, {"engine.kind": "processes"})
    if not isinstance(arms := plan.spec.arms, LiveArms):
        return plan
    again = "again" if arms.on_timeout == "end" else arms.on_timeout
    own = {"timeout": min(arms.timeout, _TIMEOUT), "on_timeout": again, "clip": None}
    arms = msgspec.structs.replace(arms, **own, listen="", token="")
    durable = plan.field or plan.spec.engine.durable
    engine = msgspec.structs.replace(plan.spec.engine, durable=durable)
    changes: dict[str, Any] = {"arms": arms, "engine": engine, "mode": "lab", "repeat": 1}
    return prepare(msgspec.structs.replace(plan.spec, **changes))


def replayed(plan: Plan, doors: "dict[int, SimulatedDoor]", folder: Path) -> RunRecord:
    """The run over logs of what was told at these doors, in that order."""
    for rank, door in doors.items():
        rows = [f"{arm},{value!r}" for arm, value in door.rewards()]
        files.write(folder / f"told-{rank}.csv", "\n".join(["arm,reward", *rows]), lasting=False)
    log = CsvArms(path="told-{rank}.csv", count=plan.spec.arms.arm_count())
    spec = plan.spec
    engine = msgspec.structs.replace(spec.engine, durable=False, restarts=0, clock=plan.clock)
    changes: dict[str, Any] = {"arms": log, "engine": engine, "base": str(folder)}
    changes["privacy"] = msgspec.structs.replace(spec.privacy, person="")  # of whom each was
    return memory.run(prepare(msgspec.structs.replace(spec, **changes)), 0)


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

    def rewards(self) -> list[tuple[int, float]]:
        """Arm and reward of all that is used in the run, each arm's in the order of use."""
        desk = self._desk
        arms = range(len(self.settings.names))
        return [(arm, value) for arm in arms for value in desk.read(arm, 0, desk.have(arm))]

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
            # each visitor comes once
            person = f"{self._count}" if self.settings.most_of_person else ""
            decision = self._desk.ask(now, person)
            self._count += 1
            if decision.idle:
                break
            fate = draw.random()
            if fate >= _NEVER:
                kind = "late" if fate < _NEVER + _LATE else "told"
                wait = self.settings.timeout + 1.0 if kind == "late" else draw.expovariate(50.0)
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
