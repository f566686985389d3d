"""The simulator's faults on real processes: what a seed draws is the same in both."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from posse.errors import InputError
from posse.protocol.machine import COORDINATOR
from posse.testing.controlled import Controlled
from posse.testing.hosts import HostedCluster
from posse.testing.simulator.check import course
from posse.testing.simulator.faults import LINKS, InjectedFault, draw

REAL: tuple[str, ...] = (*sorted(LINKS - {"queue full"}), "partition", "kill", "stop")
"""The kinds of faults that can happen here: to links, and to agents' processes.

Disks, clocks and arms are the simulator's. A `ControlledCluster`'s coordinator, which is in the
test's own process, has no faults of its own; a `HostedCluster` has none between agents.
"""

_LOOK = 0.005


@asynccontextmanager
async def nemesis(
    cluster: Controlled,
    seed: int,
    *,
    kinds: Sequence[str] = REAL,
    faults: Sequence[InjectedFault] | None = None,
) -> AsyncIterator[list[InjectedFault]]:
    """Let faults that `seed` draws happen to a cluster's runs; yields those that will happen.

        async with nemesis(cluster, seed=7) as faults:
            result = await cluster.run()

    They begin after as many frames as in the simulator, last as long, and are over at the end.
    `faults` happen instead of those that the seed draws. A killed agent comes back if
    `engine.restarts` says so; a killed member of a `HostedCluster`, also its coordinator, when the
    fault is over. Engine `processes`; it needs greenlet.
    """
    spec = cluster.spec
    if spec.engine.kind != "processes":
        raise InputError(
            f'engine {spec.engine.kind} has no processes: use engine.kind = "processes"'
        )
    if unknown := sorted(set(kinds) - set(REAL)):
        raise InputError(f"kinds {unknown}: real processes have {', '.join(REAL)}")
    if faults is None:
        frames, links, _ = course(msgspec.msgpack.encode(spec), "apart")
        faults = draw(seed, spec.agents.count, frames, links, kinds)
    happening = [fault for fault in faults if _can_happen(cluster, fault)]
    tasks = [asyncio.create_task(_happen(cluster, fault)) for fault in happening]
    try:
        yield happening
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        cluster.heal()


async def _happen(cluster: Controlled, fault: InjectedFault) -> None:
    """Wait for a fault's moment; begin it, and end it after its time."""
    while len(cluster.messages(again=True)) < fault.after:
        await asyncio.sleep(_LOOK)
    await asyncio.sleep(fault.later)
    _begin(cluster, fault)
    try:
        await asyncio.sleep(fault.lasts)
    finally:
        await _end(cluster, fault)


def _can_happen(cluster: Controlled, fault: InjectedFault) -> bool:
    if isinstance(cluster, HostedCluster):
        return fault.what not in LINKS or COORDINATOR in fault.ends
    return fault.what in LINKS or fault.what == "partition" or COORDINATOR not in fault.ends


def _begin(cluster: Controlled, fault: InjectedFault) -> None:
    a, b = fault.ends[0], fault.ends[-1]
    match fault.what:
        case "delay":
            cluster.delay(a, b, fault.amount)
        case "jitter":
            cluster.jitter(a, b, fault.amount)
        case "bandwidth":
            cluster.bandwidth(a, b, fault.amount)
        case "lose":
            cluster.drop(a, b, fault.amount)
        case "duplicate":
            cluster.duplicate(a, b, fault.amount)
        case "reorder":
            cluster.reorder(a, b, fault.amount)
        case "reset" | "cut":
            cluster.cut(a, b)
        case "drop" | "drop one way":
            cluster.silence(a, b, one_way=fault.what == "drop one way")
        case "partition":
            for a, b in _across(cluster, fault):
                cluster.silence(a, b)
        case "kill" | "stop":
            for rank in fault.ends:
                with suppress(InputError):  # it has no process now
                    (cluster.kill if fault.what == "kill" else cluster.pause)(rank)


async def _end(cluster: Controlled, fault: InjectedFault) -> None:
    match fault.what:
        case "kill" if isinstance(cluster, HostedCluster):
            for rank in fault.ends:
                await cluster.restart(rank)
        case "stop":
            for rank in fault.ends:
                with suppress(InputError):
                    cluster.resume(rank)
        case "partition":
            for a, b in _across(cluster, fault):
                cluster.mend(a, b, "silent")
        case what if what in LINKS:
            cluster.mend(fault.ends[0], fault.ends[1], _NAMES.get(what, what))


_NAMES = {
    "lose": "share",
    "duplicate": "twice",
    "reorder": "behind",
    "reset": "cut",
    "drop": "silent",
    "drop one way": "silent",
}
"""What the relays call a kind of fault, where it has another name."""


def _across(cluster: Controlled, fault: InjectedFault) -> list[tuple[int, int]]:
    """The links between a partition's two sides."""
    everybody = range(COORDINATOR, cluster.spec.agents.count)
    pairs = [(a, b) for a in fault.ends for b in everybody if b not in fault.ends]
    return [(a, b) for a, b in pairs if COORDINATOR in (a, b) or cluster.linked(a, b)]
