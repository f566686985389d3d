"""Dubey and Pentland 2020: releases, means and proofs by hand; Algorithms 1 and 2 as loops."""

import math
import random
from typing import Any

import numpy as np
import pytest

from posse.engines import memory
from posse.plan import prepare
from posse_papers.dubey import compared, plain, proofs, theory
from tests.support.loops import loops_of
from tests.support.papers import GENERATOR, alike_on_average
from tests.support.runfile import describe_run


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


def test_the_ratio_of_the_bounds_is_at_least_16_by_pinsker():
    for gap in (0.01, 0.3, 0.9):
        assert theory.private_over_it(gap) >= 16


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


MEANS, EPSILON, V, T, GAMMA = [0.9, 0.1], 0.5, 1.1, 40, 2
PATH = [[1], [0, 2], [1, 3], [2]]
spread = loops_of("systems/posse_systems/dubey2020/flooding.py")["spread"]


def releases() -> list[int]:
    """W_1, W_2, … of Lemma 3.4, in the reading of both variants."""
    found, before = [], 0
    for x in range(1, T + 1):
        if sum(i ** (-V / 2) for i in range(before + 1, x + 1)) >= x ** (-V / 2) / EPSILON - 1e-9:
            found.append(x)
            before = x
    return found


def private_multi_agent_ucb(variant: str, draw: random.Random) -> float:
    """Algorithm 2 on a path of four, over Algorithm 1's plain loop: the regret of all agents."""
    printed, arms, series, regret = variant == "printed", range(len(MEANS)), releases(), 0.0
    s, n, v, w = ([[0.0 for _ in arms] for _ in PATH] for _ in range(4))
    known: list[dict[int, Any]] = [{} for _ in PATH]

    def index(m: int, k: int, t: int) -> float:
        count, total = (n[m][k], s[m][k]) if printed else (w[m][k], w[m][k] * v[m][k])
        for _, (means, counts, released) in known[m].values():
            if released[k]:
                count += counts[k]
                total += counts[k] * means[k]
        return total / count + math.sqrt(2 * math.log(t) / count) if count else math.inf

    def act(m: int, t: int) -> tuple[list[float], ...]:
        """Pull, learn, and say it."""
        nonlocal regret
        if t <= len(arms) * math.ceil(1 / EPSILON):  # Algorithm 2, line 2
            arm = (t - (not printed)) % len(arms)
        else:
            indices = [index(m, k, t) for k in arms]
            arm = draw.choice([k for k in arms if indices[k] == max(indices)])
        regret += max(MEANS) - MEANS[arm]
        s[m][arm] += draw.random() < MEANS[arm]  # Algorithm 1, lines 3 and 4
        n[m][arm] += 1
        if n[m][arm] in series:  # lines 6 to 8
            scale = n[m][arm] ** (V / 2 - 1)
            noise = draw.expovariate(1 / scale) - draw.expovariate(1 / scale)
            v[m][arm], w[m][arm] = s[m][arm] / n[m][arm] + noise, n[m][arm]
        return list(v[m]), list(n[m] if printed else w[m]), list(w[m])

    for heard in spread(PATH, GAMMA, T, act):
        known[:] = heard
    return regret


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_private_cooperation_is_the_plain_loop_of_its_pseudo_code(variant):
    draw = random.Random(6)
    slow = [private_multi_agent_ucb(variant, draw) for _ in range(500)]
    run = describe_run(
        "private-ucb",
        len(PATH),
        MEANS,
        variant=variant,
        seed=6,
        topology="path",
        parameters={"horizon": T, "epsilon": EPSILON, "v": V, "gamma": GAMMA},
    )
    alike_on_average(slow, [memory.run(prepare(run), number).regret for number in range(500)])
