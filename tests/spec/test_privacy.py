"""`[privacy]`: what may stand there, and what it says."""

import math
from typing import Any

import pytest

from posse.errors import SpecError
from posse.spec.explain import convert
from posse.spec.privacy import PrivacySpec


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({}, "at most ε = 10, δ = 0.001 for each reward, ever; each row of a log is used in one"),
        (
            {"budget": 2, "delta": 0, "reuse": "budget"},
            "at most ε = 2 for each reward, ever; rows may be",
        ),
        (
            {"person": "ward", "rewards_per_person": 3},
            "at most ε = 10, δ = 0.001 for each person ('ward'), with 3 rewards, ever",
        ),
        ({"reuse": "unlimited"}, "rows may be used again and again, and what all runs cost has no"),
    ],
)
def test_it_says_what_a_reward_may_cost(raw: dict[str, Any], said: str) -> None:
    assert convert(raw, PrivacySpec, "privacy").says.startswith(said)


@pytest.mark.parametrize("budget", [0, -1, math.inf, math.nan, 1e308, "much"])
def test_a_budget_is_a_number_that_somebody_can_have_meant(budget: Any) -> None:
    with pytest.raises(SpecError, match=r"privacy\.budget"):
        convert({"budget": budget}, PrivacySpec, "privacy")


@pytest.mark.parametrize("delta", [-1e-9, 1, math.inf, math.nan, "little"])
def test_a_delta_is_a_probability_that_is_not_one(delta: Any) -> None:
    with pytest.raises(SpecError, match=r"privacy\.delta"):
        convert({"delta": delta}, PrivacySpec, "privacy")


def test_words_that_are_not_known_are_refused() -> None:
    with pytest.raises(SpecError, match=r"'ever' is not known; .*known: budget, never, unlimited"):
        convert({"reuse": "ever"}, PrivacySpec, "privacy")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"rewards_per_person": 3}, "rewards_per_person needs person"),
        ({"person": "reward"}, "must be a column besides arm and reward"),
        ({"person": "who", "rewards_per_person": 0}, "rewards_per_person"),
    ],
)
def test_persons_need_a_column_and_at_least_one_reward(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        convert(raw, PrivacySpec, "privacy")
