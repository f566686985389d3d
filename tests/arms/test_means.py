"""Means drawn at random, for all agents or for each."""

import numpy as np
import pytest

from posse.arms.base import RandomMeans
from posse.errors import SpecError
from posse.plan import prepare
from tests.support.runfile import describe_run


def test_cosine_means_are_similarities_of_unit_vectors() -> None:
    """(1 + cos) / 2 of random directions in d dimensions has mean 1/2 and variance 1 / 4d.

    500 users and 40 arms; the arms' common directions leave about 40 · 10 degrees of freedom, so
    10 % holds for all but one of 10^3 seeds, and the seed is fixed.
    """
    table = RandomMeans(random="cosine", count=40).table(500, np.random.default_rng(4))
    assert table.shape == (500, 40)
    assert 0 <= table.min() <= table.max() <= 1
    assert table.mean() == pytest.approx(0.5, abs=0.01)
    assert table.var() == pytest.approx(1 / 40, rel=0.1)
    # rank 10 around the constant
    assert np.linalg.matrix_rank(2 * table - 1) == 10


def test_means_per_agent_are_independent_rows() -> None:
    table = RandomMeans(count=4, per_agent=True).table(3, np.random.default_rng(4))
    assert table.shape == (3, 4)
    assert len(np.unique(table)) == 12
    with pytest.raises(ValueError, match="spread"):
        RandomMeans(count=4, per_agent=True, spread=0.1)


def test_a_spread_that_cannot_be_is_refused_before_anything_starts() -> None:
    arms = {"kind": "bernoulli", "means": {"count": 3, "spread": 0.9}}
    raw = describe_run("cooperative-ucb", 20, arms, topology="ring", parameters={"horizon": 50})
    said = r"^arms.means: spread = 0.9: of 1,000 drawn instances of 20 agents none lies inside"
    with pytest.raises(SpecError, match=said):
        prepare(raw)
