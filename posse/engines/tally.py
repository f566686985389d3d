"""The accounts of many agents that pull at the same times, and the reports that they would send."""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from posse.clocks.immediate import SAY_EVERY
from posse.measure.regret import Point, add_point
from posse.measure.traffic import counted
from posse.protocol import control
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.control import LinkCount
from posse.protocol.machine import COORDINATOR
from posse.protocol.privacy import Release
from posse.protocol.wire import measure_payloads
from posse.system.steps import Sent


class Tally:
    """What each row has pulled and earned by slot `now`; all rows' orders take the same time.

    `costs`: what one pull of each arm costs each row, shape (rows, K), by reference of the regret.
    """

    def __init__(self, costs: Mapping[str, FloatArray]) -> None:
        self._rows, arms = next(iter(costs.values())).shape
        self.first = np.arange(self._rows) * arms
        self.now = self._activations = self._signs = 0
        self._pulls = np.zeros(self._rows * arms, dtype=np.int64)
        self._earned = np.zeros(self._rows * arms)
        self._costs = {name: each.ravel() for name, each in costs.items()}
        self._regret = {name: Regrets(self._rows) for name in costs}

    def pulled(self, queues: IntArray, rewards: FloatArray, times: int = 1) -> None:
        """Each row pulled arms, as queues of shape (rows,) or (rows, n); `rewards` are sums."""
        before = self.now // SAY_EVERY
        self.now += times * (queues.size // self._rows)
        self._signs += self.now // SAY_EVERY != before
        self._activations += times
        self._pulls[queues] += times
        self._earned[queues] += rewards
        for name, regret in self._regret.items():
            cost = self._costs[name].take(queues)
            lost = times * (cost if cost.ndim == 1 else cost.sum(axis=1))
            regret.add(lost, self.now, self._activations)

    def report(
        self,
        rank: int,
        row: int,
        answer: int | None,
        sent: Iterable[Sent],
        releases: list[Release],
        log: dict[str, list[list[float]]],
    ) -> control.Report:
        """What agent `rank` of this row reports: it `sent` this, its answer, and signs of life."""
        pulls, rewards, totals, curves = self._closed
        said = [Sent(control.Finished, (COORDINATOR,), 1, _size_of_last(answer)), *sent]
        if self._signs:
            size = self._signs * _SIGN
            said.append(Sent(control.SlotReached, (COORDINATOR,), self._signs, size))
        return report_of(
            rank,
            said,
            pulls=_part(pulls, row, self._rows),
            activations=self._activations,
            slots=self.now,
            regret={name: of_rows[row] for name, of_rows in totals.items()},
            curve={name: _part(of_rows, row, self._rows) for name, of_rows in curves.items()},
            rewards=_part(rewards, row, self._rows),
            releases=releases,
            log=log,
        )

    @cached_property
    def _closed(self) -> tuple[bytes, bytes, dict[str, list[float]], dict[str, bytes]]:
        """Pulls, rewards, regret and its curves of all rows, at the end."""
        return (
            self._pulls.astype("<i8").tobytes(),
            np.stack((self._pulls, self._earned), axis=1).astype("<f8").tobytes(),
            {name: regret.totals.tolist() for name, regret in self._regret.items()},
            {name: regret.curves().tobytes() for name, regret in self._regret.items()},
        )


def links_of(source: int, sent: Iterable[Sent]) -> list[LinkCount]:
    """What one end sent, as its meter would count it."""
    return sorted(
        counted(source, target, kind, size, n)
        for kind, targets, n, size in sent
        for target in targets
    )


def report_of(rank: int, sent: Iterable[Sent], **measured: Any) -> control.Report:
    """The report of an agent that measured this, without a process of its own."""
    return control.Report(
        links=links_of(rank, sent),
        delays={},
        refused={},
        seconds={},
        resources=_NO_USE,
        **measured,
    )


def _part(packed: bytes, row: int, rows: int) -> bytes:
    """What a row has of bytes that all have alike."""
    size = len(packed) // rows
    return packed[row * size : (row + 1) * size]


_NO_USE = control.ResourceUse(0.0, 0, 0)
_SIGN = measure_payloads([control.SlotReached()])


@lru_cache(maxsize=1 << 10)
def _size_of_last(answer: int | None) -> int:
    return measure_payloads([control.Finished(answer)])


class Regrets:
    """`Regret` of all rows."""

    def __init__(self, rows: int) -> None:
        self.totals = np.zeros(rows)
        self._points: list[Point[FloatArray]] = [(0.0, 0.0, self.totals)]
        self._step = 0.0

    def add(self, costs: FloatArray, now: int, activations: int) -> None:
        """Add each row's cost of the activations that ended at `now`, shape (rows,)."""
        self.totals = self.totals + costs
        point = float(now), float(activations), self.totals
        self._step = add_point(self._points, point, self._step)

    def curves(self) -> FloatArray:
        """The curve of each row, shape (rows, points, 3)."""
        curves = np.empty((len(self.totals), len(self._points), 3))
        curves[..., :2] = [point[:2] for point in self._points]
        curves[..., 2] = np.array([point[2] for point in self._points]).T
        return curves
