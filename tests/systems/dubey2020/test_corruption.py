"""Lies at the source, and in what a relay passes on."""

import math

import numpy as np
import pytest

from posse_systems.dubey2020.corruption import Corruption
from posse_systems.dubey2020.messages import Contamination, means_record, reward_record


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (Contamination(rate=1.0), {1.0}),
        (Contamination(rate=1.0, law="outlier"), {10.0}),
        (Contamination(rate=1.0, law="point", value=0.2), {0.2}),
        (Contamination(rate=1.0, law="opposite"), {0.75}),
        (Contamination(rate=0.0), {0.25}),
    ],
)
def test_corruption_at_the_source(does, expected) -> None:
    own, passed_on = np.zeros(1, dtype=reward_record()), np.zeros(3, dtype=reward_record())
    own["reward"] = passed_on["reward"] = 0.25
    Corruption(does, np.random.default_rng(0)).corrupt(own, passed_on, 30)
    assert set(own["reward"].tolist()) == expected
    assert set(passed_on["reward"].tolist()) == {0.25}


def test_a_relay_lies_at_the_rate_in_what_it_passes_on() -> None:
    own, passed_on = np.zeros(1, dtype=reward_record()), np.zeros(20_000, dtype=reward_record())
    does = Contamination(rate=0.1, law="uniform", form="relay")
    Corruption(does, np.random.default_rng(0)).corrupt(own, passed_on, 30)
    struck = passed_on["reward"] > 0
    assert own["reward"][0] == 0
    assert abs(struck.mean() - 0.1) < 4 * math.sqrt(0.09 / 20_000)
    assert abs(passed_on["reward"][struck].mean() - 0.5) < 4 * math.sqrt(1 / 12 / struck.sum())


@pytest.mark.parametrize(
    ("law", "means", "counts"),
    [
        ("point", [1.0, 1.0, 1.0], [4, 9, 0]),
        ("opposite", [0.75, 0.25, math.nan], [4, 9, 0]),
        ("informed", [1.0, 0.0, 1.0], [10, 10, 10]),
    ],
)
def test_what_a_liar_makes_of_means(law, means, counts) -> None:
    own = np.zeros(1, dtype=means_record(3))
    own["means"], own["counts"] = [0.25, 0.75, math.nan], [4, 9, 0]
    does = Contamination(rate=1.0, law=law)
    Corruption(does, np.random.default_rng(0)).corrupt(own, own[:0], 30)
    np.testing.assert_array_equal(own["means"][0], means)
    assert own["counts"][0].tolist() == counts


def test_a_relay_claims_no_more_pulls_than_the_origin_had_slots_for() -> None:
    passed_on = np.zeros(2, dtype=means_record(3))
    passed_on["means"], passed_on["created"] = [0.5, 0.2, 0.1], [28, 12]
    does = Contamination(rate=1.0, law="informed", form="relay")
    Corruption(does, np.random.default_rng(0)).corrupt(passed_on[:0], passed_on, 30)
    assert passed_on["counts"].tolist() == [[9] * 3, [4] * 3]
    assert passed_on["means"].tolist() == [[0.0, 1.0, 1.0]] * 2
