"""What is known of each arm at the end of a run: its mean, and an interval.

In the lab from the rewards that machines were given. Else from what has left the agents anyway: a
machine notes `Estimate`s of statistics that were released, with the noise that they carry, so that
nothing more is spent. The intervals of all arms hold at once with probability 95 %, whatever
decided which arms were pulled how often, for arms whose rewards lie in [0, 1] or have a known
deviation. Where an arm's mean changes or differs by agent, it is that of the pulls that were made.
"""

import math
from typing import ClassVar

from posse.protocol.log import LogTables, PublicRow

ERROR = 0.05
"""The probability that any arm's interval misses."""

UNIT = 0.5
"""The deviation (sub-Gaussian) of rewards in [0, 1], by Hoeffding's lemma."""


class Estimate(PublicRow, frozen=True):
    """The mean reward of an arm, by `rewards` of them, and the ends of its interval."""

    table: ClassVar[str] = "estimates"

    arm: int
    mean: float
    low: float
    high: float
    rewards: int

    def __str__(self) -> str:
        """The mean and its interval."""
        return f"{self.mean:.4g} ({self.low:.4g} to {self.high:.4g})"


def latest(log: LogTables) -> list[Estimate]:
    """The last estimate of each arm among these rows, in the order of the arms."""
    latest_of = {row.arm: row for _, row in Estimate.select(log)}
    return [latest_of[arm] for arm in sorted(latest_of)]


def observed(arm: int, mean: float, rewards: int, arms: int, deviation: float = UNIT) -> Estimate:
    """The estimate from all rewards of one of `arms` arms that anybody was given until now.

    Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence
    sequences", Annals of Statistics 49(2), 2021, equation 1: it holds for all counts at once.
    """
    error = ERROR / arms
    log_log = math.log(math.log(2 * rewards))
    half = 1.7 * deviation * math.sqrt((log_log + 0.72 * math.log(10.4 / error)) / rewards)
    return Estimate(arm, mean, mean - half, mean + half, rewards)


def counted_privately(
    arm: int,
    mean: float,
    rewards: int,
    arms: int,
    *,
    look: int,
    spread: float,
    largest: float,
) -> Estimate:
    """The estimate from the `look`-th release (from 1) of a private running sum of one arm.

    The sum carries Laplace numbers of scales b_i, of which `spread` is sqrt(Σ b_i²) and `largest`
    the largest. Half of the error is that of `observed`, and half is for the noise, whenever it is
    looked at: release l has 1/(l (l + 1)) of an arm's.
    """
    rewarded = observed(arm, mean, rewards, 2 * arms)
    tail = math.log(2 / (ERROR / 2 / arms / (look * (look + 1))))
    half = rewarded.high - mean + _noise(tail, spread, largest) / rewards
    return Estimate(arm, mean, mean - half, mean + half, rewards)


def _noise(tail: float, spread: float, largest: float) -> float:
    """What a sum of Laplace numbers exceeds with probability 2 exp(-tail) at most.

    Chan, Shi and Song (ACM TISSEC 14(3), 2011), Lemma 2.8: with ν = max(sqrt(Σ b_i²), b sqrt(tail))
    it is ν sqrt(8 tail).
    """
    return math.sqrt(8 * tail) * max(spread, largest * math.sqrt(tail))


def released(
    arm: int,
    mean: float,
    rewards: int,
    arms: int,
    *,
    look: int,
    laplace: float = 0.0,
    draws: int = 1,
    deviation: float = UNIT,
) -> Estimate:
    """The estimate from the batch of rewards of the `look`-th release (from 1), whose size is set.

    `laplace`: the scale of Laplace noise in each of `draws` means whose average is `mean`. Half of
    the error is Hoeffding's for the rewards, and half is for the noise: the law's own quantile for
    one draw, else that of `_noise`. Look l has 1/(l (l + 1)) of an arm's error.
    """
    error = ERROR / arms / (look * (look + 1))
    if laplace:
        error /= 2
    tail = math.log(2 / error)
    half = deviation * math.sqrt(2 * tail / rewards)
    if laplace and draws == 1:
        half += laplace * math.log(1 / error)
    elif laplace:
        half += _noise(tail, laplace * math.sqrt(draws), laplace) / draws
    return Estimate(arm, mean, mean - half, mean + half, rewards)
