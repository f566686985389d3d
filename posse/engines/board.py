"""Shared memory where agents of one machine publish their progress, for `posse watch`.

All agents map it. Each writes its own row now and then, and the coordinator's process reads.
Nothing is sent, so a watched run is the same run, frame by frame. Only the lab has a board: in the
field an agent's regret and ledger stay with it.
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
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message, Plane, kind_name
from posse.protocol.privacy import spent

SHOWN, NOW, ACTIVATIONS, REGRET, EPSILON = range(5)
"""Columns of a row: 1 + the run's number in headers, the agent's time, its activations so far,
regret (NaN where means are unknown), and the ε that its releases cost the most exposed reward."""

_COLUMNS = 5
_EVERY = 0.4
"""Least seconds between two updates of an agent's row."""

_SHARE = 0.005
"""Largest share of a core's time for the updates of all agents on that core."""


def kinds(hears: Sequence[type[Message]]) -> tuple[str, ...]:
    """The names of these messages, without those of the control plane."""
    return tuple(kind_name(kind) for kind in hears if kind.plane != Plane.CONTROL)


def _size(agents: int, kinds: int) -> int:
    return 8 * _COLUMNS * agents + 4 * kinds * agents * agents


class BoardPlace(msgspec.Struct, frozen=True):
    """What another process needs to map a board: its layout and its file descriptor.

    `delta` is the δ of the runs' claim, None where it has none.
    """

    agents: int
    kinds: tuple[str, ...]
    fd: int
    delta: float | None


class Board:
    """Each agent's progress: `rows`, shape (agents, columns), and `sent`, shape (kinds, from, to).

    `sent` counts messages by kind; `place.kinds` has the names. Reads are not synchronised with
    writes: numbers of one row may be of two moments.
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
        """A new board for a plan's runs; only pages that are written take memory."""
        agents, names = plan.spec.agents.count, kinds(plan.system.agent.hears)
        fd = os.memfd_create("posse-board")
        os.ftruncate(fd, _size(agents, len(names)))
        return cls(BoardPlace(agents, names, fd, plan.claim.delta))

    def close(self) -> None:
        """Close the descriptor: no other process can map the board any more."""
        os.close(self.place.fd)

    def show(self, host: AgentHost, *, composed: bool) -> None:
        """Write an agent's progress. `composed`: compute its ε by δ anew, which is slow."""
        run, rank = host.run, host.rank
        if run is None:
            return
        row, account, shown = self.rows[rank], run.account, run.endpoint.run + 1
        if row[SHOWN] != shown:
            self.sent[:, rank] = 0
        for _, target, kind, messages in run.endpoint.meter.counted():
            place = self._places.get(kind_name(kind))
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
    """Shows agents on a board, so that `crowd` of them take at most `_SHARE` of a core."""

    def __init__(self, board: Board, crowd: float) -> None:
        self._board = board
        self._crowd = crowd
        self._at = self._composed_at = 0.0

    def look(self, hosts: Sequence[AgentHost]) -> None:
        """Update the agents' rows if it is time."""
        now = time.monotonic()
        if now < self._at:
            return
        began, composed = time.thread_time(), now >= self._composed_at
        for host in hosts:
            self._board.show(host, composed=composed)
        until = now + max(_EVERY, self._crowd * (time.thread_time() - began) / _SHARE)
        if composed:  # composing by δ costs far more than all else
            self._at, self._composed_at = now + _EVERY, until
        else:
            self._at = until

    def before(self, observe: Observer, hosts: Sequence[AgentHost]) -> Observer:
        """An observer that shows these agents of this process, then calls `observe`."""

        def look(run: CoordinatorHost) -> None:
            self.look(hosts)
            observe(run)

        return look
