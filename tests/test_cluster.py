"""A cluster that asynchronous code awaits."""

import asyncio

import pytest

import posse
from tests.support.cluster import SPEC
from tests.support.runs import assert_same_run


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
