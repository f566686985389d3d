"""What a ledger adds up to, against each row counted by itself."""

import sqlite3
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posse.durable.lifetime import SCHEMA, lifetime, over_arms

SPANS = st.lists(
    st.tuples(
        st.integers(1, 4),  # the run
        st.integers(0, 1),  # the arm
        st.integers(0, 12),
        st.integers(1, 6),
    ),
    max_size=12,
)
COSTS = st.lists(st.sampled_from([None, 0.25, 0.5, 1.0]), min_size=4, max_size=4)


@given(SPANS, COSTS)
def test_the_most_exposed_row_is_found(
    spans: list[tuple[int, int, int, int]], costs: list[float | None]
) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    cost: dict[tuple[int, int], float] = {}
    uses: dict[tuple[int, int], int] = {}
    rewards = [0, 0, 0, 0]
    for run, arm, first, length in spans:
        rewards[run - 1] += length
        connection.execute(
            "INSERT INTO rows VALUES (?, ?, ?, ?)", (run, arm, first, first + length)
        )
        for row in range(first, first + length):
            cost[arm, row] = cost.get((arm, row), 0.0) + (costs[run - 1] or 0.0)
            uses[arm, row] = uses.get((arm, row), 0) + 1
    for run, used in enumerate(rewards, start=1):
        connection.execute(
            "INSERT INTO runs VALUES (?, '', NULL, '', 0, 1, ?, NULL, ?, NULL)",
            (run, costs[run - 1], used),
        )
    book = lifetime(connection, Path("log.ledger"))
    assert book.rows == len(cost)
    assert book.epsilon == max(cost.values(), default=0.0)
    assert book.unprotected == sum(
        used for used, epsilon in zip(rewards, costs, strict=True) if epsilon is None
    )
    for arm in range(2):
        counted = over_arms(connection, arm, 20, count=True)
        np.testing.assert_array_equal(counted, [uses.get((arm, row), 0) for row in range(20)])
    connection.close()
