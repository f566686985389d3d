"""The hybrid mechanism against Algorithm 4 of Chan, Shi and Song, item by item."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.agent.hybrid import HybridNodes, HybridSums
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import total_cost
from tests.support.loops import loops_of
from tests.support.noise import KnownNoise, NoNoise

SPLITS = ("half", "tossou")


algorithm_4 = loops_of("agent/hybrid.py")["algorithm_4"]


@pytest.mark.parametrize("mechanism", [HybridSums, HybridNodes])
@pytest.mark.parametrize("split", SPLITS)
@given(
    stream=st.lists(st.floats(0, 1), min_size=1, max_size=700),
    seed=st.integers(0, 2**32),
)
@example(stream=[0.3, 0.9] * 1400, seed=1)  # batches of noise that build on earlier ones
@settings(max_examples=25)
def test_releases_are_those_of_algorithm_4(mechanism, split, stream, seed):
    sums = mechanism(1, 0.7, split, SeededNoise(np.random.default_rng(seed)))
    ours = [float(sums.insert(0, x)[0]) for x in stream]
    theirs = algorithm_4(stream, 0.7, split, np.random.default_rng(seed))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-7)


def test_the_fields_form_hides_each_sum_whole_and_by_its_own_scale():
    """Items 1, 2, 4, 8, …: what a sum covers can be read off it; each is hidden exactly once."""
    T, noise = 64, KnownNoise()
    sums = HybridNodes(1, 0.5, "half", noise)
    for t in range(1, T + 1):
        sums.insert(0, float(2 ** (t - 1)))
    covered = [int(values[0]) for values, _, _ in noise.asked]
    assert len(covered) == T
    for t, (items, (_, sensitivity, scale)) in enumerate(
        zip(covered, noise.asked, strict=True), start=1
    ):
        T0 = 2 ** (t.bit_length() - 1)
        assert sensitivity == 1.0
        if t == T0:  # the items since the doubling before
            first = t // 2 + 1
            assert scale == 2 / 0.5
        else:  # as many as the lowest set bit of t - T0 says, ending with t
            tau = t - T0
            first = t - (tau & -tau) + 1
            assert scale == 2 * math.log2(T0) / 0.5
        assert items == sum(2 ** (i - 1) for i in range(first, t + 1))


class Labels(NoNoise):
    """Noise whose d-th number is the d-th unit vector, so that a release shows what is in it."""

    def __init__(self, streams):
        self.streams, self.scales = streams, []

    def laplace(self, scale, size):
        steps = size // self.streams
        first = len(self.scales)
        self.scales += [scale] * steps
        return np.eye(self.streams)[first : first + steps].ravel()


def parts(T, epsilon, split):
    """A, shape (T, T): which noise each of T releases holds; the scale of each."""
    noise = Labels(T)
    sums = HybridSums(T, epsilon, split, noise)
    return np.array([sums.insert(0, 0.0) for _ in range(T)]), np.array(noise.scales)


@pytest.mark.parametrize("split", SPLITS)
def test_membership_and_exact_privacy_loss(split):
    """Moving one item by 1 moves the noise that explains the releases by z, the solution of
    A z = (1 from the item on). Noise and releases determine each other, so the greatest
    log-likelihood ratio of the two streams is exactly the sum of |z_d| / scale_d."""
    T, epsilon = 256, 0.3
    A, scales = parts(T, epsilon, split)
    times = np.arange(1, T + 1)
    Z = np.linalg.solve(A, (times[:, None] >= times[None, :]).astype(float)).round(9)
    assert ((Z == 0) | (Z == 1)).all()
    doubling = (times & (times - 1)) == 0
    in_log = Z[doubling].sum(axis=0)
    in_nodes = Z[~doubling].sum(axis=0)
    assert (in_log == 1).all()
    T0 = 2 ** np.floor(np.log2(times))
    assert (in_nodes <= np.log2(T0)).all()
    # tight: the first item of an epoch is in a node of every level
    first = np.flatnonzero(doubling)[1:-1] + 1
    np.testing.assert_array_equal(in_nodes[first], np.log2(T0[first]))
    loss = (Z / scales[:, None]).sum(axis=0)
    if split == "half":
        assert loss.max() == pytest.approx(epsilon)
    else:
        assert loss.max() == pytest.approx((1 + 1 / math.log(2)) * epsilon)
        assert loss.max() > 2.4 * epsilon


@pytest.mark.parametrize(("split", "share"), [("half", 1.0), ("tossou", 1 + 1 / math.log(2))])
def test_the_ledger_adds_up_to_what_one_reward_costs(split, share):
    sums = HybridSums(1, 0.4, split, SeededNoise(np.random.default_rng(0)))
    ledger = []
    for _ in range(1000):
        sums.insert(0, 1.0)
        ledger += sums.new_releases()
    assert len(ledger) == 10 + 9  # doublings 1 to 512; a tree from each but the first
    assert total_cost(ledger) == pytest.approx(0.4 * share)


def test_memory_is_logarithmic():
    sums = HybridSums(2, 1.0, "half", SeededNoise(np.random.default_rng(0)))
    for t in range(1, 5000):
        sums.insert(0, 1.0)
        assert len(sums.levels) == math.floor(math.log2(t)) + 1
        assert len(sums.ahead) <= 257
