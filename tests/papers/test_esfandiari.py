"""Esfandiari et al. 2022: estimates and instances by hand; Algorithm 1 as a plain loop."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.engines import memory
from posse.plan import prepare
from posse_papers.esfandiari import figures, plain, theory
from posse_papers.esfandiari.figures import UNIFORM, anonymous, commit
from tests.support.conversations import examples
from tests.support.papers import GENERATOR, alike_on_average, measured


@given(st.integers(2, 30))
@example(6)
def test_variance_of_an_estimate_by_hand(size):
    """Members' means go from .1 to .9; the first is estimated, so the others count twice."""
    means = [0.1 + 0.8 * n / (size - 1) for n in range(size)]
    first, *others = (mean * (1 - mean) for mean in means)
    assert theory.exact_variance(size) == pytest.approx(first + 2 * sum(others))


@pytest.mark.parametrize(
    ("name", "cluster", "ratio"),
    [("greedy", 6, 4), ("lp", 12, 2), ("lp", 24, 1), ("random", 24, 1)],
)
def test_a_decomposition_serves_its_demand(name, cluster, ratio):
    found = theory.decompose(name, cluster, generator=GENERATOR(1))
    assert found["ratio"] <= ratio
    assert found["informed"] >= 1
    # the random one by chance, so that it takes more than D assignments
    assert name != "random" or found["rounds"] > 1


@pytest.mark.parametrize("of", [anonymous, commit])
def test_the_experiments_sums_are_those_of_masks(of):
    raw = {**of(12, {**UNIFORM, "count": 3}, 600, 3), "seed": 1}
    masked = {**raw, "parameters": {**raw["parameters"], "aggregation": "masked"}}
    one, other = (memory.run(prepare(each), 0) for each in (raw, masked))
    assert one.regret_curve == other.regret_curve


@pytest.mark.parametrize(
    ("regrets", "answer"),
    [
        ([100.0, 110.0, 120.0], "holds"),
        ([120.0, 135.0, 150.0], "open"),  # 13.5 on average
        ([150.0, 151.0, 152.0], "fails"),
        ([60.0, 61.0, 62.0], "fails"),
        ([110.0], "open"),  # of a single run there is no interval
    ],
)
def test_about_ten_times_by_the_interval_of_runs(regrets, answer):
    worse = {0: [1000.0] * len(regrets)}
    lines = {"random": worse, "lp": worse, "explore-then-commit": worse, "greedy": {0: regrets}}
    best = {0: [10.0] * len(regrets)}
    runs = measured(**{f"a: {name}": of for name, of in {**lines, "parallel UCB": best}.items()})
    found = figures.ten_times("a", 0.4)(runs)
    assert found.held == answer
    assert found.said.startswith("greedy: ratio ")


