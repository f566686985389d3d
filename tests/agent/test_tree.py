"""Binary trees of sums against the tree drawn as intervals, and Honaker's estimate against least
squares."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.agent.hybrid import HybridNodes, HybridSums
from posse.agent.tree import HonakerSums, TreeSums
from posse.protocol.estimates import counted_privately, observed
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import total_cost
from tests.support.noise import NoNoise, deviation

TREES = (TreeSums, HonakerSums)


@pytest.mark.parametrize("t", [1, 2, 3, 16, 23, 31])
@pytest.mark.parametrize(
    "make",
    [
        lambda noise: HybridSums(4_000, 0.7, "half", noise),
        lambda noise: HybridNodes(4_000, 0.7, "tossou", noise),
        lambda noise: TreeSums(4_000, 0.7, 31, noise),
        lambda noise: HonakerSums(4_000, 0.7, 31, noise),
    ],
)
def test_a_release_has_the_noise_that_it_says(make, t):
    """4,000 streams of zeros: the variance is 2 Σ b_i², within 5 standard errors (.028 each).

    A mean of t rewards of 0 stays inside the noise's half of the interval but in 2.5 % / (t (t +
    1)) of the streams.
    """
    sums = make(SeededNoise(np.random.default_rng(t)))
    for _ in range(t):
        noise = sums.insert(0, 0.0)
    spread, largest = sums.noise_scales
    assert noise.var() == pytest.approx(2 * spread**2, rel=0.14)
    told = counted_privately(0, 0.0, t, 1, look=t, spread=spread, largest=largest)
    half = told.high - observed(0, 0.0, t, 2).high
    assert (np.abs(noise) / t > half).mean() <= 0.025 / (t * (t + 1))


class Watched(NoNoise):
    """Noise by item: the d-th number hidden is given the d-th draw; what it hid is kept."""

    def __init__(self, draws):
        self.draws, self.hidden, self.scales = iter(draws), [], []

    def noisy(self, values, sensitivity, scale):
        assert sensitivity == 1.0
        self.hidden.append(float(values[0]))
        self.scales.append(scale)
        return values + next(self.draws)


def intervals(t):
    """The dyadic intervals that make up 1..t, first the longest: (first item, how many)."""
    out, first = [], 1
    for j in reversed(range(t.bit_length())):
        if t >> j & 1:
            out.append((first, 2**j))
            first += 2**j
    return out


@pytest.mark.parametrize("tree", TREES)
def test_each_item_is_in_one_node_of_each_level_and_costs_epsilon(tree):
    """Items 1, 2, 4, …: what a node covers can be read off it. All nodes together determine the
    releases, so that the loss is at most the sum of 1/scale over the nodes of an item."""
    T, epsilon = 45, 0.7
    noise = Watched([0.0] * 4 * T)
    sums = tree(1, epsilon, T, noise)
    ledger = []
    for t in range(1, T + 1):
        assert sums.insert(0, float(2 ** (t - 1)))[0] == 2**t - 1  # without noise: the sum
        ledger += sums.new_releases()
    loss = np.zeros(T)
    for items, scale in zip(noise.hidden, noise.scales, strict=True):
        covered = [t for t in range(T) if int(items) >> t & 1]
        assert covered == list(range(covered[0], covered[-1] + 1))
        assert len(covered) == 2 ** int(math.log2(len(covered)))
        loss[covered] += 1 / scale
    assert loss.max() == pytest.approx(epsilon)  # the first item is in a node of every level
    assert total_cost(ledger) == pytest.approx(epsilon)
    (release,) = ledger
    assert release.sensitivity / release.scale == pytest.approx(release.epsilon)


@given(
    stream=st.lists(st.floats(0, 1), min_size=1, max_size=200),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=25)
def test_a_release_adds_the_nodes_of_the_set_bits_of_t(stream, seed):
    draws = np.random.default_rng(seed).laplace(size=len(stream))
    sums = TreeSums(1, 1.0, len(stream), Watched(draws))
    for t, x in enumerate(stream, start=1):
        released = float(sums.insert(0, x)[0])
        # the node that ends at item e is noised when e comes, by the e-th draw
        noise = sum(draws[first + length - 2] for first, length in intervals(t))
        assert released == pytest.approx(sum(stream[:t]) + noise, abs=1e-9)


@settings(max_examples=20)
@given(st.integers(1, 40))
def test_honakers_estimate_is_the_least_squares_of_the_nodes_below(t):
    """All nodes have one variance, so the best linear estimate of an interval's sum from the nodes
    inside it is ordinary least squares on the items."""
    stream = np.random.default_rng(3).random(t)
    draws = np.random.default_rng(4).laplace(size=4 * t)
    noise = Watched(draws)
    sums = HonakerSums(1, 1.0, t, noise)
    for x in stream:
        released = float(sums.insert(0, x)[0])
    nodes = []  # in the order in which they are complete: after item e its leaf, then upwards
    for e in range(1, t + 1):
        nodes += [(e - 2**j + 1, 2**j) for j in range((e & -e).bit_length())]
    noisy = np.array(noise.hidden) + draws[: len(nodes)]
    total = 0.0
    for first, length in intervals(t):
        inside = [i for i, (a, n) in enumerate(nodes) if first <= a and a + n <= first + length]
        rows = np.zeros((len(inside), length))
        for row, i in zip(rows, inside, strict=True):
            a, n = nodes[i]
            row[a - first : a - first + n] = 1
        total += np.linalg.lstsq(rows, noisy[inside], rcond=None)[0].sum()
    assert released == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("make", [
    lambda noise: HybridSums(20_000, 0.5, "half", noise),
    lambda noise: TreeSums(20_000, 0.5, 128, noise),
    lambda noise: HonakerSums(20_000, 0.5, 128, noise),
])  # fmt: skip
@pytest.mark.parametrize("t", [1, 2, 64, 100, 127])
def test_the_deviation_is_that_of_the_noise(make, t):
    """20,000 streams, one seed. The kurtosis is at most 6, so that a sample's deviation has a
    relative standard error of at most .8 %: four of them, 1 in 16,000."""
    counter = make(SeededNoise(np.random.default_rng(7)))
    for _ in range(t):
        noise = counter.insert(0, 0.0)
    assert noise.std() == pytest.approx(deviation(counter), rel=0.032)


def test_the_error_of_the_three_counters():
    """ε = 1, T = 20,000, root of the mean variance over all t: what the literature's order says."""
    T, zero = 20_000, SeededNoise(np.random.default_rng(0))
    error = []
    for counter in (
        HybridSums(1, 1.0, "half", zero), TreeSums(1, 1.0, T, zero), HonakerSums(1, 1.0, T, zero),
    ):  # fmt: skip
        variance = 0.0
        for _ in range(T):
            counter.insert(0, 0.0)
            variance += deviation(counter) ** 2
        error.append(math.sqrt(variance / T))
    assert error == pytest.approx([87.3, 56.0, 41.8], abs=0.1)


@pytest.mark.parametrize("make", [
    lambda noise: HybridSums(4, math.inf, "half", noise),
    lambda noise: HybridNodes(4, math.inf, "half", noise),
    lambda noise: TreeSums(4, math.inf, 500, noise),
    lambda noise: HonakerSums(4, math.inf, 500, noise),
])  # fmt: skip
def test_streams_share_the_clock_and_nothing_else(make):
    generator = np.random.default_rng(1)
    arms, rewards = generator.integers(4, size=500), generator.random(500)
    joint = make(SeededNoise(np.random.default_rng(0)))  # ε = ∞: no noise
    for arm, reward in zip(arms, rewards, strict=True):
        released = joint.insert(int(arm), float(reward))
    np.testing.assert_allclose(released, np.bincount(arms, weights=rewards, minlength=4))
    if isinstance(joint, TreeSums):
        assert len(joint.nodes) == len(joint.noisy) == (500).bit_count()
