"""The means that regret is measured against."""

from typing import Any

import numpy as np
import pytest

from posse.engines.sources import of_this_machine
from posse.hosts.rewards import means_of, references_of
from posse.hosts.sources import Chance
from posse.plan import prepare


def arms(**changes: Any) -> Any:
    raw: dict[str, Any] = {
        "system": "mase",
        "agents": {"count": 3},
        "arms": {"kind": "bernoulli"} | changes,
        "parameters": {"beta": 0.3},
    }
    return prepare(raw).spec.arms


def chance(rank: int, run: int = 0) -> Chance:
    return Chance(of_this_machine(lambda: 0), False, 5, run, rank)


ROWS = [[0.9, 0.1], [0.5, 0.3], [0.1, 0.8]]


def test_against_the_average_and_where_agents_differ_their_own_too() -> None:
    found = references_of(arms(means=ROWS), 3, "average", chance(2))
    assert found.keys() == {"regret", "regret_local"}
    assert found["regret"] == pytest.approx([0.5, 0.4])
    assert found["regret_local"].tolist() == [0.1, 0.8]
    assert references_of(arms(means=[0.9, 0.1]), 3, "average", chance(2)).keys() == {"regret"}


def test_against_each_agents_own() -> None:
    found = references_of(arms(means=ROWS), 3, "own", chance(1))
    assert {name: means.tolist() for name, means in found.items()} == {"regret": [0.5, 0.3]}


def test_random_means_are_the_same_for_all_agents_of_a_run_and_new_in_the_next() -> None:
    drawn = arms(means={"random": "uniform", "count": 2})
    tables = [means_of(drawn, 3, chance(rank)) for rank in range(3)]
    assert all(np.array_equal(table, tables[0]) for table in tables)
    assert not np.array_equal(means_of(drawn, 3, chance(0, run=1)), tables[0])
