"""Private cooperation that bears liars: the two radii, the estimate, and what no lie can do."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.protocol.noise import SeededNoise
from posse_systems.dubey2020.messages import doubling_counts, episode_radius
from posse_systems.dubey2020.robust import RobustMeans, radii


def learner(agents: int, liars: int, arms: int = 2, epsilon: float = 1.0) -> RobustMeans:
    means = RobustMeans(
        arms, np.random.default_rng(0), agents=agents, epsilon=epsilon, liars=liars,
        noise=SeededNoise(np.random.default_rng(1)), releases=doubling_counts(1000),
    )  # fmt: skip
    means.add_origins(np.arange(agents))
    return means


def width(log_1_p: float, s: int, epsilon: float) -> float:
    return math.sqrt((log_1_p + math.log(2)) / (2 * s)) + log_1_p / (epsilon * s)


@settings(max_examples=12)
@given(st.integers(20, 300), st.integers(5, 60), st.integers(0, 3), st.floats(0.1, 4.0))
def test_the_radius_is_the_smaller_of_the_two(t, agents, liars, epsilon) -> None:
    radius, cut = radii(t, agents, liars, epsilon)
    assert radius.shape == (agents + 1, t.bit_length())
    log_t, chosen = math.log(t), set()
    for m in range(agents + 1):
        for i in range(t.bit_length()):
            s = 2**i
            if m <= 2 * liars:
                assert radius[m, i] == math.inf
                continue
            honest = math.sqrt(m * log_t / s) + 2 * math.sqrt(m) * log_t / (epsilon * s)
            farthest = width(math.log(m * t**2), s, epsilon)
            trimmed = (honest + 3 * liars * farthest) / (m - 2 * liars)
            middle = (m - 1) // 2
            room = middle - liars + 1
            median = width(1 + math.log(m / room) + 2 * log_t / room, s, epsilon)
            assert radius[m, i] == pytest.approx(min(trimmed, median))
            assert cut[m, i] == (liars if trimmed <= median else middle)
            chosen.add("trimmed" if trimmed <= median else "median")
    assert liars or chosen <= {"trimmed"}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), liars=st.integers(0, 3), more=st.integers(1, 5))
def test_lies_move_the_estimate_to_no_place_without_honest_means(data, liars, more) -> None:
    """Whatever L agents say, of means and of counts, the rest is between honest means."""
    honest = 2 * liars + more
    one = learner(honest + liars, liars, arms=1)
    means = data.draw(st.lists(st.floats(-5, 5), min_size=honest, max_size=honest))
    lies = data.draw(st.lists(st.floats(-1e9, 1e9), min_size=liars, max_size=liars))
    claims = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=liars, max_size=liars))
    for origin, (mean, count) in enumerate(
        [*((mean, 64) for mean in means), *zip(lies, claims, strict=True)]
    ):
        one.counts[origin, 0], one.weighted[origin, 0] = count, count * mean
    (bound,) = one.index(1000)
    most = radii(1000, honest + liars + 1, liars, 1.0)[0][honest : honest + liars + 1]
    assert min(means) - 1e-6 <= bound <= max(means) + most.max() + 1e-6


@given(st.integers(0, 2**32 - 1), st.floats(-1e9, 1e9), st.integers(2, 10**6))
@example(100, 1e6, 200)
def test_no_lie_raises_an_arm_above_the_agents_own_bound(count, mean, t) -> None:
    one = learner(agents=5, liars=1)
    for _ in range(64):
        one.learn(0, 0.5)
        one.learn(1, 0.5)
    own = one.released_sums / 32 + episode_radius(2 * math.log(t), np.full(2, 32.0), 1.0)
    one.counts[:], one.weighted[:] = count, count * mean
    assert (one.index(t) <= own).all()


def test_an_arm_that_the_agent_has_no_mean_of_comes_first() -> None:
    one = learner(agents=3, liars=0)
    one.learn(1, 1.0)
    assert one.choose(9) == 0


@pytest.mark.parametrize("liars", [0, 3])
def test_the_bound_is_rarely_below_the_mean(liars) -> None:
    """At t = 8 each of the two bounds fails with probability at most 2 t^-2, so .0625 together.

    2,000 arms, each with means of 20 others, `liars` of whom say the least they can.
    """
    draws, mu, others, arms = np.random.default_rng(7), 0.5, 20, 2000
    one = learner(others, liars, arms)
    said = draws.binomial(64, mu, (others, arms)) / 64 + draws.laplace(0, 1 / 64, (others, arms))
    said[:liars] = -1e6
    one.counts[:], one.weighted[:] = 64, 64 * said
    one.released_counts[:] = 64
    own = draws.binomial(64, mu, arms) / 64 + draws.laplace(0, 1 / 64, arms)
    one.released_sums[:] = 64 * own
    bounds = one.index(8)
    assert (bounds < mu).mean() < 0.0625 + 4 * math.sqrt(0.0625 / arms)
    assert (bounds < own.max() + 10).all()
