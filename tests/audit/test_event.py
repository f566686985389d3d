"""By what two data sets are told apart."""

import numpy as np
from hypothesis import example, given, settings
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


@settings(max_examples=10)
@given(st.lists(st.floats(-9, 9), min_size=40, max_size=40), st.booleans())
@example([1.0] * 40, False)
def test_what_is_alike_is_told_apart_by_nothing(values: list[float], several: bool) -> None:
    same = table(y=np.array(values), **({"z": np.array(values[::-1])} if several else {}))
    assert learn((same, same)) == (NOTHING, 0.0)


NUMBERS = st.integers(-3, 3).map(float)


@given(
    st.dictionaries(st.sampled_from("xyz"), NUMBERS, min_size=1),
    st.dictionaries(st.sampled_from("xyz"), st.lists(NUMBERS, min_size=3, max_size=3), min_size=1),
    NUMBERS,
    st.booleans(),
    st.booleans(),
)
@example({"y": 1.0}, {"z": [0.0] * 3}, 0.0, False, False)
@example({"x": 2.0, "y": 1.0}, {"x": [1.0, 0.0, 1.0]}, 2.5, True, True)
def test_a_condition_holds_where_its_sum_says_and_for_none_that_lacks_a_number(
    weights: dict[str, float], seen: dict[str, list[float]], threshold: float,
    above: bool, filled: bool,
) -> None:  # fmt: skip
    missing = dict.fromkeys(weights, 1.0) if filled else {}
    condition = Condition(weights=weights, above=above, threshold=threshold, missing=missing)
    wanted = []
    for run in range(3):
        here = missing | {name: column[run] for name, column in seen.items()}
        if weights.keys() - here.keys():
            wanted.append(False)
            continue
        score = sum(weight * here[name] for name, weight in weights.items())
        wanted.append(score > threshold if above else score <= threshold)
    views = table(**{name: np.array(column) for name, column in seen.items()})
    assert condition.holds(views).tolist() == wanted
    assert Event(conditions=(condition,), likelier_on=0).holds(views).tolist() == wanted
    assert (" × " in condition.says) == ([*weights.values()] not in ([1.0], [1.0, -1.0]))


tables = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.floats(0, 1), min_size=2, max_size=2)),
    min_size=1, max_size=4,
)  # fmt: skip


@given(tables)
@example([{"a": [1.0, 1.0]}, {"b": [2.0, 2.0]}])
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
