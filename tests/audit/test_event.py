"""By what two data sets are told apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.audit.event import NOTHING, Condition, Event, ViewTable, join_tables, learn

N = 2000


def table(**columns):
    return ViewTable(tuple(columns), np.stack(list(columns.values()), axis=1).astype(float))


def two(shift, scale=1.0, seed=1, count=2):
    """Laplace numbers on both data sets, moved on the first."""
    drawn = np.random.default_rng(seed).laplace(0, scale, (2, count, N))
    return tuple(
        table(**{f"y{i}": drawn[side, i] + shift * (side == 0) for i in range(count)})
        for side in (0, 1)
    )


def test_a_threshold_is_learned_and_said():
    event, bound = learn(two(1.0, count=1))
    assert 0.7 < bound < 1.1
    first = event.conditions[0]
    assert first.says.startswith("y0 ")
    assert abs(first.threshold) < 1.3


def test_two_numbers_tell_more_than_one():
    one, both = learn(two(1.0, count=1))[1], learn(two(1.0, count=2))[1]
    assert both > 1.3 > 1.1 > one


def test_what_is_alike_is_told_apart_by_nothing():
    same = table(y=np.ones(N))
    assert learn((same, same)) == (NOTHING, 0.0)


def test_a_number_that_is_not_there_is_in_no_event():
    event = Event(
        conditions=(Condition(weights={"y": 1.0}, above=False, threshold=0.0),), likelier_on=0
    )
    absent = table(z=np.zeros(3))
    assert not event.holds(absent).any()
    assert event.holds(table(y=np.array([-1.0, 0.0, 1.0]))).tolist() == [True, True, False]


def test_a_weighted_sum_takes_what_stands_for_an_absent_number():
    condition = Condition(
        weights={"x": 2.0, "y": 1.0}, above=True, threshold=2.5, missing={"x": 1.0, "y": 1.0}
    )
    assert condition.holds(table(x=np.array([1.0, 0.0]))).tolist() == [True, False]
    assert "2 × x" in condition.says


def test_tables_are_joined_by_name():
    both = join_tables([table(a=np.array([1.0])), table(b=np.array([2.0]))])
    assert both.names == ("a", "b")
    assert both.values == pytest.approx(np.array([[1, np.nan], [np.nan, 2]]), nan_ok=True)


tables = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.floats(0, 1), min_size=2, max_size=2)),
    min_size=1, max_size=4,
)  # fmt: skip


@given(tables)
def test_joined_tables_have_all_rows_and_each_number_in_its_column(
    seen: list[dict[str, list[float]]],
) -> None:
    views = [
        ViewTable(tuple(columns), np.array([*columns.values()]).T.reshape(2, -1))
        for columns in seen
    ]
    joined = join_tables(views)
    assert joined.values.shape == (2 * len(seen), len({name for s in seen for name in s}))
    for number, columns in enumerate(seen):
        rows = joined.values[2 * number : 2 * number + 2]
        for name, column in zip(joined.names, rows.T, strict=True):
            wanted = columns.get(name, [np.nan] * 2)
            np.testing.assert_array_equal(column, wanted)
