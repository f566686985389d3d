"""Whether noise is of the law that was asked for, and drawn anew each time.

Errors are far below those of counting: the faults that matter, such as half of the noise or the
same noise twice, show in some hundred numbers. Numbers cost microseconds where runs cost
milliseconds, so the draws of a run are made again by the same code many times.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from posse.protocol.arrays import FloatArray

_ERROR = 1e-8
"""Probability of each sentence where nothing is wrong."""

_FEWEST = 20
"""Fewest numbers whose law is judged."""

_SAME = 1e-11
"""Two noises, in units of their scale, are the same if no further apart; safe noise has a grid."""

_COARSE = 1e4
"""Whole numbers of a smaller deviation may well be the same by chance."""

_TAIL = 7.0
"""Standard deviations beyond which a correlation is none by chance: once in 4e10 pairs."""

_LAGS, _PAIRS = 8, 20
"""How many numbers apart, and of how many pairs of agents, noise is compared."""

_STEP = 2.0**-41
"""Half of the step of safe noise's grid, at least, in units of the scale."""


@dataclass(frozen=True)
class Draw:
    """Numbers `given` for `values`, with noise of this kind.

    "laplace", "gaussian", "coins" or "polya", of which `shares` together are discrete Laplace.
    """

    kind: str
    values: Any
    sensitivity: float
    scale: float
    given: Any = None
    shares: int = 1

    @property
    def law(self) -> tuple[str, float, int]:
        """What noise was asked for."""
        return self.kind, self.scale, self.shares

    @property
    def noise(self) -> FloatArray:
        """The noise in units of its scale."""
        noise: FloatArray = (self.given - self.values) / self.scale
        return noise

    @property
    def grain(self) -> float:
        """How far apart noises may be, in units of their scale, that are the same."""
        if self.kind != "laplace":
            return 1 / self.scale
        return float(np.abs(self.given).max(initial=0.0)) * 2.0**-50 / self.scale


Runs = Sequence[Sequence[Sequence[Draw]]]
"""Draws by run and agent."""


def faults_of_law(runs: Runs) -> list[str]:
    """A sentence for each way in which noise is not what was asked for."""
    sentences = []
    off_grid = _off_grid([d for run in runs for draws in run for d in draws])
    runs = [_with_shares(run) for run in runs]
    for kind in _MEAN:
        by_agent: dict[int, list[FloatArray]] = {}
        first: list[FloatArray] = []
        fine: list[FloatArray] = []
        absolute: list[FloatArray] = []
        grain = _SAME
        for run in runs:
            for rank, draws in enumerate(run):
                mine = [d for d in draws if d.kind == kind and len(d.given)]
                by_agent.setdefault(rank, []).extend(d.noise for d in mine)
                smooth = [d for d in mine if kind == "laplace" or d.scale > _COARSE]
                first += [d.noise for d in (mine if kind == "share" else smooth)[:1]]
                fine += [d.noise for d in smooth]
                absolute += [d.noise * d.scale for d in smooth]
                grain = max([grain, *(d.grain for d in smooth)])
        noise = {rank: np.concatenate(parts) for rank, parts in by_agent.items() if parts}
        if not noise:
            continue
        everybody = np.concatenate(list(noise.values()))
        if fine:
            numbers = np.concatenate(fine)
            sentences += [
                _none(numbers, grain),
                _used_twice(numbers, np.concatenate(absolute), grain),
            ]
        sentences += [_of_law(everybody, kind, "all agents")]
        if first:
            sentences += [_of_law(np.concatenate(first), kind, "agents' first numbers")]
        sentences += [_of_law(own, kind, f"agent {rank}") for rank, own in noise.items()]
        sentences += [_related(noise)]
    coins = [d for run in runs for draws in run for d in draws if d.kind == "coins"]
    sentences += [off_grid, _coins(coins)]
    return [sentence for sentence in dict.fromkeys(sentences) if sentence][:4]


def _off_grid(draws: list[Draw]) -> str:
    """A sentence if numbers do not lie on one grid, as safe noise does whatever it is added to."""
    wrong = many = 0
    for draw in draws:
        if draw.kind == "laplace":
            steps = draw.given / 2.0 ** np.ceil(np.log2(draw.scale * _STEP))
            wrong += int((steps != np.rint(steps)).sum())
            many += len(steps)
    if not wrong:
        return ""
    return f"{wrong:,} of {many:,} noisy numbers lie on no grid: their low bits give the value away"


def _none(noise: FloatArray, grain: float) -> str:
    """A sentence if numbers have no noise."""
    from scipy import special  # noqa: PLC0415

    bare = int((np.abs(noise) <= grain).sum())
    # the density of a number's size is at most 1
    if bare and special.pdtrc(bare - 1, len(noise) * grain) < _ERROR:
        return f"{bare:,} of {len(noise):,} numbers were released without noise"
    return ""


def _of_law(noise: FloatArray, kind: str, source: str) -> str:
    """A sentence if noise in units of its scale is not Laplace's, or Gauss's, of scale 1."""
    from scipy import special  # noqa: PLC0415  (slow to import)

    count = len(noise)
    if count < _FEWEST:
        return ""
    if kind != "gaussian":
        size, shape = np.abs(noise).sum(), float(count)
        below = np.sort(np.where(noise < 0, 0.5 * np.exp(noise), 1 - 0.5 * np.exp(-noise)))
    else:
        size, shape = (noise**2).sum() / 2, count / 2
        below = np.sort(special.ndtr(noise))
    # the size has a gamma law; the largest distance from the law is Kolmogorov and Smirnov's; and
    # the farthest number is seldom much too near
    apart = max(
        (np.arange(1, count + 1) / count - below).max(), (below - np.arange(count) / count).max()
    )
    chance = min(
        2 * special.gammainc(shape, size),
        2 * special.gammaincc(shape, size),
        special.kolmogorov(np.sqrt(count) * apart),
        (1 - 2 * min(below[0], 1 - below[-1])) ** count,
    )
    if chance > _ERROR:
        return ""
    times = float(np.abs(noise).mean()) / _MEAN[kind]
    return (
        f"the noise of {source} is not of the law that was asked for: {len(noise):,} numbers have "
        f"{times:.3g} times its mean size"
    )


