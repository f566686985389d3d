"""What agents of this machine show of themselves while a run of the lab goes on: see `posse watch`.

It is memory that all of them map. Each writes its own row now and then, and the process of the
coordinator reads. Nothing is sent: a run that is watched is the same run, frame by frame. In the
field there is none; there an agent's regret and ledger stay with it.
"""

import mmap
import os
import time
from collections.abc import Sequence
from typing import Self

import msgspec
import numpy as np

from posse.engines.base import Observer
from posse.hosts.agent import AgentHost
from posse.hosts.coordinator import CoordinatorHost
from posse.plan import Plan
from protocol.machine import COORDINATOR
from protocol.message import Message, Plane
from protocol.privacy import spent

SHOWN, NOW, ACTIVATIONS, REGRET, EPSILON = range(5)
"""Columns of a row: the run's number in headers and 1, the agent's time, what it did by then, its
regret (NaN where means are unknown), and the ε that its releases cost the most exposed reward."""

_COLUMNS = 5
_EVERY = 0.4
"""Seconds between two looks at an agent at least."""

_SHARE = 0.005
"""Of a core's time, for all agents of one core together."""


def kinds(hears: Sequence[type[Message]]) -> tuple[str, ...]:
    """The names of these messages, but for those of the control plane."""
    return tuple(kind.__name__ for kind in hears if kind.plane != Plane.CONTROL)


def _size(agents: int, kinds: int) -> int:
    return 8 * _COLUMNS * agents + 4 * kinds * agents * agents


class BoardPlace(msgspec.Struct, frozen=True):
    """What another process needs to map a board: who is on it, and its memory, by descriptor.

    `delta`: δ of what is claimed of the runs.
    """

    agents: int
    kinds: tuple[str, ...]
    fd: int
    delta: float | None


class Board:
    """`rows`, shape (agents, columns); `sent` counts messages, shape (kinds, from, to).

    `place.kinds` are the names of what agents send each other. A row may be read while it is
    written: its numbers are then of two moments.
    """

    def __init__(self, place: BoardPlace) -> None:
        self.place = place
        agents, kinds = place.agents, len(place.kinds)
        memory = mmap.mmap(place.fd, _size(agents, kinds))
        rows = np.frombuffer(memory, np.float64, _COLUMNS * agents)
        self.rows = rows.reshape(agents, _COLUMNS)
        links = np.frombuffer(memory, np.uint32, offset=rows.nbytes)
        self.sent = links.reshape(kinds, agents, agents)
        self._places = {name: place for place, name in enumerate(place.kinds)}

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """A new one, for the runs of a plan; only what is written of it takes memory."""
        agents, names = plan.spec.agents.count, kinds(plan.system.agent.hears)
        fd = os.memfd_create("posse-board")
        os.ftruncate(fd, _size(agents, len(names)))
        return cls(BoardPlace(agents, names, fd, plan.claim.delta))

    def close(self) -> None:
        """Nobody else will map it."""
        os.close(self.place.fd)

    def show(self, host: AgentHost, *, composed: bool) -> None:
        """Write down how an agent stands in its run; what releases compose to if that is wanted."""
        run, rank = host.run, host.rank
        if run is None:
            return
        row, account, shown = self.rows[rank], run.account, run.endpoint.run + 1
        if row[SHOWN] != shown:
            self.sent[:, rank] = 0
        for _, target, kind, messages in run.endpoint.meter.counted():
            place = self._places.get(kind.__name__)
            if place is not None and target != COORDINATOR:
                targets = list(target) if isinstance(target, tuple) else target
                self.sent[place, rank, targets] = messages
        epsilon = account.exposed
        if epsilon and self.place.delta is not None:
            epsilon = spent(account.releases, self.place.delta) if composed else row[EPSILON]
        regret = account.regret.get("regret")
        total = np.nan if regret is None else regret.total
        row[:] = shown, run.pace.now, account.activations, total, epsilon


class Showing:
    """Shows agents on a board, so often that `crowd` of them take a small share of one core."""

    def __init__(self, board: Board, crowd: float) -> None:
        self._board = board
        self._crowd = crowd
        self._at = self._composed_at = 0.0

    def look(self, hosts: Sequence[AgentHost]) -> None:
        """Show them if it is time."""
        now = time.monotonic()
        if now < self._at:
            return
        began, composed = time.thread_time(), now >= self._composed_at
        for host in hosts:
            self._board.show(host, composed=composed)
        until = now + max(_EVERY, self._crowd * (time.thread_time() - began) / _SHARE)
        if composed:  # with a δ it costs far more than all else
            self._at, self._composed_at = now + _EVERY, until
        else:
            self._at = until

    def before(self, observe: Observer, hosts: Sequence[AgentHost]) -> Observer:
        """An observer that shows these agents, who live in this process, and then observes."""

        def look(run: CoordinatorHost) -> None:
            self.look(hosts)
            observe(run)

        return look
