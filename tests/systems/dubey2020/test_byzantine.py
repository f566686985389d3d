"""The learner that trusts no single reward: its index by hand, and what it refuses to hear."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.machine import Variant
from posse_systems.dubey2020.agent import LARGEST_REWARD
from posse_systems.dubey2020.byzantine import SharedRewards
from posse_systems.dubey2020.messages import reward_record


def learner(variant: Variant = "corrected", **changes: Any) -> SharedRewards:
    values: dict[str, Any] = {"contamination": 0.04, "sigma": 0.25}
    return SharedRewards(3, np.random.default_rng(0), variant=variant, **(values | changes))


def rewards(*rows: tuple[int, float]) -> Any:
    records = np.zeros(len(rows), dtype=reward_record())
    for record, (arm, reward) in zip(records, rows, strict=True):
        record["arm"], record["reward"] = arm, reward
    return records


def refused(of: SharedRewards, *rows: tuple[int, float]) -> list[str]:
    return [reason for reason, wrong in of.find_faults(rewards(*rows)) if wrong.any()]


@pytest.mark.parametrize(("variant", "last"), [("corrected", 2), ("printed", 1)])
def test_the_index_by_hand(variant: Variant, last: int) -> None:
    """t = 10, δ = 1/100, σ = 1/4; means .75 of n samples, and .5 of one (too few to be trimmed).

    Corrected: .75 + .759 / sqrt(n) against .5 + .759, from σ sqrt(2 log 100), so that arm 1 leads
    from n > 2.2 on. Printed: .75 + 1.073 / sqrt(n) against .5 + 1.073, from sqrt(σ log 100): 1.7.
    """
    for n in range(1, 5):
        one = learner(variant)
        one.learn(0, 0.75)
        one.learn(1, 0.5)
        one.learn(2, -9.0)
        one.hear(rewards(*[(0, 0.75)] * (n - 1)))
        assert one.samples.counts.tolist() == [[n, 1, 1]]
        assert one.choose(10) == (0 if n <= last else 1)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(-9, 9)), min_size=1))
def test_what_it_says_is_its_last_reward_as_it_is(pulls: list[tuple[int, float]]) -> None:
    one = learner()
    for arm, reward in pulls:
        assert one.learn(arm, reward) == []
        assert one.message[["arm", "reward"]].tolist() == [(arm, reward)]
    arms = [arm for arm, _ in pulls]
    assert one.pulls.tolist() == [arms.count(arm) for arm in range(3)]


@given(st.integers(0, 9), st.floats(), st.none() | st.floats(0, 9))
@example(0, -2 * LARGEST_REWARD, None)
@example(0, 1.25, 1.0)
@example(0, -1.25, 1.0)
@example(0, 7.0, None)
def test_what_no_reward_can_be_is_refused_and_a_range_is_kept_where_one_is_known(
    arm: int, reward: float, most: float | None
) -> None:
    reasons = ["no-such-arm"] * (arm > 2)
    reasons += ["not-finite"] * (not abs(reward) <= LARGEST_REWARD)
    if most is not None and not abs(reward) <= most:
        reasons.append("out-of-range")
    bounded: dict[str, Any] = {} if most is None else {"reward_range": (-most, most)}
    assert refused(learner(**bounded), (1, 0.0), (arm, reward)) == reasons