MEANS = [[0.9, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
"""Arm 2 is soon alive for two users alone, where the printed form aborts."""
N, K, C, T, RATE = 8, 3, 2, 3000, 0.05


def split(users: list[int]) -> list[list[int]]:
    """Groups of C + 1 to 2C + 1, as equal as can be."""
    count = len(users) // (C + 1)
    return [users[q::count] for q in range(count)] if count else []


def algorithm_1(variant: str, draw: random.Random) -> float:
    """Algorithm 1 with the greedy decomposition, round by round: the regret of all users.

    Printed, it aborts where an arm is alive for 1 to C users; corrected goes on without it.
    """
    mu = [MEANS[i % 3] for i in range(N)]
    horizon = T / (K * (2 * C + 2))
    count = math.ceil(math.log2(math.log2(horizon)))
    ends = [horizon ** (1 / (2 - 2 ** (1 - count)))]
    while len(ends) < count:
        ends.append(ends[0] * math.sqrt(ends[-1]))
    ends = [0, *(math.floor(end + 1e-9) for end in ends)]
    alive = [set(range(K)) for _ in range(N)]
    sums = [[0.0] * K for _ in range(N)]
    taken = [[0.0] * K for _ in range(N)]
    left, regret = T, 0.0

    def mean(i: int, j: int) -> float:
        return sums[i][j] / taken[i][j] if taken[i][j] else -math.inf

    for b in range(1, count):
        if all(len(a) == 1 for a in alive):
            break
        demand = ends[b] - ends[b - 1]
        room = [math.ceil(demand / len(a)) for a in alive]
        room = [[room[i]] * K for i in range(N)]
        wanted = [sum(j in a for a in alive) for j in range(K)]
        if variant == "printed" and any(0 < w <= C for w in wanted):
            break
        plan = []
        for j in range(K):
            if wanted[j] <= C:
                continue
            draws = 1 if wanted[j] == N else min(demand, 64)
            for number in range(draws):
                copies = demand // draws + (number < demand % draws)
                arms = [j if j in a else draw.choice(sorted(a)) for a in alive]
                plan.append((arms, copies))
        for arms, wished in plan:
            copies = min(wished, left // (2 * C + 2))
            if not copies:
                break
            left -= copies * (2 * C + 2)
            regret += copies * (2 * C + 2) * sum(max(mu[i]) - mu[i][arms[i]] for i in range(N))
            for j in set(arms):
                users = [i for i in range(N) if arms[i] == j]
                draw.shuffle(users)
                for group in split(users):
                    totals = [0.0] * len(group)
                    for _ in range(copies):
                        whole = sum(draw.random() < mu[i][j] for i in group)
                        for s in range(len(group)):
                            rest = sum(draw.random() < mu[i][j] for i in group if i != group[s])
                            totals[s] += whole - rest
                    for i, total in zip(group, totals, strict=True):
                        used = min(room[i][j], copies)
                        room[i][j] -= used
                        sums[i][j] += used * total / copies
                        taken[i][j] += used
        for i in range(N):
            best = max(sorted(alive[i]), key=lambda j: mean(i, j))
            for j in sorted(alive[i]):
                least = min(taken[i][j], taken[i][best])
                if j == best or not least:
                    continue
                width = math.sqrt(RATE * (4 * C + 1) * math.log(horizon * K * N) / least)
                if mean(i, best) - mean(i, j) >= width:
                    alive[i].discard(j)
    for i in range(N):
        top = max(mean(i, j) for j in alive[i])
        arm = draw.choice([j for j in sorted(alive[i]) if mean(i, j) == top])
        regret += left * (max(mu[i]) - mu[i][arm])
    return regret


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_algorithm_1_is_the_plain_loop_of_its_pseudo_code(variant):
    draw = random.Random(8)
    slow = [algorithm_1(variant, draw) for _ in range(150)]
    plan = prepare({
        "system": "anonymous", "variant": variant, "seed": 8, "agents": {"count": N},
        "arms": {"kind": "bernoulli", "means": [MEANS[i % 3] for i in range(N)]},
        "parameters": {"horizon": T, "group_size": C, "decomposition": "greedy",
                       "feedback": "demand", "learning_rate": RATE},
    })  # fmt: skip
    alike_on_average(slow, [memory.run(plan, number).regret for number in range(150)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "more"),
    [
        ("anonymous", {"group_size": 2, "learning_rate": 0.05, "decomposition": "greedy"}),
        ("explore-then-commit", {"group_size": 2, "learning_rate": 0.1}),
        ("parallel-ucb", {}),
    ],
)
def test_plain_numbers_have_the_regret_of_the_system(system, more):
    raw = figures.run(system, 8, [MEANS[i % 3] for i in range(8)], 600, **more)
    if system != "parallel-ucb":
        raw["parameters"]["aggregation"] = "sink"
    plan = prepare({**raw, "seed": 5, "variant": "corrected"})
    drawn = [plain.played(raw, generator=GENERATOR(n)) for n in range(12)]
    assert all(one["curve"][-1] == [600.0, one["value"]] for one in drawn)
    alike_on_average(
        [one["value"] for one in drawn], [memory.run(plan, number).regret for number in range(12)]
    )


@examples(Path(__file__).with_name("esfandiari.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
