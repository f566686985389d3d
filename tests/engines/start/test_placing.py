"""Agents on the workers of a Dask cluster."""

import asyncio
import signal
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse import api
from posse.coordinator.crew import Crew, Died
from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.engines.start.dask import DaskPlacement
from posse.engines.start.placing import AgentsHere, spread
from posse.errors import PosseError
from posse.plan import prepare
from posse.results.record import RunRecord
from tests.runs.test_restarts import undisturbed_part
from tests.support.dask import dask_cluster, kill_with_children
from tests.support.noise import needs_noise
from tests.support.runs import after, agent_processes, assert_same_run, certain_logs

ALL = set(range(8))


def test_each_worker_takes_its_share_by_its_threads() -> None:
    homes = spread({"a": 1, "b": 3}, {"a": ALL, "b": ALL}, range(8))
    assert Counter(homes.values()) == {"a": 2, "b": 6}


def test_an_agent_is_placed_where_its_rewards_are() -> None:
    homes = spread({"a": 4, "b": 1}, {"a": ALL - {5, 6}, "b": ALL}, range(8))
    assert homes[5] == homes[6] == "b"
    assert Counter(homes.values()) == {"a": 6, "b": 2}
    with pytest.raises(PosseError, match="no Dask worker has the rewards of agent 7"):
        spread({"a": 4}, {"a": ALL - {7}}, range(8))


def test_a_worker_takes_no_more_than_it_is_to() -> None:
    homes = spread({"a": 1, "b": 30}, {"a": ALL, "b": ALL}, range(8), 4)
    assert Counter(homes.values()) == {"a": 4, "b": 4}
    with pytest.raises(
        PosseError, match="no Dask worker has room for agent 6 with at most 3 on each"
    ):
        spread({"a": 1, "b": 30}, {"a": ALL, "b": ALL}, range(8), 3)


class Here:
    """Starts agents as a worker does, without a cluster."""

    def __init__(self) -> None:
        self._worker = AgentsHere("posse-test")

    @property
    def deaths(self) -> int:
        return self._worker._server.deaths

    def start(self, crew: Crew) -> None:
        self._worker.start(msgspec.msgpack.encode(crew))

    def next_death(self) -> Died:
        (died,) = asyncio.run(self._worker.deaths())
        return died

    def close(self) -> None:
        asyncio.run(self._worker.close())


DDP_MAB: dict[str, Any] = {
    "system": "ddp-mab",
    "seed": 7,
    "repeat": 2,
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.3, 0.1]},
    "topology": {"kind": "ring"},
    "parameters": {"horizon": 20_000, "epsilon": 1.0},
    "engine": {"restarts": 1, "deadline": 30.0},
}


def require_the_labs(found: RunRecord, lab: RunRecord) -> None:
    assert_same_run(lab, found)
    assert undisturbed_part(found) == undisturbed_part(lab)


def test_an_agent_that_is_killed_elsewhere_goes_on_and_the_run_is_the_labs() -> None:
    plan = prepare(DDP_MAB)
    bind = "tcp://127.0.0.1:*"
    with ProcessEngine(plan, bind=bind, token="", starter=Here) as engine:
        found = engine.run(plan, 0, after(20, agent_processes()[3].kill))
        again = engine.run(plan, 1)
    assert found.restarts == {3: 1}
    require_the_labs(found, memory.run(plan, 0))
    require_the_labs(again, memory.run(plan, 1))


def test_one_that_is_killed_too_often_is_missing_and_there_for_the_next_run() -> None:
    plan = prepare(DDP_MAB | {"engine": {"deadline": 30.0}})
    bind = "tcp://127.0.0.1:*"
    with ProcessEngine(plan, bind=bind, token="", starter=Here) as engine:
        found = engine.run(plan, 0, after(8, agent_processes()[3].kill))
        again = engine.run(plan, 1)
    assert found.dismissed == {3: "lost"}
    require_the_labs(again, memory.run(plan, 1))


def test_agents_of_the_field_leave_no_journal(tmp_path: Path) -> None:
    needs_noise()
    certain_logs(tmp_path, agents=6, arms=2, rows=200)
    plan = prepare(
        {
            "system": "mase",
            "mode": "field",
            "agents": {"count": 6},
            "arms": {"kind": "csv", "path": "{rank}.csv", "count": 2},
            "base": str(tmp_path),
        }
    )
    with ProcessEngine(plan, bind="tcp://127.0.0.1:*", token="", starter=Here) as engine:
        assert engine.run(plan, 0).best_arm == 0
    assert not list(tmp_path.glob("*.journal*"))


@pytest.mark.slow
def test_a_run_on_workers_of_which_one_is_killed_is_the_labs() -> None:
    plan = prepare(DDP_MAB)
    expected = [memory.run(plan, number) for number in range(2)]
    with dask_cluster() as cluster:
        kill = after(12, lambda: kill_with_children(cluster.workers[0].pid))
        found = [*api.make_runs(plan, [0, 1], on=DaskPlacement(cluster.on), observe=kill)]
        assert cluster.workers[0].wait() == -signal.SIGKILL
        there = DaskPlacement(cluster.on, per_worker=8, coordinator="worker")
        found += api.make_runs(plan, [0], on=there)
    records = [record for _, record in found if isinstance(record, RunRecord)]
    assert sorted(records[0].restarts.values()) == [1] * 4
    for record, lab in zip(records, [*expected, expected[0]], strict=True):
        require_the_labs(record, lab)


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 8), min_size=1),
    st.data(),
    st.integers(1, 9),
)
def test_each_agent_has_a_home_with_its_rewards_where_there_is_room(
    threads: dict[str, int], data: st.DataObject, most: int
) -> None:
    able = {name: data.draw(st.sets(st.integers(0, 7))) for name in threads}
    try:
        homes = spread(threads, able, range(8), most)
    except PosseError as error:
        assert "no Dask worker has" in str(error)
        assert most < 8 or not set(range(8)) <= set().union(*able.values())
        return
    assert sorted(homes) == [*range(8)]
    assert all(rank in able[home] for rank, home in homes.items())
    assert max(Counter(homes.values()).values()) <= most
    if all(able[name] == set(range(8)) for name in threads) and most >= 8:
        shares = Counter(homes.values())
        for name, other in product(threads, repeat=2):
            assert shares[name] / threads[name] <= (shares[other] + 1) / threads[other] + 1e-9
