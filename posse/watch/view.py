"""`View`: the state of a run. A `Watcher` in the run's loop makes it; any thread may read it.

The loop makes a new view now and then, so no other thread reads its tables.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from posse.hosts.coordinator import CoordinatorHost
from posse.plan import Plan
from posse.printable import printable
from posse.systems.network import Network
from protocol.machine import COORDINATOR
from protocol.mase import EliminationRow, VoteRow
from protocol.message import Plane

_EVERY = 0.25
_SHARE = 0.005
"""The largest share of the loop's time for making views."""


@dataclass(frozen=True)
class View:
    """The state of run `run`; it never changes.

    `now` and `rounds` as in `Standing`; `said` is the family's progress line. `links` counts
    messages of the planes `data` and `world` by (from, to, kind), `control` those of the plane
    `control`: the coordinator's during the run, all known ones after it. `votes` counts votes
    against each arm, `out` lists eliminated arms. `regret` is known during the run where the group
    shares its arms. After it, `status`, `regret` and `epsilon` (of the most exposed reward) are
    set.
    """

    run: int
    serial: int
    network: Network
    now: float
    rounds: float
    share: float
    said: tuple[str, ...]
    finished: frozenset[int]
    lost: dict[int, str]
    links: dict[tuple[int, int, str], int]
    control: int
    votes: tuple[int, ...]
    out: tuple[int, ...]
    regret: float | None
    epsilon: float | None
    status: str


class Watcher:
    """Observes runs; `view` is the state of the current run, or of the last one at its end."""

    def __init__(self, plan: Plan) -> None:
        self.view: View | None = None
        self._says = plan.system.results.says
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
        self._counted = len(rows)
        links: Counter[tuple[int, int, str]] = Counter()
        control = 0
        for source, target, plane, kind, messages in _traffic(host):
            if plane == Plane.CONTROL:
                control += messages
            else:
                links[source, target, kind] += messages
        return View(
            run=host.run,
            serial=host.serial,
            network=host.network,
            now=standing.now if record is None else record.slots or standing.now,
            rounds=standing.rounds if record is None else record.rounds or standing.rounds,
            share=standing.share,
            said=tuple(self._says(standing)),
            finished=frozenset(host.attendance.finished),
            lost={rank: printable(why) for rank, why in host.dismissed.items()},
            links=links,
            control=control,
            votes=tuple(self._votes[arm] for arm in range(standing.arms)) if self._votes else (),
            out=tuple(int(arm) for _, arm in standing.log.get(EliminationRow.table, [])),
            regret=host.shared_regret if record is None else record.regret,
            epsilon=max(spent) if spent else None,
            status="" if record is None else record.status,
        )


def _traffic(host: CoordinatorHost) -> Iterator[tuple[int, int, int, str, int]]:
    """Source, target, plane, kind and messages: the coordinator's, or all after the run."""
    if host.record is not None:
        for row in host.record.links:
            yield row.source, row.target, row.plane, row.kind, row.messages
    else:
        for source, target, kind, messages in host.traffic():
            yield source, target, kind.plane, kind.__name__, messages


def pairs(network: Network, agents: int, served: bool) -> list[tuple[int, int]]:
    """The links of a network: agents to their neighbours, and to the coordinator if `served`."""
    linked = [(a, b) for a, near in enumerate(network.neighbours) for b in near if a < b]
    return linked + [(rank, COORDINATOR) for rank in range(agents) if served]
