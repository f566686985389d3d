"""Li and Song 2022: noise and weights, by hand."""

import pytest

from posse.papers import li_theory
from tests.support.papers import GENERATOR


def test_the_solution_loses_nothing_and_the_prints_do():
    for p in (0.2, 1.0):
        solved = li_theory.no_loss("corrected", None, "2 log T / log(M p^1.5)", p)["value"]
        assert solved == pytest.approx(1.0)
    assert li_theory.no_loss("corrected", None, "log T / log pM", 1.0)["value"] == pytest.approx(50)


def test_the_deviation_of_noise_in_a_late_round():
    found = [li_theory.noise_of("corrected", GENERATOR(n), 3, "deviation")["value"] for n in (1, 2)]
    assert found == pytest.approx([1, 1], abs=0.25)


def test_the_servers_weights_by_hand():
    # printed: M / Q² Σ 1/M_q = 100 / 25 (1/53 + 1/24 + 1/10 + 1/6 + 1/7)
    wanted = 4 * (1 / 53 + 1 / 24 + 1 / 10 + 1 / 6 + 1 / 7)
    assert li_theory.averaging("printed", None, "2: unequal")["value"] == pytest.approx(wanted)
    assert li_theory.averaging("corrected", None, "2: unequal")["value"] == pytest.approx(1)
