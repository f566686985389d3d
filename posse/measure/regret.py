"""Regret over time; it needs known means, so only the lab has it."""

from array import array
from collections.abc import Callable
from itertools import chain
from typing import TypeVar

import numpy as np
from mypy_extensions import mypyc_attr
from numpy.typing import NDArray

from posse.protocol.arrays import FloatArray

_MOST_POINTS = 2_000
_MOST_KEPT = 1_024
"""Orders of arms whose cost is kept: an agent gives the same few again and again."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ArmCosts:
    """What one pull of each of some arms costs; agents with equal means may share this."""

    def __init__(self, means: FloatArray) -> None:
        self._gaps = means.max() - means
        self._kept: dict[tuple[int, ...], float] = {}

    def sum_of(self, arms: tuple[int, ...]) -> float:
        """The cost of one pull of each."""
        cost = self._kept.get(arms)
        if cost is None:
            cost = float(self._gaps[list(arms)].sum())
            if len(self._kept) < _MOST_KEPT:
                self._kept[arms] = cost
        return cost


Total = TypeVar("Total")
Point = tuple[float, float, Total]
"""Time, activations, and the regret of one agent or of several."""


def add_point(points: list[Point[Total]], point: Point[Total], step: float) -> float:
    """Add a point to a curve whose points are `step` apart, to stay few; returns the new step."""
    now = point[0]
    if len(points) > 1 and now - points[-2][0] < step:
        points[-1] = point
    else:
        points.append(point)
    if len(points) > _MOST_POINTS:
        step = max(2 * step, 2 * now / _MOST_POINTS)
        points[:] = [*points[::2], point]
    return step


@mypyc_attr(allow_interpreted_subclasses=True)
class Regret:
    """Cumulative regret: each pull of arm k costs μ* - μ_k, μ* = max μ.

    The curve has breakpoints (time, activations, regret) and is linear in between: an order pulls
    its arms in turn, so within an order regret is linear up to less than one turn.
    """

    def __init__(self, costs: ArmCosts) -> None:
        self._costs = costs
        self.total = 0.0
        self._activations = 0
        self._points: list[tuple[float, float, float]] = [(0.0, 0.0, 0.0)]
        self._step = 0.0

    def pulled(self, arms: tuple[int, ...], times: int, activations: int, now: float) -> None:
        """Add `times` pulls of each arm, which ended at `now`."""
        self.add(times * self._costs.sum_of(arms), activations, now)

    def add(self, cost: float, activations: int, now: float) -> None:
        """Add the total cost of `activations` that ended at `now`."""
        self.total += cost
        self._activations += activations
        point = (now, float(self._activations), self.total)
        self._step = add_point(self._points, point, self._step)

    def moved(self, curve: FloatArray) -> None:
        """Take what was added elsewhere, as `curve` would be here."""
        self._points = list(map(tuple, curve.tolist()))
        self.total = self._points[-1][2]

    def costs(self, arms: int) -> list[float]:
        """What one pull of each of this many arms costs."""
        return [self._costs.sum_of((arm,)) for arm in range(arms)]

    def curve(self) -> FloatArray:
        """The breakpoints, shape (points, 3): time, activations, regret."""
        return np.array(self._points)

    def packed(self) -> bytes:
        """The bytes of `curve`."""
        return array("d", chain.from_iterable(self._points)).tobytes()


_SLOTS = 4096
"""Slots computed at once."""


@mypyc_attr(allow_interpreted_subclasses=True)
class MovingRegret(Regret):
    """Regret where means change: a pull costs the best mean of its slot less the arm's in it.

    `means_at` gives the means in slots of shape (n,), as (n, K). Slots are the agent's pulls.
    """

    def __init__(self, means_at: Callable[[NDArray[np.int64]], FloatArray]) -> None:
        super().__init__(ArmCosts(np.zeros(1)))
        self._means_at = means_at
        self._slot = 0

    def pulled(self, arms: tuple[int, ...], times: int, activations: int, now: float) -> None:
        cost, left = 0.0, times
        while left:
            turns = min(left, max(1, _SLOTS // len(arms)))
            slots = np.arange(self._slot, self._slot + turns * len(arms))
            means = self._means_at(slots)
            paid = means[np.arange(len(slots)), np.tile(arms, turns)]
            cost += float((means.max(axis=1) - paid).sum())
            self._slot += len(slots)
            left -= turns
        self.add(cost, activations, now)


def merge(curves: list[FloatArray], by_time: bool, points: int = 200) -> list[list[float]]:
    """The sum of the agents' curves, as [[t, regret], …] on an even grid of times.

    t is the time (slots) if `by_time`, else all agents' activations up to it (the paper's rounds).
    """
    grid = np.linspace(0.0, max(curve[-1, 0] for curve in curves), points + 1)
    activations = np.zeros(len(grid))
    regret = np.zeros(len(grid))
    last, acts, lost = b"", grid, grid
    for curve in curves:
        if (own := curve.tobytes()) != last:  # agents that move together have the same
            acts = np.interp(grid, curve[:, 0], curve[:, 1])
            lost, last = np.interp(grid, curve[:, 0], curve[:, 2]), own
        activations += acts
        regret += lost
    axis = grid if by_time else activations
    drawn: list[list[float]] = np.stack((axis, regret), axis=1).tolist()
    return drawn
