"""Li and Song 2022: conditions, delays and costs by hand; Algorithm 3 as a plain loop."""

import math
import random

import numpy as np
import pytest

from posse.engines import memory
from posse.plan import prepare
from posse_papers.li import compared, figures, proofs, theory
from posse_papers.sample import Sample, regret
from posse_papers.statements import Measured
from posse_systems.algorithms import from_edges, ring
from tests.support.papers import GENERATOR, alike_on_average


def test_the_solution_loses_nothing_and_the_prints_do():
    for p in (0.2, 1.0):
        solved = theory.loss("2 log T / log(M p^1.5)", p)
        assert solved == pytest.approx(1.0)
    assert theory.loss("log T / log pM", 1.0) == pytest.approx(50)


def test_the_deviation_of_noise_in_a_late_round():
    found = [theory.deviation(3, generator=GENERATOR(n)) for n in (1, 2)]
    assert found == pytest.approx([1, 1], abs=0.25)


def test_the_cost_of_a_round_by_edges():
    # five complete graphs of 20: 5 · 190 edges and five links of cost 50
    assert figures.by_edges("case 1: five complete") == 950 + 250
    assert figures.by_edges("case 6: alone") == 5000


def test_bounds_on_the_diameter_by_eigenvalues_known_by_hand():
    def bound(kind: str, reading: str, agents: int) -> float:
        return theory.bound_on_distance(agents, kind, reading, generator=GENERATOR(0))

    # a ring's Laplacian has 1 - cos(2π/M); K_n,n has -1, 0 and 1; all but one has 0 and -2/(M - 2)
    for agents, ratio in ((10, 3.6), (50, 31), (100, 68)):
        second = 1 - math.cos(2 * math.pi / agents)
        exact = math.log(agents) / math.log(1 / second) / (agents // 2)
        assert bound("ring", "Laplacian", agents) == pytest.approx(exact)
        assert 1 / exact == pytest.approx(ratio, rel=0.01)
    assert bound("bipartite", "second", 8) == 0.0
    exact = math.log(10) / math.log(4) / 2
    assert bound("all but one", "absolute", 10) == pytest.approx(exact)
    assert exact < 1
    assert bound("all but one", "Chung", 10) == 1.0


def test_equation_33_is_the_sum_of_a_geometric_series():
    for rounds, gap in ((1, 0.5), (5, 0.5), (7, 0.1)):
        series = sum(gap ** (r / rounds) for r in range(rounds))
        assert theory.delay_factor(rounds, gap) == pytest.approx(series + rounds / 1e6)
    assert theory.delay_factor(5, 0.5) == pytest.approx(3.86, abs=0.005)


def test_a_complete_graph_of_a_hundred_has_as_many_links_as_pairs():
    assert figures.by_links(100) == sum(1 for i in range(100) for j in range(i)) == 4950


def test_a_star_waits_one_slot():
    found = theory.waiting("star", 10, generator=GENERATOR(3))
    assert found["value"] == pytest.approx(found["regret"] / 20)
    assert found["value"] < 1


@pytest.mark.parametrize(
    ("of", "answer"),
    [(lambda t: 500 + t / 1e4, "holds"), (lambda t: 50 * math.log(1 + t), "fails")],
)
def test_what_is_linear_once_the_own_arm_is_found(of, answer):
    runs = Measured("corrected", regret)
    times = [1e4 * i for i in range(101)]
    runs.runs["a", 0.0] = [
        Sample(status="horizon", curve=[[t, scale * of(t)] for t in times]) for scale in (1, 1.1)
    ]
    assert figures.linear("a")(runs).held == answer


def test_gossip_mixes_without_losing_anything():
    mixing = compared.weights(ring(5))
    assert mixing == pytest.approx(mixing.T)
    assert mixing.sum(axis=1) == pytest.approx(np.ones(5))
    assert mixing[0].tolist() == pytest.approx([1 / 3, 1 / 3, 0, 0, 1 / 3])


def test_gossip_uses_each_edge_in_each_slot_and_loses_by_its_noise():
    noisy, exact = (
        compared.gossip(300, private, generator=GENERATOR(1)) for private in (True, False)
    )
    assert noisy["value"] == exact["value"] == 300 * 8
    assert noisy["regret"] > exact["regret"] > 0


def test_a_multi_star_links_its_centres():
    graph = from_edges(20, ((i, j) for i, j in compared.several_stars(4, 4)))
    assert (graph.size, graph.diameter, sorted(graph.degrees)) == (22, 3, [1] * 16 + [7] * 4)


def test_the_proofs_sum_falls_with_rounds_and_grows_with_fewer_agents():
    at = [theory.equation_26("p=1", r) for r in (2, 3, 4, 5)]
    assert at == sorted(at, reverse=True)
    assert theory.equation_26("p=0.6", 3) > at[1]


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


def test_steps_of_the_proofs_by_hand():
    # one noise: e^(-sqrt(8 log 8KT)) against 1/(4KT)
    alone = math.exp(-math.sqrt(8 * math.log(8e7))) * 4e7
    assert proofs.over_promised(1) == pytest.approx(alone)
    # two: (1 + x/2) e^-x
    x = math.sqrt(16 * math.log(8e7))
    assert proofs.over_promised(2) == pytest.approx((1 + x / 2) * math.exp(-x) * 4e7, rel=1e-6)
    # Δ = .3: r = 3, 8 · 64 against 16 / .09
    assert proofs.pulls_over_printed(0.3) == pytest.approx(512 * 0.09 / 16)
    assert proofs.epochs_over_rounds(0.5) == 2
    assert proofs.sum_over_printed(0.5) == (1 + 0.5) / 1
    # 16 log(8 · 10 · 10⁶ · 2²) / (2000 / 4) = .63 pulls
    allowed = 64 * math.log(3.2e8) / 2000
    assert proofs.one_pull_over_printed(2000) == pytest.approx(1 / allowed)
    # .3 lies above 2^-2 and is out after ⌈2.74⌉ rounds; .5 lies above 2^-2 and is out after 2
    assert proofs.rounds_over_stated(0.3) == 3 / 2
    assert proofs.rounds_over_stated(0.5) == 1
    assert proofs.rounds_over_stated(0.3, 2.0) == 1
