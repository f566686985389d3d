"""Processes that are killed and paused, links that are cut, slow and lossy: the run is the same."""

import asyncio
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from posse.engines import memory
from posse.errors import InputError, PosseError, RunFailed
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from posse.testing import COORDINATOR, ControlledCluster
from tests.support.runs import assert_same_run, refused

pytestmark = pytest.mark.asyncio

STAR: dict[str, Any] = {
    "system": "mase",
    "seed": 3,
    "agents": {"count": 6},
    "arms": {"kind": "bernoulli", "means": [0.7, 0.5, 0.3]},
    "engine": {"deadline": 30.0, "on_missing": "end"},
}
MESH: dict[str, Any] = {
    "system": "ddp-mab",
    "seed": 3,
    "agents": {"count": 3},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
    "topology": {"kind": "ring"},
    "parameters": {"epsilon": 1.0, "horizon": 2_000},
    "engine": {"deadline": 30.0},
}
TO_ALL: dict[str, Any] = MESH | {
    "system": "private-ucb",
    "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
    "parameters": {"epsilon": 1.0, "horizon": 80},
}
OF_A_RUN_THAT_ENDED = {"unknown-kind", "stale-run"}
"""What agents still said of it is refused by whoever gathers them for the next, or carries it."""

Act = Callable[[ControlledCluster], None]


def cut(a: int, b: int) -> Act:
    return lambda cluster: cluster.cut(a, b)


def alone(source: dict[str, Any]) -> RunRecord:
    """The same run with nobody's hand on it."""
    plan: Plan = prepare(source)
    return memory.run(plan, 0)


async def disturbed(
    source: dict[str, Any], wrong: Act, well: Act
) -> tuple[RunRecord, ControlledCluster]:
    """A run that cannot end while something is wrong, which is so for a while."""
    async with ControlledCluster(source) as cluster:
        wrong(cluster)
        run = asyncio.create_task(cluster.run())
        await asyncio.sleep(0.3)
        assert not run.done()
        well(cluster)
        result = await run
    return undisturbed(result.runs[0]), cluster


def undisturbed(record: RunRecord) -> RunRecord:
    """The record without what was counted of connections."""
    assert set(refused(record)) <= OF_A_RUN_THAT_ENDED
    record.refused.clear()
    return record


async def test_one_that_stands_still_for_a_while_changes_nothing_of_a_run() -> None:
    record, _ = await disturbed(STAR, lambda c: c.pause(1), lambda c: c.resume(1))
    assert_same_run(alone(STAR), record)


@pytest.mark.slow
async def test_lost_frames_are_sent_again_byte_for_byte() -> None:
    record, cluster = await disturbed(
        STAR, lambda c: c.drop(1, COORDINATOR, 1.0), ControlledCluster.heal
    )
    assert_same_run(alone(STAR), record)
    again = [frame for frame in cluster.messages(again=True) if frame.resent]
    assert again
    assert {frame.source for frame in again} | {frame.target for frame in again} == {1, COORDINATOR}
    numbered: dict[Any, Any] = {}
    for frame in cluster.messages(again=True):
        if frame.number is not None:
            said = (frame.kind, frame.fields, frame.sequence, frame.now, frame.sent)
            at = (frame.source, frame.target, frame.number)
            assert numbered.setdefault(at, said) == said


@pytest.mark.parametrize("source", [MESH, TO_ALL], ids=["each", "all"])
async def test_neighbours_that_are_parted_go_on_where_they_were(source: dict[str, Any]) -> None:
    record, cluster = await disturbed(source, cut(0, 1), ControlledCluster.heal)
    assert_same_run(alone(source), record)
    assert cluster.messages(link=(0, 1), plane="data")
    assert cluster.messages(link=(1, 0), plane="data")


async def test_an_agent_that_is_killed_ends_the_run_and_is_there_again_for_the_next() -> None:
    async with ControlledCluster(STAR) as cluster:
        before = cluster.pids
        assert before.keys() == set(range(6))
        cluster.cut(1, COORDINATOR)  # so that the run cannot end
        run = asyncio.create_task(cluster.run())
        await cluster.wait_for(1, kind="Configure", link=(COORDINATOR, 2))
        cluster.kill(2)
        with pytest.raises(RunFailed, match="agent 2 was killed by SIGKILL"):
            await cluster.wait_for(1, kind="Report")
        with pytest.raises(RunFailed, match="agent 2 was killed by SIGKILL"):
            await run
        cluster.heal()
        assert 2 not in cluster.pids
        with pytest.raises(InputError, match="agent 2 has no process here; .*: 0, 1, 3, 4, 5"):
            cluster.pause(2)
        with pytest.raises(RunFailed, match="agent 2 ended before this run; start it again"):
            await cluster.run()
        await cluster.restart(2)
        await cluster.restart(4)
        after = cluster.pids
        assert {rank for rank in before if before[rank] != after[rank]} == {2, 4}
        assert_same_run(alone(STAR), undisturbed((await cluster.run()).runs[0]))
    assert not any(map(psutil.pid_exists, {*before.values(), *after.values()}))


