"""Li and Song 2022: conditions, delays and costs by hand; Algorithm 3 as a plain loop."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.engines import memory
from posse.plan import prepare
from posse_papers.li import theory
from tests.support.conversations import examples
from tests.support.papers import GENERATOR, alike_on_average


def test_the_solution_loses_nothing_and_the_prints_do():
    for p in (0.2, 1.0):
        solved = theory.loss("2 log T / log(M p^1.5)", p)
        assert solved == pytest.approx(1.0)
    assert theory.loss("log T / log pM", 1.0) == pytest.approx(50)


def bound(kind: str, reading: str, agents: int) -> float:
    return theory.bound_on_distance(agents, kind, reading, generator=GENERATOR(0))


@given(st.integers(10, 60).map(lambda half: 2 * half))
@example(10)
@example(50)
@example(100)
def test_the_bound_of_a_ring_by_its_eigenvalue(agents: int) -> None:
    # a ring's Laplacian has 1 - cos(2π/M)
    second = 1 - math.cos(2 * math.pi / agents)
    exact = math.log(agents) / math.log(1 / second) / (agents // 2)
    assert bound("ring", "Laplacian", agents) == pytest.approx(exact)
    ratios = {10: 3.6, 50: 31, 100: 68}
    assert 1 / exact == pytest.approx(ratios.get(agents, 1 / exact), rel=0.01)


def test_bounds_on_the_diameter_by_eigenvalues_known_by_hand():
    # K_n,n has -1, 0 and 1; all but one has 0 and -2/(M - 2)
    assert bound("bipartite", "second", 8) == 0.0
    exact = math.log(10) / math.log(4) / 2
    assert bound("all but one", "absolute", 10) == pytest.approx(exact)
    assert exact < 1
    assert bound("all but one", "Chung", 10) == 1.0


@given(st.integers(1, 60), st.floats(0.001, 0.999))
@example(5, 0.5)
@example(7, 0.1)
def test_equation_33_is_the_sum_of_a_geometric_series(rounds, gap):
    series = sum(gap ** (r / rounds) for r in range(rounds))
    assert theory.delay_factor(rounds, gap) == pytest.approx(series + rounds / 1e6)


MEANS, M, T, EPSILON = [0.8, 0.55, 0.3], 4, 3000, 0.1
DELAY = 1
"""d_G - 1 on a ring of four."""


def ddp_mab(variant: str, draw: random.Random) -> float:
    """Algorithm 3 slot by slot: the regret of all agents.

    Line 9: printed averages ŷ, corrected ȳ. GIS has brought everybody everything after d_G slots,
    the first of which is the last of the exploration.
    """
    gaps, arms = [max(MEANS) - mean for mean in MEANS], len(MEANS)
    active, total, t, r, regret = list(range(arms)), 0, 0, 0, 0.0
    kept = [[0.0] * arms for _ in range(M)]
    own: list[int] = []

    def pull(arm: int) -> float:
        nonlocal regret
        regret += gaps[arm]
        return float(draw.random() < MEANS[arm])

    def laplace(scale: float) -> float:
        return draw.expovariate(1 / scale) - draw.expovariate(1 / scale)

    while len(active) > 1:
        r += 1
        mine = math.log(8 * len(active) * r**2 * T)
        everybody = math.log(8 * arms * r**2 * T)
        aim = 2.0**-r
        wanted = max(
            8 * mine / (M * aim**2), 8 * r * math.sqrt(2 * everybody) / (M**1.5 * EPSILON * aim)
        )
        new = max(math.ceil(wanted), total + 1) - total
        if t + len(active) * new > T:
            for slot in range(T - t):
                for _ in range(M):
                    pull(active[slot % len(active)])
            return regret
        t += len(active) * new
        latest = [[0.0] * arms for _ in range(M)]
        for i in range(M):
            for k in active:
                x = sum(pull(k) for _ in range(new)) / new
                latest[i][k] = x + laplace(1 / (M * EPSILON * new))
                kept[i][k] = (total * kept[i][k] + new * latest[i][k]) / (total + new)
        total += new
        own = [max((kept[i][k], -k, k) for k in active)[2] for i in range(M)]
        if t + DELAY > T:
            break
        t += DELAY
        for i in range(M):
            pull(own[i])
        shared = latest if variant == "printed" else kept
        average = {k: sum(row[k] for row in shared) / M for k in active}
        radius = math.sqrt(mine / (2 * M * total)) + r * math.sqrt(8 * everybody) / (
            M**1.5 * EPSILON * total
        )
        own = [max(active, key=lambda k: average[k])] * M
        active = [k for k in active if max(average.values()) - average[k] < 2 * radius]
    for i in range(M):
        for _ in range(T - t):
            pull(own[i] if len(active) > 1 else active[0])
    return regret


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_ddp_mab_is_the_plain_loop_of_its_pseudo_code(variant):
    draw = random.Random(9)
    slow = [ddp_mab(variant, draw) for _ in range(200)]
    plan = prepare({
        "system": "ddp-mab", "variant": variant, "seed": 9, "agents": {"count": M},
        "arms": {"kind": "bernoulli", "means": MEANS}, "topology": {"kind": "ring"},
        "parameters": {"horizon": T, "epsilon": EPSILON},
    })  # fmt: skip
    alike_on_average(slow, [memory.run(plan, number).regret for number in range(200)])


@examples(Path(__file__).with_name("li.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
