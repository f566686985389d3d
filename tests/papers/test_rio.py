"""Rio et al. 2023: what is measured of a run, by hand; Algorithm 3 as a plain loop."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.engines import memory
from posse.plan import prepare
from posse_papers.rio import theory
from tests.support.conversations import examples
from tests.support.papers import alike_on_average

MEANS, ETA, XI, DELTA, N = [0.9, 0.3, 0.2], 0.6, 0.15, 0.2, 12


def corrupted_elimination(variant: str, draw: random.Random) -> tuple[int, int]:
    """Algorithm 3 (appendix B.2) line by line: rounds, and the arm that is left.

    Printed: M from log η, λ_k > M, and line 12 synchronises the active agent after line 10.
    Corrected: M from log η_ξ, λ_k >= M, and all agents are synchronised at once.
    """
    printed, arms = variant == "printed", len(MEANS)
    eta = 1 - (1 - ETA) / (1 - XI) ** (arms - 1)
    needed = math.ceil(math.log(DELTA) / math.log(ETA if printed else eta)) + printed
    alive = set(range(arms))
    local = [set(range(arms)) for _ in range(N)]
    sums = [[0.0] * arms for _ in range(N)]
    active, times, votes, t = list(range(N)), [0] * N, [0] * arms, 0
    while len(alive) > 1 and active:
        n = draw.choice(active)  # line 5
        t += 1
        times[n] += 1
        for k in local[n]:  # line 6
            sums[n][k] += draw.random() < MEANS[k]
        means = {k: sums[n][k] / times[n] for k in local[n]}
        radius = math.sqrt(math.log(arms * times[n] ** 2 / eta) / times[n])
        out = [k for k in sorted(means) if max(means.values()) - means[k] >= 2 * radius]  # line 7
        local[n] -= set(out)  # line 8
        for k in out:  # line 9
            votes[k] += draw.random() < 1 - XI
        if len(local[n]) == 1:  # line 10
            active.remove(n)
        elif printed:  # line 12
            local[n] &= alive
        for k in out:  # line 13
            if votes[k] >= needed and len(alive) > 1:
                alive.discard(k)
        if not printed:
            for m in list(active):
                local[m] &= alive
                if len(local[m]) <= 1:
                    active.remove(m)
    return t, min(alive, key=lambda k: votes[k])


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_corrupted_elimination_is_the_plain_loop_of_its_pseudo_code(variant):
    draw = random.Random(5)
    slow = [corrupted_elimination(variant, draw) for _ in range(300)]
    plan = prepare({
        "system": "corrupted-elimination", "variant": variant, "seed": 5,
        "agents": {"count": N}, "arms": {"kind": "bernoulli", "means": MEANS},
        "parameters": {"eta": ETA, "xi": XI, "delta": DELTA},
    })  # fmt: skip
    runs = [memory.run(plan, number) for number in range(300)]
    assert {arm for _, arm in slow} == {run.best_arm for run in runs} == {0}
    alike_on_average([t for t, _ in slow], [run.rounds for run in runs])


def test_the_yardsticks_of_private_identification_between_their_limits():
    # ε → 0: T_TV / ε = 1/Δ_2 + Σ 1/Δ_a; without privacy two arms as by a plain search of weights
    log = theory.divergence(math.inf, 0.05, 0.95)
    assert log == pytest.approx(0.9 * math.log(19))
    little = theory.private_bound(1e-4, [0.9, 0.6, 0.5]) * 3e-4 / log
    assert little == pytest.approx(2 / 0.3 + 1 / 0.4, rel=1e-3)

    def by_chance(weight: float) -> float:
        x = weight * 0.9 + (1 - weight) * 0.6
        apart = (theory.divergence(math.inf, mean, x) for mean in (0.9, 0.6))
        return weight * next(apart) + (1 - weight) * next(apart)

    hardest = max(by_chance(weight / 1000) for weight in range(1, 1000))
    assert theory.private_bound(math.inf, [0.9, 0.6]) * 2 / log == pytest.approx(1 / hardest, 1e-4)
    rounds = [theory.private_bound(epsilon) for epsilon in (0.1, 1.0, 10.0, math.inf)]
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[2] == pytest.approx(rounds[3])


@given(p=st.floats(0.01, 0.99), q=st.floats(0.01, 0.99), epsilon=st.floats(0.01, 5))
def test_privacy_makes_two_means_no_easier_to_tell_apart(p, q, epsilon):
    """By a grid over z, of inf kl(z, q) + ε |p - z|."""
    grid = np.linspace(min(p, q), max(p, q), 2_001)
    slow = (grid * np.log(grid / q) + (1 - grid) * np.log((1 - grid) / (1 - q))).clip(0)
    slow += epsilon * abs(p - grid)
    assert theory.divergence(epsilon, p, q) == pytest.approx(slow.min(), rel=1e-3, abs=1e-5)
    assert slow.min() <= theory.divergence(math.inf, p, q) + 1e-5


@examples(Path(__file__).with_name("rio.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