async def test_where_a_server_can_do_without_an_agent_its_run_goes_on_when_it_is_killed() -> None:
    source = STAR | {
        "system": "anonymous",
        "agents": {"count": 10},
        "parameters": {"horizon": 500},
        "engine": {"deadline": 30.0},
    }
    async with ControlledCluster(source) as cluster:
        await cluster.run()
        cluster.pause(1)
        run = asyncio.create_task(cluster.run())
        await cluster.wait_for(1, kind="Begin", link=(COORDINATOR, 1), run=1)
        again = asyncio.create_task(cluster.restart(1))
        assert (await run).runs[0].dismissed == {1: "lost"}
        await again
        assert_same_run(alone(source), undisturbed((await cluster.run()).runs[0]))


async def test_what_was_said_is_there_by_link_plane_and_kind() -> None:
    async with ControlledCluster({**STAR, "engine": {"kind": "memory"}}) as cluster:
        record = (await cluster.run()).runs[0]
        again = (await cluster.run(parameters={"beta": 0.3})).runs[0]
    for number, run in enumerate((record, again)):
        counted = sum(link.messages for link in run.links if link.kind == "Vote")
        assert len(cluster.messages(kind="Vote", run=number)) == counted > 0
    sizes = [
        sum(link.frame_bytes for link in run.links if (link.source, link.target) == (3, -1))
        for run in (record, again)
    ]
    assert cluster.bytes((3, COORDINATOR)) == sum(sizes)
    assert cluster.bytes() > cluster.bytes((3, None)) > cluster.bytes((3, COORDINATOR)) - 1
    assert {frame.plane for frame in cluster.messages()} == {"data", "control"}
    assert {f.target for f in cluster.messages(link=(COORDINATOR, None))} == set(range(6))


async def test_in_memory_there_is_nothing_to_kill_or_to_cut() -> None:
    async with ControlledCluster({**STAR, "engine": {"kind": "memory"}}) as cluster:
        assert cluster.pids == {}
        for act in (
            lambda: cluster.kill(0),
            lambda: cluster.cut(0, COORDINATOR),
            lambda: cluster.delay(0, 1, 1.0),
            cluster.heal,
        ):
            with pytest.raises(InputError, match="no processes to kill and no links to cut"):
                act()


async def test_what_cannot_be_done_to_a_link_is_said_before_anything_happens() -> None:
    cluster = ControlledCluster(STAR, spawn=2)
    for act, why in (
        (lambda: cluster.cut(0, 1), "mase has no link between 0 and 1"),
        (lambda: cluster.cut(3, COORDINATOR), "agent 3 was not started here; .*: 0 to 1"),
        (lambda: cluster.drop(0, COORDINATOR, 2.0), "a share of 2.0 to drop"),
        (lambda: cluster.delay(0, COORDINATOR, -1.0), "a delay of -1.0 s"),
        (lambda: cluster.kill(0), "agent 0 has no process here; .*: none"),
    ):
        with pytest.raises(InputError, match=why):
            act()


@pytest.mark.parametrize(
    ("topology", "linked"),
    [
        ({"kind": "ring"}, {(0, 1), (0, 4), (3, 4)}),
        ({"kind": "regular", "degree": 2}, {(0, 1), (0, 2), (2, 4)}),
    ],
)
async def test_only_links_that_a_graph_can_have_are_cut(
    topology: dict[str, Any], linked: set[tuple[int, int]]
) -> None:
    async with ControlledCluster(
        MESH | {"agents": {"count": 5}, "topology": topology}, spawn=5
    ) as cluster:
        for a, b in linked:
            cluster.cut(a, b)
        if topology["kind"] == "ring":
            with pytest.raises(InputError, match="ddp-mab has no link between 0 and 2 here"):
                cluster.cut(0, 2)


async def test_before_its_beginning_and_after_its_end_nothing_can_be_done_to_it() -> None:
    with pytest.raises(PosseError, match="the cluster is not up"):
        await ControlledCluster(STAR).restart(0)
    async with ControlledCluster(STAR) as cluster:
        assert set(cluster.pids) == set(range(6))
    assert cluster.pids == {}  # by now the numbers may be anybody's
    for act in (lambda: cluster.kill(0), lambda: cluster.cut(0, COORDINATOR), cluster.heal):
        with pytest.raises(PosseError, match="the cluster is not up"):
            act()


@pytest.mark.parametrize("spawn", [-1, 7])
async def test_no_more_agents_are_started_than_there_are(spawn: int) -> None:
    with pytest.raises(InputError, match=f"spawn {spawn}: must be from 0 to 6"):
        ControlledCluster(STAR, spawn=spawn)


async def test_a_wait_for_what_is_never_said_ends_with_a_sentence() -> None:
    async with ControlledCluster({**STAR, "engine": {"kind": "memory"}}) as cluster:
        with pytest.raises(TimeoutError, match=r"0 of 3 messages \(kind Vote\) in 0 s"):
            await cluster.wait_for(3, kind="Vote", timeout=0)
