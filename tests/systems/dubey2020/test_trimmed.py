"""The trimmed estimator against a slow form that sorts everything."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse_systems.dubey2020.trimmed import MOST_CELLS, TrimmedMeans
from tests.support.loops import loops_of

slow = loops_of("systems/posse_systems/dubey2020/trimmed.py")["estimate"]


@settings(max_examples=80)
@given(
    st.lists(st.sampled_from([0.0, 0.25, 1.0, 10.0]), min_size=1, max_size=120),
    st.sampled_from([0.0, 0.001, 0.1]),
    st.integers(1, 40),
    st.sampled_from(["corrected", "printed"]),
    st.integers(0, 120),
)
def test_against_sorting_everything(samples, epsilon, t, variant, first) -> None:
    """In whatever two batches they come."""
    delta = 1 / (t + 1) ** 2
    kept = TrimmedMeans(2, variant)
    for batch in (samples[:first], samples[first:]):
        kept.add(np.zeros(len(batch), dtype=np.int64), np.array(batch))
    kept.add(np.array([1]), np.array([0.5]))
    estimate = kept.estimate(epsilon, [delta])[0]
    assert estimate[0] == pytest.approx(slow(samples, epsilon, delta, variant))
    assert estimate[1] == 0.5


def _bernoulli(mu, N, variant):
    ones = round(mu * N)
    halves = [1.0] * ones + [0.0] * (N - ones)
    kept = TrimmedMeans(1, variant)
    kept.add(np.zeros(2 * N, dtype=np.int64), np.repeat(halves, 2))
    return kept.estimate(0.001, [1e-6])[0, 0]


def test_small_samples_as_printed_are_one_atom_and_corrected_are_not() -> None:
    assert _bernoulli(0.3, 100, "printed") == 0.0
    assert _bernoulli(0.7, 70, "printed") == 0.0
    assert _bernoulli(0.7, 130, "printed") == 1.0
    for mu, N in ((0.3, 100), (0.7, 70), (0.7, 130), (0.3, 400)):
        assert _bernoulli(mu, N, "corrected") == pytest.approx(mu, abs=0.01)


def test_winsorised_against_sorting() -> None:
    random = np.random.default_rng(4)
    rewards = random.normal(size=400)
    kept = TrimmedMeans(1, winsor=True)
    kept.add(np.zeros(400, dtype=np.int64), rewards)
    X, Y, N = rewards[0::2], np.sort(rewards[1::2]), 200
    alpha = max(0.05, math.log(100) / N)
    low, high = Y[math.ceil(alpha * N) - 1], Y[math.ceil((1 - alpha) * N) - 1]
    assert kept.estimate(0.05, [0.01])[0, 0] == pytest.approx(np.clip(X, low, high).mean())


def test_cells_stay_few_and_the_estimate_near() -> None:
    random = np.random.default_rng(5)
    kept = TrimmedMeans(1)
    rewards = random.random(20_000)
    for part in np.split(rewards, 20):
        kept.add(np.zeros(len(part), dtype=np.int64), part)
        assert len(kept.cells) <= MOST_CELLS
    assert kept.x.sum() + kept.y.sum() == 20_000
    assert kept.width <= 1 / 256
    assert kept.totals[0, 0] == pytest.approx(rewards.sum())
    assert kept.estimate(0.01, [1e-4])[0, 0] == pytest.approx(0.5, abs=0.03)


def test_far_outliers_do_not_make_all_others_one_cell() -> None:
    random = np.random.default_rng(6)
    rewards = np.concatenate([random.random(3000), [1e12, -1e12]])
    kept = TrimmedMeans(1)
    kept.add(np.zeros(len(rewards), dtype=np.int64), rewards)
    assert 200 < len(kept.cells) <= MOST_CELLS
    assert kept.width < 0.02


@pytest.mark.parametrize("values", [3, 200, 5_000])
@pytest.mark.parametrize(
    ("variant", "winsor"), [("corrected", False), ("printed", False), ("printed", True)]
)
def test_rows_kept_together_are_as_each_by_itself(values, variant, winsor) -> None:
    """To the bit, also where a row lacks what others have seen, and until all have too much."""
    random = np.random.default_rng(7)
    together, each = TrimmedMeans(3, variant, winsor, 4), []
    for _ in range(4):
        each.append(TrimmedMeans(3, variant, winsor))
    parts, seen = [together], random.normal(size=values)
    for _ in range(70):
        row = np.repeat(range(4), random.integers(3, 12, size=4))
        arms = np.concatenate([np.arange(n) % 3 for n in np.bincount(row)])
        rewards = random.choice(seen, len(row))
        if len(parts) > 1 or not together.add(arms, rewards, row):
            parts = together.split_rows() if len(parts) == 1 else parts
            for r in range(4):
                parts[r].add(arms[row == r], rewards[row == r])
        alone = []
        for r in range(4):
            each[r].add(arms[row == r], rewards[row == r])
            alone.append(each[r].estimate(0.01, [0.2]).tolist()[0])
        if len(parts) == 1:
            assert together.estimate(0.01, [0.2] * 4, range(4)).tolist() == alone
            assert together.estimate(0.01, [0.2] * 2, (1, 3)).tolist() == alone[1::2]
        else:
            assert [part.estimate(0.01, [0.2]).tolist()[0] for part in parts] == alone
    assert (len(parts) == 1) == (values < MOST_CELLS)
