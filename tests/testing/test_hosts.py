"""A coordinator and agents that are processes of their own, and are killed."""

import asyncio

import pytest

from posse.errors import InputError
from posse.protocol.machine import COORDINATOR
from posse.testing import HostedCluster, nemesis
from posse.testing.simulator.check import result_of
from tests.testing.test_real_faults import fault, run_file, undisturbed


@pytest.mark.asyncio
@pytest.mark.slow
async def test_a_coordinator_that_is_a_process_of_its_own_is_killed_and_resumes() -> None:
    before = fault("kill", COORDINATOR, after=0)
    async with (
        HostedCluster(run_file("mase")) as cluster,
        nemesis(cluster, 0, faults=[before, fault("cut", 0, 1)]) as faults,
    ):
        assert faults == [before]  # links between agents have none
        for rank in range(cluster.spec.agents.count):
            cluster.delay(rank, COORDINATOR, 0.1)  # so that the run is not over when it is looked
        run = asyncio.create_task(cluster.run())
        await cluster.wait_for(1, kind="Vote")
        for rank in (COORDINATOR, 1):
            cluster.kill(rank)
            await cluster.restart(rank)
        result = await run
        voted = cluster.messages(kind="Vote")
        assert len({(vote.source, vote.number) for vote in voted}) == len(voted) > 0
        with pytest.raises(InputError, match="there is no agent 8; there are 0 to 7"):
            await cluster.restart(8)
    assert result_of(result.runs[0]) == undisturbed("mase")
    assert result.runs[0].restarts == {COORDINATOR: 1, 1: 1}


@pytest.mark.asyncio
async def test_hosts_have_no_network_and_keep_no_rewards() -> None:
    with pytest.raises(InputError, match=r"no \[network\]"):
        HostedCluster(run_file("mase") | {"network": {"delay": 0.1}})
