"""Dubey and Pentland 2020: releases, means and proofs by hand; Algorithms 1 and 2 as loops."""

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.engines import memory
from posse.plan import prepare
from posse_papers.dubey import compared, plain
from tests.support.conversations import examples
from tests.support.loops import loops_of
from tests.support.papers import GENERATOR, alike_on_average
from tests.support.runfile import describe_run


def test_a_tree_for_each_agent_costs_more_than_one_for_all():
    def mean(trees: int) -> float:
        return sum(compared.with_trees(8, trees, 1.0, generator=GENERATOR(n)) for n in range(3)) / 3

    assert mean(8) > 1.5 * mean(1)


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


@examples(Path(__file__).with_name("dubey.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
