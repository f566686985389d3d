"""A cluster that asynchronous code awaits."""

import asyncio
import gc
from typing import Any

import pytest

import posse
from tests.support.cluster import SPEC
from tests.support.runs import assert_same_run


@pytest.mark.slow
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


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["processes", "memory"])
async def test_a_cancelled_run_says_nothing_and_the_cluster_goes_on(kind: str) -> None:
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: said.append(context))
    long = {"horizon": 1_000_000, "epsilon": 1.0}
    spec = {**SPEC, "system": "tdfs-private", "agents": {"count": 2}, "parameters": long}
    async with posse.Cluster({**spec, "engine": {"kind": kind}}) as cluster:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await cluster.run()
        again = await cluster.run(parameters={"horizon": 20})
    gc.collect()
    assert said == []
    assert again.runs[0].slots == 20


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["processes", "memory"])
async def test_a_cluster_is_up_once_and_says_so(kind: str) -> None:
    cluster = posse.Cluster({**SPEC, "engine": {"kind": kind}})
    with pytest.raises(posse.PosseError, match="not up; await .* inside `async with"):
        await cluster.run()
    async with cluster:
        with pytest.raises(posse.PosseError, match="can be entered only once; make another"):
            await cluster.__aenter__()
        assert (await cluster.run()).runs[0].best_arm == 0
    with pytest.raises(posse.PosseError, match="not up"):
        await cluster.run()
    with pytest.raises(posse.PosseError, match="can be entered only once; make another"):
        async with cluster:
            raise AssertionError("it was up before")


def test_a_cluster_has_no_keys_and_stays_on_this_machine() -> None:
    with pytest.raises(posse.PosseError, match="a cluster has no keys; use an address"):
        posse.Cluster(SPEC, bind="tcp://0.0.0.0:*")
