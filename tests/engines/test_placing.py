"""Agents on the workers of a Dask cluster."""

import signal
from collections import Counter
from typing import Any

import pytest

from posse import api
from posse.engines import memory
from posse.engines.on_dask import Placement
from posse.engines.placing import spread
from posse.errors import PosseError
from posse.plan import prepare
from posse.results.record import RunRecord
from tests.runs.test_restarts import OF_KILLS, undisturbed_part
from tests.support.dask import dask_cluster
from tests.support.runs import after, assert_same_run

ALL = set(range(8))


def test_each_worker_takes_its_share_by_its_threads() -> None:
    homes = spread({"a": 1, "b": 3}, {"a": ALL, "b": ALL}, 8, None)
    assert Counter(homes.values()) == {"a": 2, "b": 6}


def test_an_agent_is_placed_where_its_rewards_are() -> None:
    homes = spread({"a": 4, "b": 1}, {"a": ALL - {5, 6}, "b": ALL}, 8, None)
    assert homes[5] == homes[6] == "b"
    assert Counter(homes.values()) == {"a": 6, "b": 2}
    with pytest.raises(PosseError, match="no Dask worker has the rewards of agent 7"):
        spread({"a": 4}, {"a": ALL - {7}}, 8, None)


def test_a_worker_takes_no_more_than_it_is_to() -> None:
    homes = spread({"a": 1, "b": 30}, {"a": ALL, "b": ALL}, 8, 4)
    assert Counter(homes.values()) == {"a": 4, "b": 4}
    with pytest.raises(PosseError, match="no Dask worker has room for agent 6 with 3 on each"):
        spread({"a": 1, "b": 30}, {"a": ALL, "b": ALL}, 8, 3)


DDP_MAB: dict[str, Any] = {
    "system": "ddp-mab",
    "seed": 7,
    "repeat": 2,
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.3, 0.1]},
    "topology": {"kind": "ring"},
    "parameters": {"horizon": 20_000, "epsilon": 1.0},
    "engine": {"restarts": 2, "deadline": 30.0},
}


@pytest.mark.slow
def test_a_run_on_workers_of_which_one_is_killed_is_the_labs() -> None:
    plan = prepare(DDP_MAB)
    expected = [memory.run(plan, number) for number in range(2)]
    with dask_cluster() as cluster:
        kill = after(20, cluster.workers[0].kill)
        made = api.runs(plan, [0, 1], on=Placement(cluster.on), observe=kill)
        found = [record for _, record in made if isinstance(record, RunRecord)]
        assert cluster.workers[0].wait() == -signal.SIGKILL
    assert sorted(found[0].restarts.values()) == [1] * 4
    for record, lab in zip(found, expected, strict=True):
        record.refused = {why: n for why, n in record.refused.items() if why not in OF_KILLS}
        assert_same_run(lab, record)
        assert undisturbed_part(record) == undisturbed_part(lab)
