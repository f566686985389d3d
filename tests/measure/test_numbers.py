"""How numbers are written for a person."""

import math

import pytest

from posse.measure.numbers import named, number, short, with_ci


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, "–"),
        ("word", "word"),
        (True, "True"),
        (12345, "12,345"),
        (1234.4, "1,234"),
        (0.12345, "0.123"),
        (99.94, "99.9"),
        (123.4, "123"),
        (2.0, "2"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "–"),
    ],
)
def test_a_number(value: object, wanted: str) -> None:
    assert number(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(950, "950"), (20_000, "20k"), (1.5e6, "1.5M"), (2e9, "2G"), (0.25, "0.25")],
)
def test_in_few_characters(value: float, wanted: str) -> None:
    assert short(value) == wanted


def test_a_mean_with_its_interval() -> None:
    assert with_ci([]) == "–"
    assert with_ci([3.0]) == "3"
    # half-width: t(1) * s / sqrt(2) = 12.706 * sqrt(2) / sqrt(2)
    assert with_ci([4.0, 6.0]) == "5 ± 12.7"


def test_agents_by_rank() -> None:
    assert named([3]) == "agent 3"
    assert named(range(12)) == "agents 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
    assert named(range(64)) == "agents 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 52 more"
