"""`View`: the state of a run. A `Watcher` in the run's loop makes it; any thread may read it.

The loop makes a new view now and then, so no other thread reads its tables.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from posse.families.network import Network
from posse.hosts.coordinator import CoordinatorHost
from posse.plan import Plan
from posse.printable import printable
from posse.protocol.machine import COORDINATOR
from posse.protocol.mase import EliminationRow, VoteRow
from posse.protocol.message import Plane, kind_name

_EVERY = 0.25
_SHARE = 0.005
"""The largest share of the loop's time for making views."""

_MOST_ARMS = 200
"""Arms whose votes readers are told of."""


@dataclass(frozen=True)
class View:
    """The state of run `run`; it never changes.

    `told` is the part of it that readers are sent as it is (`posse.watch.feed`). `at` is the time,
    in rounds with clock `virtual`. `links` counts messages of the planes `data` and `world` by
    (from, to, kind): the coordinator's during the run, all known ones after it. `regret` is known
    during the run where the group shares its arms. After it, `status`, `regret` and `epsilon` (of
    the most exposed reward) are set.
    """

    run: int
    serial: int
    network: Network
    at: float
    links: dict[tuple[int, int, str], int]
    regret: float | None
    epsilon: float | None
    status: str
    told: dict[str, Any]


class Watcher:
    """Observes runs; `view` is the state of the current run, or of the last one at its end."""

    def __init__(self, plan: Plan) -> None:
        self.view: View | None = None
        self._says = plan.system.results.says
        self._virtual = plan.clock == "virtual"
        self._host: CoordinatorHost | None = None
        self._at = 0.0
        self._votes: Counter[int] = Counter()
        self._counted = 0

    def observe(self, host: CoordinatorHost) -> None:
        """Make a new view if it is time, when a message has arrived."""
        if (now := time.monotonic()) < self._at and host.record is None:
            return
        began = time.thread_time()
        if host is not self._host:
            self._host, self._counted = host, 0
            self._votes.clear()
        self.view = self._look(host)
        self._at = now + max(_EVERY, (time.thread_time() - began) / _SHARE)

    def _look(self, host: CoordinatorHost) -> View:
        standing, record = host.standing(), host.record
        spent = record.privacy.spent_per_agent if record is not None and record.privacy else None
        rows = standing.log.get(VoteRow.table, [])
        self._votes.update(int(arm) for _, _, arm in rows[self._counted :])
        self._counted, shown = len(rows), min(standing.arms, _MOST_ARMS)
        links: Counter[tuple[int, int, str]] = Counter()
        control = 0
        for source, target, plane, kind, messages in _traffic(host):
            if plane == Plane.CONTROL:
                control += messages
            else:
                links[source, target, kind] += messages
        status = "" if record is None else record.status
        at = standing.rounds if self._virtual else standing.now
        if record is not None:
            at = (record.rounds if self._virtual else record.slots) or at
        return View(
            run=host.run,
            serial=host.serial,
            network=host.network,
            at=at,
            links=links,
            regret=host.shared_regret if record is None else record.regret,
            epsilon=max(spent) if spent else None,
            status=status,
            told={
                "run": host.run,
                "said": self._says(standing),
                "share": round(standing.share, 4),
                "finished": sorted(host.attendance.finished),
                "lost": {rank: printable(why) for rank, why in host.dismissed.items()},
                "votes": [self._votes[arm] for arm in range(shown)] if self._votes else [],
                "out": [int(arm) for _, arm in standing.log.get(EliminationRow.table, [])],
                "status": status,
                "control": control,
            },
        )


def _traffic(host: CoordinatorHost) -> Iterator[tuple[int, int, int, str, int]]:
    """Source, target, plane, kind and messages: the coordinator's, or all after the run."""
    if host.record is not None:
        for row in host.record.links:
            yield row.source, row.target, row.plane, row.kind, row.messages
    else:
        for source, target, kind, messages in host.traffic():
            yield source, target, kind.plane, kind_name(kind), messages


def pairs(network: Network, agents: int, served: bool) -> list[tuple[int, int]]:
    """The links of a network: agents to their neighbours, and to the coordinator if `served`."""
    linked = [(a, b) for a, near in enumerate(network.neighbours) for b in near if a < b]
    return linked + [(rank, COORDINATOR) for rank in range(agents) if served]
