"""Dubey and Pentland 2020: releases, the robust mean and steps of proofs, by hand."""

import math

import numpy as np
import pytest

from posse.engines import memory
from posse.plan import prepare
from posse_papers.dubey import compared, plain, proofs, theory
from tests.support.papers import GENERATOR, alike_on_average


def test_releases_of_both_readings():
    assert theory.releases("corrected", 0.1, 46) == [7, 16, 26, 36, 46]
    assert theory.releases("printed", 0.1, 14) == [4, 8, 11, 14]


def test_the_printed_robust_mean_takes_one_atom():
    # μ = .3, N = 150: the shortest interval with 58 % of the points is the atom 0
    assert theory.missed(0.3, 300, variant="printed", generator=GENERATOR(5))["value"] == 1
    assert theory.missed(0.3, 300, variant="corrected", generator=GENERATOR(5))["value"] == 0


def test_the_robust_mean_misses_its_bound_where_one_atom_is_far():
    # μ = .2, N = 275: the interval is the atom 0, so the error is .2; .0126 + .142 are allowed
    assert theory.missed(0.2, 550, variant="corrected", generator=GENERATOR(6))["value"] > 0.8
    assert theory.missed(0.1, 550, variant="corrected", generator=GENERATOR(6))["value"] == 0


def test_the_lower_bound_by_hand():
    # means 3/4 and 1/4: D = log(3) / 2
    assert theory.lower_bound(0.5) == pytest.approx(1 / math.log(3))
    assert theory.byzantine_over_it(0.5) == pytest.approx(3 * math.log(3))


def test_one_tree_is_the_same_however_deviations_are_added():
    one, other = (compared.with_trees(2, 1, power, generator=GENERATOR(3)) for power in (1.0, 2.0))
    assert one == other


def test_a_tree_for_each_agent_costs_more_than_one_for_all():
    def mean(trees: int) -> float:
        return sum(compared.with_trees(8, trees, 1.0, generator=GENERATOR(n)) for n in range(3)) / 3

    assert mean(8) > 1.5 * mean(1)


def test_the_rings_of_a_path_are_its_distances():
    near = np.zeros((4, 4))
    near[range(3), range(1, 4)] = near[range(1, 4), range(3)] = 1
    distances = sum(hops * ring for hops, ring in enumerate(plain.rings(near, 9), start=1))
    assert distances.tolist() == [[abs(i - j) for j in range(4)] for i in range(4)]
    assert len(plain.rings(near, 2)) == 2
    assert not plain.rings(np.zeros((2, 2)), 9)[-1].any()


def test_the_optimum_pulls_all_arms_of_a_trial_alike():
    regret = plain.optimum(10, np.array([1.0, 0.0]), 50, GENERATOR(1))
    assert regret % 10 == 0
    assert regret < 50


@pytest.mark.slow
@pytest.mark.parametrize(("share", "gamma"), [(0.0, 1), (1.0, 2)])
def test_a_life_of_one_or_two_slots_is_that_of_the_algorithm(share, gamma):
    near = np.zeros((4, 4))
    near[range(3), range(1, 4)] = near[range(1, 4), range(3)] = 1
    means = np.array([0.9, 0.1])
    hops = plain.rings(near, 2)
    simple = [plain.spread(hops, share, 0.5, means, 25, GENERATOR(n)) for n in range(150)]
    plan = prepare({
        "system": "private-ucb", "variant": "printed", "seed": 6, "agents": {"count": 4},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.1]}, "topology": {"kind": "path"},
        "parameters": {"horizon": 25, "epsilon": 0.5, "v": 1.1, "gamma": gamma},
    })  # fmt: skip
    alike_on_average(simple, [memory.run(plan, number).regret for number in range(150)])


def test_steps_of_the_proofs_by_hand():
    assert proofs.halved_tail(1) == pytest.approx(4 / 2.612375, rel=1e-5)
    # a fair coin: 8 σ = 4 where 4 σ² = 1 is printed
    assert proofs.samples_short(0.5) == 4
    assert proofs.room_left(0.1) == pytest.approx(2 * 0.5 * math.sqrt(0.1) / 0.2)
    h = 3.5 * math.log(2) * math.sqrt(8)
    assert proofs.noise_over_deviation(1) == pytest.approx(h / math.sqrt(2 * math.log(2)))


def test_line_6_to_the_letter_releases_at_an_intervals_length():
    # W = 7, 16, 26, …: w = 7, 9, 10, 10, …; only the pulls 7, 9 and 10 are ever due
    assert proofs.literal_releases("Lemma 3.4", 46) == 5
    assert proofs.literal_releases("Algorithm 1, line 6", 46) == 3
