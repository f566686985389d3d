"""How numbers are written for a person."""

import math

import pytest

from posse.measure.numbers import average, named, number, short, total


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
        (-0.0, "0"),
        (1.08e-131, "1.08e-131"),
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
    assert average([]) == "–"
    assert average([3.0]) == "3"
    assert average([4.0, 6.0]) == "5 (n = 2)"
    assert average([5.0] * 8) == "5"
    # below 0 it is Student's, 2.776 * 2 / sqrt(5) = 2.48; else a factor of exp(2.48 / 5) = 1.64
    assert average([-2.0, -2.0, 0.0, 2.0, 2.0]) == "0.0 (-2.5 to 2.5, n = 5)"
    assert average([3.0, 3.0, 5.0, 7.0, 7.0]) == "5.0 (3.0 to 8.2, n = 5)"


def test_digits_are_those_that_the_data_have() -> None:
    assert average([0.199, 0.2, 0.201, 0.202, 0.203]) == "0.2010 (0.1990 to 0.2030, n = 5)"
    assert average([50_000.0, 60_000.0, 70_000.0, 80_000.0, 1_000_000.0]).startswith("252,000 (")


def test_agents_by_rank() -> None:
    assert named([3]) == "agent 3"
    assert named(range(12)) == "agents 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
    assert named(range(64)) == "agents 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 52 more"


def test_a_sum_that_is_zero_has_no_sign() -> None:
    assert total(-1e-13) == "0"
