"""How numbers are written for a person."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.measure.confidence import mean_of
from posse.measure.numbers import listed, named, number, short, with_interval
from tests.support.conversations import examples


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


@examples(Path(__file__).with_name("numbers.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()


@given(st.floats(-1e12, 1e12), st.integers(2, 5))
def test_a_short_number_is_that_number_to_its_digits(value: float, digits: int) -> None:
    said = short(value, digits)
    factor = {"G": 1e9, "M": 1e6, "k": 1e3}.get(said[-1], 1.0)
    read = float(said.rstrip("GMk")) * factor
    assert math.isclose(read, value, rel_tol=0.5 * 10 ** (1 - digits), abs_tol=1e-300)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_for_people_is_that_number_to_three_digits(value: float) -> None:
    read = float(number(value).replace(",", ""))
    whole = isinstance(value, int) or value == round(value)
    assert math.isclose(read, value, rel_tol=1e-15 if whole else 0.0051, abs_tol=1e-300)


@given(st.lists(st.integers(0, 99), max_size=40))
def test_a_list_names_twelve_and_counts_the_others(ranks: list[int]) -> None:
    said = listed(ranks)
    shown, _, more = said.partition(" and ")
    assert [int(n) for n in shown.split(", ") if n] == ranks[:12]
    assert int(more.removesuffix(" more") or 0) == max(0, len(ranks) - 12)
    assert named(ranks).endswith(said if ranks else "nobody")


@given(st.lists(st.floats(0.0, 1e6), min_size=5, max_size=9))
def test_a_mean_is_written_between_the_ends_of_its_interval(values: list[float]) -> None:
    said = re.findall(r"-?[0-9,]+(?:\.[0-9]+)?", with_interval(mean_of(values), len(values)))
    middle, *ends = [float(word.replace(",", "")) for word in said]
    assert not ends or ends[0] <= middle <= ends[1]
