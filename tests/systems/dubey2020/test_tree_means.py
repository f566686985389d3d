"""Private cooperation with a tree for each agent: what is sent, and the index, by hand."""

import math

import numpy as np
import pytest

from posse.agent.hybrid import HybridNodes, HybridSums
from posse.protocol.machine import Disclose
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import total_cost
from posse_systems.dubey2020.tree_means import TreeMeans
from tests.support.noise import NoNoise


def learner(noise, arms=2, **more):
    return TreeMeans(arms, np.random.default_rng(0), epsilon=0.5, noise=noise, **more)


def test_after_each_pull_the_noisy_sum_of_a_hybrid_mechanism_is_sent() -> None:
    one = learner(SeededNoise(np.random.default_rng(3)))
    alone = HybridSums(1, 0.5, "half", SeededNoise(np.random.default_rng(3)))
    rewards = np.random.default_rng(4).random(40)
    ledger = []
    for n, reward in enumerate(rewards, start=1):
        effects = one.learn(1, float(reward))
        total = alone.insert(0, float(reward)).item()
        ledger += [effect.release for effect in effects if isinstance(effect, Disclose)]
        (said,) = one.message
        assert (said["means"][1], said["counts"][1]) == (pytest.approx(total / n), n)
        assert one.own().tolist() == pytest.approx([0, n, 0, total])
    assert math.isnan(one.message["means"][0, 0])
    assert total_cost(ledger) == 0.5
    assert ledger[0].block == "arm 1, rewards 1 to 1"


def test_each_arm_has_a_tree_of_its_own_which_the_field_noises_as_a_whole() -> None:
    one = learner(NoNoise(), counter=HybridNodes)
    for n, reward in enumerate([1.0, 0.0, 1.0, 1.0, 0.0, 1.0], start=1):
        one.learn(n % 2, reward)
    assert one.message["means"].tolist() == [[pytest.approx(2 / 3), pytest.approx(2 / 3)]]
    assert one.message["counts"].tolist() == [[3, 3]]


def test_the_index_adds_the_deviation_of_every_agents_tree() -> None:
    one = learner(NoNoise(), counter=HybridNodes)
    for _ in range(4):
        one.learn(0, 1.0)
    one.add_origins(np.arange(3))
    one.counts[1] = [16, 8]  # what two others released
    one.counts[2] = [2, 0]
    N = np.array([22.0, 8.0])
    noise = np.array([2 * (2**1.5 + 4**1.5 + 1), 2 * 3**1.5]) / 0.5 / N
    expected = np.sqrt(2 * math.log(9) / N) + noise
    np.testing.assert_allclose(one.bonus(math.log(9), N), expected)
