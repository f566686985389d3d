"""Dubey and Pentland 2020: releases and the robust mean, by hand; Algorithms 1, 2 as a loop."""

import math
import random
from typing import Any

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


MEANS, EPSILON, V, T, GAMMA = [0.9, 0.1], 0.5, 1.1, 40, 2
PATH = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}


def releases() -> list[int]:
    """W_1, W_2, … of Lemma 3.4, in the reading of both variants."""
    found, before = [], 0
    for x in range(1, T + 1):
        if sum(i ** (-V / 2) for i in range(before + 1, x + 1)) >= x ** (-V / 2) / EPSILON - 1e-9:
            found.append(x)
            before = x
    return found


def private_multi_agent_ucb(variant: str, draw: random.Random) -> float:
    """Algorithms 1 and 2 on a path of four, messages and all: the regret of all agents."""
    printed, arms, series = variant == "printed", len(MEANS), releases()
    state: list[dict[str, Any]] = [
        {"s": [0.0] * arms, "n": [0] * arms, "v": [None] * arms, "w": [0] * arms, "Q": {}}
        for _ in PATH
    ]
    regret = 0.0
    for t in range(1, T + 1):
        new = []
        for m, own in enumerate(state):
            if t <= arms * math.ceil(1 / EPSILON):  # Algorithm 2, line 2
                arm = (t - (not printed)) % arms
            else:
                latest: dict[int, Any] = {}
                for message in own["Q"].values():
                    if message["m"] != m and message["t"] > latest.get(message["m"], {"t": 0})["t"]:
                        latest[message["m"]] = message
                index = []
                for k in range(arms):
                    if printed:
                        count, total = own["n"][k], own["s"][k]
                    else:
                        count = own["w"][k]
                        total = count * (own["v"][k] or 0.0)
                    for message in latest.values():
                        if message["v"][k] is not None:
                            count += message["n"][k]
                            total += message["n"][k] * message["v"][k]
                    index.append(
                        total / count + math.sqrt(2 * math.log(t) / count) if count else math.inf
                    )
                arm = draw.choice([k for k in range(arms) if index[k] == max(index)])
            regret += max(MEANS) - MEANS[arm]
            own["s"][arm] += draw.random() < MEANS[arm]  # Algorithm 1, lines 3 and 4
            own["n"][arm] += 1
            n = own["n"][arm]
            if n in series:  # lines 6 to 8
                scale = n ** (V / 2 - 1)
                noise = draw.expovariate(1 / scale) - draw.expovariate(1 / scale)
                own["v"][arm], own["w"][arm] = own["s"][arm] / n + noise, n
            sent = own["n"] if printed else own["w"]
            new.append({"m": m, "t": t, "life": GAMMA, "v": list(own["v"]), "n": list(sent)})
        # lines 13 to 21: each message goes one hop per slot, and dies after γ of them
        held = [dict(own["Q"]) for own in state]
        for m, own in enumerate(state):
            for neighbour in PATH[m]:
                passing = [new[neighbour], *held[neighbour].values()]
                for message in passing:
                    fresh = message["life"] > 0 and message["t"] >= t - GAMMA
                    if fresh and (message["m"], message["t"]) not in own["Q"]:
                        own["Q"][message["m"], message["t"]] = {
                            **message,
                            "life": message["life"] - 1,
                        }
        for own in state:
            newest = {
                m: max((q for q in own["Q"] if q[0] == m), key=lambda q: q[1]) for m, _ in own["Q"]
            }
            own["Q"] = {
                q: message
                for q, message in own["Q"].items()
                if message["t"] > t - GAMMA or q == newest[q[0]]
            }
    return regret


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_private_cooperation_is_the_plain_loop_of_its_pseudo_code(variant):
    draw = random.Random(6)
    slow = [private_multi_agent_ucb(variant, draw) for _ in range(500)]
    plan = prepare({
        "system": "private-ucb", "variant": variant, "seed": 6,
        "agents": {"count": len(PATH)}, "arms": {"kind": "bernoulli", "means": MEANS},
        "topology": {"kind": "path"},
        "parameters": {"horizon": T, "epsilon": EPSILON, "v": V, "gamma": GAMMA},
    })  # fmt: skip
    alike_on_average(slow, [memory.run(plan, number).regret for number in range(500)])


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
