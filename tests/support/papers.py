"""For tests of the papers' experiments."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posse_papers.sample import Sample, regret, value
from posse_papers.statements import Measured

GENERATOR = np.random.default_rng


def measured(**lines: Mapping[Any, Sequence[float]]) -> Measured:
    """Samples whose regret is as given: line name -> {x: [regret of each run]}."""
    out = Measured("corrected", regret)
    for line, places in lines.items():
        for x, values in places.items():
            out.runs[line, float(x)] = [
                Sample(status="identified", best_arm=0, regret=found) for found in values
            ]
    return out


def counted(**lines: Mapping[Any, Sequence[tuple[int, int]]]) -> Measured:
    """Samples of computations: line name -> {x: [(hits, of), …]}."""
    out = Measured("corrected", value)
    for line, places in lines.items():
        for x, pairs in places.items():
            out.runs[line, float(x)] = [
                Sample(status="computed", numbers={"value": h / n, "hits": h, "of": n})
                for h, n in pairs
            ]
    return out


def alike_on_average(one: Sequence[float | None], other: Sequence[float | None]) -> None:
    """Assert that two samples have the same mean, wrongly failing once in ten thousand."""
    means, errors = [], []
    for values in (one, other):
        found = np.array(values, dtype=float)
        means.append(found.mean())
        errors.append(found.var(ddof=1) / len(found))
    room = 3.9 * np.sqrt(sum(errors))
    assert abs(means[0] - means[1]) < room, f"{means[0]:g} and {means[1]:g}, {room:g} allowed"
