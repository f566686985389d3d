"""The regret of cooperation on a graph, by hand."""

import math

import numpy as np
import pytest

from posse.theory import cooperative
from topologies import graphs

GAPS = np.array([0.0, 0.5, 0.25])


def test_private_cooperation_by_hand():
    # χ̄ = 2, M = 10, γ = 1, ε = .5: 2 · 8 · 6 log T + .75 (2 · 12 + 10 (2 + ζ(1.5)))
    found = cooperative.private_cooperation_regret(
        GAPS, np.array([math.e]), cliques=2, agents=10, gamma=1, epsilon=0.5
    )
    assert found == pytest.approx([96 + 0.75 * (24 + 10 * (2 + 2.6123753486854883))])


def test_byzantine_cooperation_by_hand():
    # χ̄ = 2, M = 10, γ = 3, σ = .5, ε = .01, so 2σ sqrt ε = .1: 4σ² / .4² + 4σ² / .15²
    leading = 2 * (1 / 0.4**2 + 1 / 0.15**2)
    found = cooperative.byzantine_cooperation_regret(
        GAPS, np.array([math.e]), cliques=2, agents=10, gamma=3, sigma=0.5, epsilon=0.01
    )
    assert found == pytest.approx([leading + (30 + 3 * 2 * 9) * 0.75])
    with pytest.raises(ValueError, match="every gap"):
        cooperative.byzantine_cooperation_regret(
            GAPS, np.array([2.0]), cliques=2, agents=10, gamma=3, sigma=0.5, epsilon=0.0625
        )


def test_robust_cooperation_by_hand():
    # M = 10, log t = 1: 64 / .5 and 64 / .25 are above 32 / ε = 64; .75 (⌈1/ε⌉ + 24)
    found = cooperative.robust_cooperation_regret(GAPS, np.array([math.e]), agents=10, epsilon=0.5)
    assert found == pytest.approx([10 * (128 + 256 + 0.75 * 26)])
    small = cooperative.robust_cooperation_regret(GAPS, np.array([math.e]), agents=1, epsilon=0.1)
    assert small == pytest.approx([320 + 320 + 0.75 * 34])


@pytest.mark.parametrize(
    ("graph", "gamma", "cliques"),
    [
        (graphs.complete(6), 1, 1),
        (graphs.ring(6), 1, 3),
        (graphs.ring(6), 0, 6),
        (graphs.ring(6), 3, 1),
        (graphs.star(5), 1, 4),
        (graphs.star(5), 2, 1),
    ],
)
def test_cliques_of_small_graphs(graph, gamma, cliques):
    assert cooperative.clique_cover(graph, gamma) == cliques
