"""The posse from Python: `posse.run`, and a cluster that asynchronous code awaits."""

import asyncio
from typing import Any

import pytest

import posse
from tests.conftest import PROBLEM_1
from tests.support.runs import assert_same_run

SPEC: dict[str, Any] = {
    "system": "mase",
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": PROBLEM_1},
}


def test_run_takes_plain_data() -> None:
    result = posse.run({**SPEC, "repeat": 2, "engine": {"kind": "memory"}})
    assert [run.best_arm for run in result.runs] == [0, 0]
    assert result.runs[0].log != result.runs[1].log


def test_several_processes_share_the_repeats_and_change_nothing() -> None:
    spec = {**SPEC, "repeat": 3, "engine": {"kind": "memory"}}
    seen: list[int] = []
    shared = posse.run(spec, jobs=2, on_record=lambda record: seen.append(record.run))
    alone = posse.run(spec)
    assert seen == [0, 1, 2]
    for one, other in zip(shared.runs, alone.runs, strict=True):
        assert_same_run(one, other)


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["processes", "memory"])
async def test_a_cluster_is_awaited_and_runs_again_while_others_go_on(kind: str) -> None:
    ticked = asyncio.Event()

    async def tick() -> None:
        while True:
            await asyncio.sleep(0)
            ticked.set()

    async with posse.Cluster({**SPEC, "engine": {"kind": kind}}) as cluster:
        ticks = asyncio.create_task(tick())
        first = await cluster.run(seed=4, repeat=2)
        assert ticked.is_set()
        again = await cluster.run(seed=4)
        ticks.cancel()
    assert_same_run(first.runs[0], again.runs[0])
    assert first.runs[1].log != first.runs[0].log


@pytest.mark.asyncio
async def test_a_cancelled_cluster_ends_at_once() -> None:
    spec = {**SPEC, "engine": {"deadline": 60.0}}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0), posse.Cluster(spec, spawn=4):
            raise AssertionError("four of eight agents cannot be a posse")


def test_a_wrong_specification_starts_nothing() -> None:
    with pytest.raises(posse.SpecError, match="agents.count"):
        posse.Cluster({**SPEC, "agents": {"count": 0}})


def test_a_cluster_has_no_keys_and_stays_on_this_machine() -> None:
    with pytest.raises(posse.PosseError, match="a cluster has no keys; use posse coordinator"):
        posse.Cluster(SPEC, bind="tcp://0.0.0.0:*")
