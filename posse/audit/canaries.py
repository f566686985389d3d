"""What one reward costs by the noise that is asked for: canaries, rewards that are changed alone.

Which rewards to change is searched for. Runs on the same noisy numbers, in which of each arm only
the first m rewards are 1, say by how much the m-th moves each number; halving the range where it
moves faster leads to a reward for each number, the one that moves it most where its way is uneven
(as where it is rounded). What is found so is a guess: only what one reward costs alone is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from posse.audit.replay import CoupledRun, Coupler, Rewards
from posse.protocol.accounting import Losses, polya_loss
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.machine import peer_name

_MOST_STEPS, _MOST_ALONE = 50, 20
"""Runs of a search, and rewards that are then changed one by one."""

_VALUES = (1.0, 0.5)
"""What a reward becomes that is changed alone; a fraction may count for more than it is."""

MOST_OF_A_SEARCH = _MOST_STEPS + _MOST_ALONE * len(_VALUES) + 1

Canary = tuple[int, int, int]
"""A reward by rank, arm and place."""


def one_by_one(*canaries: Canary) -> Rewards:
    """All rewards 0, but these 1."""

    def become(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
        own = [place for r, a, place in canaries if (r, a) == (rank, arm)]
        return np.isin(places, own).astype(float)

    return become


def _up_to(m: int, more: Canary | None = None, value: float = 1.0) -> Rewards:
    def become(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
        rewards = (places < m).astype(float)
        if more is not None and more[:2] == (rank, arm):
            rewards[places == m] = value
        return rewards

    return become


def reward_named(canary: Canary) -> str:
    """A canary in words."""
    rank, arm, place = canary
    return f"{peer_name(rank)}'s reward number {place + 1} of arm {arm}"


@dataclass
class Cost:
    """What one reward costs at δ, by the scales of the noise that was asked for; what is wrong."""

    epsilon: float
    fault: str = ""

    def named(self, what: str) -> "Cost":
        """The same with what was changed in its fault."""
        return Cost(self.epsilon, f"{what} {self.fault}" if self.fault else "")


@dataclass
class Search:
    """Searches the rewards of a run, of which `none` has only zeros, for those that cost most."""

    coupler: Coupler
    run: CoupledRun
    none: CoupledRun
    steps: dict[int, CoupledRun] = field(default_factory=dict)

    def candidates(self) -> list[Canary]:
        """Rewards that may cost much, those first that seem to cost most."""
        most = max((n for used in self.run.used.values() for n in used.values()), default=0)
        if not most or not self.run.size:
            return []
        self.steps[0] = self.none
        scale = np.concatenate([np.full(len(d.given), d.scale) for d in self.run.draws])
        owner = self.owner
        ranges = [(0, most, np.ones(len(scale), dtype=bool))]
        places: set[int] = set()
        while ranges:
            low, high, numbers = ranges.pop(0)
            numbers = numbers & (self._at(high) != self._at(low))
            if not numbers.any():
                continue
            if high - low == 1:
                places.add(low)
                continue
            middle = (low + high) // 2
            if middle not in self.steps and len(self.steps) >= _MOST_STEPS:
                places.add(low)
                continue
            earlier, later = self._speed(low, middle), self._speed(middle, high)
            ranges += [
                (low, middle, numbers & (earlier >= later)),
                (middle, high, numbers & (earlier < later)),
            ]
        candidates: list[tuple[float, Canary]] = []
        for place in sorted(places):
            # where there was no room to go on halving, its neighbour is not known
            after = (
                place + 1 if place + 1 in self.steps else min(m for m in self.steps if m > place)
            )
            speed = self._speed(place, after) / scale
            for rank, used in self.run.used.items():
                costs = float(speed[owner == rank].sum())
                candidates += [(costs, (rank, arm, place)) for arm in used if place < used[arm]]
        return [canary for _, canary in sorted(candidates, key=lambda candidate: -candidate[0])]

    @property
    def owner(self) -> IntArray:
        """The agent of each number."""
        counts = [sum(len(draw.given) for draw in source.draws) for source in self.run.noise]
        ranks: IntArray = np.repeat(np.arange(len(counts)), counts)
        return ranks

    def _at(self, m: int) -> FloatArray:
        if m not in self.steps:
            self.steps[m] = self.coupler.again(self.run, _up_to(m))
        return self.steps[m].values

    def _speed(self, low: int, high: int) -> FloatArray:
        speed: FloatArray = np.abs(self._at(high) - self._at(low)) / (high - low)
        return speed

    def apart(self) -> list[Canary]:
        """Rewards of which no two move the same number."""
        canaries: list[Canary] = []
        taken: dict[tuple[int, int], bool] = {}
        used = np.zeros(self.run.size, dtype=bool)
        for rank, arm, place in self.candidates():
            # rewards of one place and agent are of different arms, and move different numbers
            if (rank, place) not in taken:
                # which numbers it moves is not known where halving ended before
                moves = np.zeros(self.run.size, dtype=bool)
                if place + 1 in self.steps:
                    moves = (self._speed(place, place + 1) != 0) & (self.owner == rank)
                free = bool(moves.any() and not used[moves].any())
                taken[rank, place] = free
                if free:
                    used |= moves
            if taken[rank, place]:
                canaries.append((rank, arm, place))
        return canaries

    def alone(self, delta: float, enough: Callable[[Cost], bool]) -> list[tuple[Canary, Cost]]:
        """What candidates cost when each is changed alone, until one costs enough."""
        costs = []
        for canary in _varied(self.candidates())[:_MOST_ALONE]:
            found = [self._cost(canary, delta, value) for value in _VALUES]
            costs.append((canary, max(found, key=lambda cost: (cost.epsilon, cost.fault))))
            if enough(costs[-1][1]):
                break
        return costs

    def _cost(self, canary: Canary, delta: float, value: float) -> Cost:
        """What it costs that one reward, 0 before, becomes `value`.

        The rewards of earlier places are 1 and all others 0.
        """
        place = canary[2]
        self._at(place)
        other = self.coupler.again(self.run, _up_to(place, canary, value))
        return cost_of(self.coupler.plan.claim.honest, self.steps[place], other, delta).named(
            reward_named(canary)
        )


def cost_of(honest: int, one: CoupledRun, other: CoupledRun, delta: float) -> Cost:
    """What it costs that the second run's rewards are others, by the noise that was asked for.

    `honest` agents' noise protects a sum.
    """
    laplace: list[tuple[float, int]] = []
    gaussian, fault, honest = 0.0, "", max(1, honest)
    for draw, moved_draw in zip(one.draws, other.draws, strict=True):
        moved = float(np.abs(draw.values - moved_draw.values).sum())
        if not moved:
            continue
        if draw.kind == "gaussian":
            gaussian += moved**2 / draw.scale**2 / honest
        elif draw.kind == "polya":
            shares = min(1.0, honest / draw.shares)
            laplace.append((polya_loss(draw.scale, shares, moved), 1))
        elif draw.kind == "laplace":
            laplace.append((moved / draw.scale, 1))
            if moved > draw.sensitivity * (1 + 1e-6):
                fault = (
                    f"moves what is released by {moved:.4g}, and the noise is sized for "
                    f"{draw.sensitivity:.4g}"
                )
    return Cost(Losses(laplace=tuple(laplace), gaussian=gaussian).epsilon(delta), fault)


def _varied(canaries: list[Canary]) -> list[Canary]:
    """The same in an order in which the first have different places, then agents, then arms."""
    seen: dict[int, int] = {}
    turns: list[tuple[int, int, Canary]] = []
    for order, canary in enumerate(canaries):
        place = canary[2]
        seen[place] = seen.get(place, -1) + 1
        turns.append((seen[place], order, canary))
    return [canary for _, _, canary in sorted(turns)]
