"""A coordinator and agents that are processes of their own, and are killed."""

import pytest

from posse.errors import InputError
from posse.protocol.machine import COORDINATOR
from posse.testing import HostedCluster, nemesis
from posse.testing.simulator.check import result_of
from posse.testing.small import SMALL
from tests.testing.test_real_faults import fault, run_file, undisturbed


@pytest.mark.asyncio
@pytest.mark.slow
async def test_a_coordinator_that_is_a_process_of_its_own_is_killed_and_resumes() -> None:
    agents = range(SMALL["mase"]["agents"]["count"])
    slow = [fault("delay", rank, COORDINATOR, lasts=99.0, amount=0.1, after=0) for rank in agents]
    begun = 22 * len(agents)
    """Frames until a run has begun; the delay holds it until the processes are killed."""
    killed = [
        fault("kill", COORDINATOR, after=begun + 14),
        fault("kill", 1, after=begun + 34),
    ]
    async with (
        HostedCluster(run_file("mase")) as cluster,
        nemesis(cluster, 0, faults=[*slow, *killed, fault("cut", 0, 1)]) as faults,
    ):
        assert faults == [*slow, *killed]  # links between agents have none
        result = await cluster.run()
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
