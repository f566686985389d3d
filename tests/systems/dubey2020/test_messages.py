"""Releases and what they cost: the interval series, ζ, the composition."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse_systems.dubey2020.messages import (
    Contamination,
    release_counts,
    zeta,
)
from tests.support.conversations import examples


@given(st.lists(st.integers(0, 2), max_size=4).map(tuple) | st.sampled_from(["all", 2]))
@example("all")
@example(2)
@example((2, 0, 0))
@example(())
def test_who_lies(agents) -> None:
    named = sorted({*agents}) if isinstance(agents, tuple) else []
    liars = {"all": [0, 1, 2], 2: [1, 2]}.get(agents, named)
    lies = Contamination(rate=0.1, agents=agents)
    assert lies.liars(3, lambda number: [2, 1][:number]) == liars
    assert len(lies.liars(3)) == len(liars)
    assert Contamination(rate=0.0, agents=agents).liars(3) == []


@settings(max_examples=50)
@given(st.floats(0.02, 1.0), st.floats(1.01, 1.5), st.integers(1, 400))
def test_the_series_keeps_lemma_3_6(epsilon, v, last) -> None:
    found = release_counts(epsilon, v, last)
    slow, previous = [], 0
    for x in range(1, last + 1):
        interval = math.fsum(i ** (-v / 2) for i in range(previous + 1, x + 1))
        if interval >= x ** (-v / 2) / epsilon - 1e-12:
            slow.append(x)
            previous = x
    assert list(found) == slow
    costs = np.array([n ** (-v / 2) for n in found])
    assert costs.sum() <= epsilon * last ** (1 - v / 2) / (1 - v / 2) + 1e-9
    assert np.square(costs).sum() <= epsilon * zeta(v) + 1e-9


@examples(Path(__file__).with_name("messages.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
