"""A seed's faults on real processes; the simulator has them in virtual time.

A link that is silent is so for longer than it takes to be noticed, 4 s.
"""

from typing import Any

import pytest

from posse.engines import memory
from posse.errors import InputError
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.testing import ControlledCluster, nemesis
from posse.testing.real_faults import REAL
from posse.testing.simulator.check import result_of
from posse.testing.simulator.faults import InjectedFault
from posse.testing.small import SMALL

ENGINE = {"kind": "processes", "transport": "tcp", "restarts": 100}


def run_file(name: str) -> dict[str, Any]:
    return {"system": name, **SMALL[name], "engine": ENGINE}


def undisturbed(name: str) -> dict[str, Any]:
    return result_of(memory.run(prepare(run_file(name)), 0))


def fault(
    what: Any, *ends: int, lasts: float = 0.3, amount: float = 0.0, after: int = 20
) -> InjectedFault:
    return InjectedFault(what=what, after=after, ends=ends, lasts=lasts, amount=amount)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "given",
    [
        pytest.param(fault("delay", 0, 1, amount=0.05), marks=pytest.mark.slow),
        pytest.param(fault("jitter", 0, 1, amount=0.02), marks=pytest.mark.slow),
        pytest.param(fault("bandwidth", 0, 1, amount=1e4), marks=pytest.mark.slow),
        fault("lose", 0, 1, amount=0.3),
        pytest.param(fault("duplicate", 0, 1, amount=0.9), marks=pytest.mark.slow),
        pytest.param(fault("reorder", 0, 1, amount=0.5), marks=pytest.mark.slow),
        pytest.param(fault("reset", 0, 1, lasts=0.0), marks=pytest.mark.slow),
        pytest.param(fault("drop", 0, 1, lasts=7.0), marks=pytest.mark.slow),
        pytest.param(fault("drop one way", 1, 0, lasts=7.0), marks=pytest.mark.slow),
        pytest.param(fault("partition", 0, lasts=7.0), marks=pytest.mark.slow),
        fault("kill", 1),
        pytest.param(fault("stop", 1), marks=pytest.mark.slow),
    ],
    ids=lambda given: given.what.replace(" ", "-"),
)
async def test_a_fault_leaves_the_record_as_it_is(given: InjectedFault) -> None:
    async with (
        ControlledCluster(run_file("private-ucb")) as cluster,
        nemesis(cluster, 0, faults=[given]) as faults,
    ):
        assert faults == [given]
        result = await cluster.run()
    assert result_of(result.runs[0]) == undisturbed("private-ucb")
    assert result.runs[0].restarts == ({1: 1} if given.what == "kill" else {})


@pytest.mark.asyncio
async def test_the_same_seed_draws_the_same_faults_as_the_simulator() -> None:
    async with ControlledCluster(run_file("mase")) as cluster:
        drawn = []
        for _ in range(2):
            async with nemesis(cluster, 5) as faults:
                drawn.append(faults)
            with pytest.raises(InputError, match="real processes have"):
                async with nemesis(cluster, 5, kinds=["disk full"]):
                    pass
    assert drawn[0] == drawn[1] != []
    assert {one.what for one in drawn[0]} <= set(REAL)


@pytest.mark.asyncio
async def test_a_coordinator_has_no_process_of_its_own() -> None:
    async with (
        ControlledCluster(run_file("mase")) as cluster,
        nemesis(cluster, 0, faults=[fault("kill", COORDINATOR)]) as faults,
    ):
        assert faults == []