_MEAN = {"laplace": 1.0, "gaussian": float(np.sqrt(2 / np.pi)), "polya": 1.0, "share": 1.0}
"""The mean size of a number of scale 1; of "polya", of its shares' sum."""

_REFERENCE = 1 << 20
"""Shares that numpy draws, by whose order others become Laplace numbers."""


@lru_cache(maxsize=4)
def _reference(scale: float, shares: int) -> FloatArray:
    """Shares of discrete Laplace noise in order."""
    stop = -np.expm1(-1 / scale)
    generator = np.random.default_rng(0)
    drawn = generator.negative_binomial(1 / shares, stop, (2, _REFERENCE))
    ordered: FloatArray = np.sort((drawn[0] - drawn[1]).astype(float))
    return ordered


def _as_laplace(share: Draw) -> Draw:
    """For each share the Laplace number of scale 1 with the same probability of smaller ones."""
    ordered = _reference(share.scale, share.shares)
    numbers = np.asarray(share.given, float) - np.asarray(share.values, float)
    below, up_to = (np.searchsorted(ordered, numbers, side) for side in ("left", "right"))
    # among equal ones any, so that the probability is uniform
    chance = np.random.default_rng(len(numbers)).uniform(below, up_to + 1) / (_REFERENCE + 1)
    tail = 2 * np.minimum(chance, 1 - chance)
    given = np.sign(chance - 0.5) * -np.log(np.maximum(tail, 1 / _REFERENCE))
    return Draw("share", np.zeros(len(given)), 0.0, 1.0, given)


def _with_shares(run: Sequence[Sequence[Draw]]) -> list[list[Draw]]:
    """The draws by agent; instead of "polya" shares sums that are close to Laplace numbers.

    And each share by itself.
    """
    kept = [[draw for draw in draws if draw.kind != "polya"] for draws in run]
    shares = [[draw for draw in draws if draw.kind == "polya"] for draws in run]
    for own, draws in zip(kept, shares, strict=True):
        own += [_as_laplace(draw) for draw in draws if draw.scale >= _COARSE and draw.shares > 1]
    for rank in range(len(run)):
        for number, first in enumerate(shares[rank]):
            group = [own[number] for own in shares[rank : rank + first.shares] if number < len(own)]
            if rank % first.shares or len(group) < first.shares or first.scale < _COARSE:
                continue
            kept[rank].append(
                replace(
                    first,
                    values=np.sum([draw.values for draw in group], axis=0),
                    given=np.sum([draw.given for draw in group], axis=0),
                )
            )
    return kept


def _used_twice(noise: FloatArray, absolute: FloatArray, grain: float) -> str:
    """A sentence if the same noise is in more than one number, at its scale or as it is."""
    from scipy import special  # noqa: PLC0415

    for sizes, relative in ((np.abs(noise), False), (np.abs(absolute), True)):
        ordered = np.sort(sizes[sizes > 0])
        same = grain * ordered[1:] if relative else grain
        near = int((np.diff(ordered) <= same).sum())
        pairs = len(ordered) * (len(ordered) - 1) / 2
        # the density of a difference of two such numbers is at most 1
        if near > 1 and special.pdtrc(near - 1, 2 * pairs * grain) < _ERROR:
            return f"{near:,} of {len(ordered):,} noisy numbers have noise that another has too"
    return ""


def _related(noise: dict[int, FloatArray]) -> str:
    """A sentence if noise depends on noise a little before it, or on another agent's."""
    cut = {rank: np.clip(own, -3, 3) for rank, own in noise.items()}
    pairs: list[tuple[str, FloatArray, FloatArray]] = [
        (f"that of {lag} before, at agent {rank}", own[lag:], own[:-lag])
        for rank, own in cut.items()
        for lag in range(1, _LAGS + 1)
    ]
    for rank, other in list(combinations(cut, 2))[:_PAIRS]:
        size = min(len(cut[rank]), len(cut[other]))
        pairs.append((f"agent {other}'s, at agent {rank}", cut[rank][:size], cut[other][:size]))
    for which, one, two in pairs:
        if len(one) < _FEWEST:
            continue
        product = one * two
        # for symmetric noise such a sum exceeds x roots of its squares with e^(-x²/2) at most
        if abs(product.sum()) > _TAIL * np.sqrt((product**2).sum()):
            return f"noise depends on {which}"
    return ""


def _coins(draws: list[Draw]) -> str:
    """A sentence if coins do not come up as often as was asked."""
    from scipy import special  # noqa: PLC0415

    asked: Counter[float] = Counter()
    came: Counter[float] = Counter()
    for draw in draws:
        for probability, coin in zip(draw.values.tolist(), draw.given.tolist(), strict=True):
            asked[probability] += 1
            came[probability] += bool(coin)
    for probability, times in asked.items():
        heads = came[probability]
        chance = min(
            special.bdtr(heads, times, probability), special.bdtrc(heads - 1, times, probability)
        )
        if 2 * chance < _ERROR:
            return f"coins of probability {probability:.4g} came up {heads:,} times of {times:,}"
    return ""
