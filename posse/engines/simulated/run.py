"""Runs in memory over the network that their run file declares, in virtual time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from posse.coordinator.setups import Observer
from posse.durable.capture import Capture
from posse.engines.processes import ProcessEngine
from posse.engines.simulated.cluster import SimulatedCluster
from posse.engines.simulated.schedule import START
from posse.errors import PosseError, RunFailed
from posse.plan import Plan
from posse.protocol.machine import COORDINATOR
from posse.results.record import RunRecord
from posse.wire.world import World

_LONGEST = 1e9
"""Virtual seconds after which a run is given up: all that waits has a deadline of its own."""


def run(
    plan: Plan, number: int, observe: Observer, tap: Capture | None = None, serial: int = 0
) -> RunRecord:
    """Run number `number` of a plan with `[network]`; returns its record, with virtual times.

    The result is that of `posse.engines.memory`. `serial` is its number in the capture, whose
    times are virtual, too, from 1970 on. `RunFailed` if it stands still.
    """
    serve = partial(_served, observe, tap, serial)
    cluster = SimulatedCluster(plan, f"{plan.spec.seed} {number}", serve, numbers=[number], tap=tap)
    cluster.per_turn = 0.0
    cluster.network.declared = plan.spec.conditions(number)
    clock = None if tap is None else tap.now
    if tap is not None:
        tap.now = lambda: round(1e9 * (cluster.schedule.now - START))
    try:
        cluster.run(cluster.schedule.now + _LONGEST, lambda: bool(cluster.defects))
    finally:
        cluster.close()
        if tap is not None and clock is not None:
            tap.now = clock
    if number in cluster.records:
        return cluster.records[number]
    if cluster.defects:
        raise RunFailed(cluster.defects[0])
    raise cluster.errors.get(COORDINATOR, RunFailed("the run stood still"))


@contextmanager
def _served(
    observe: Observer,
    tap: Capture | None,
    serial: int,
    plan: Plan,
    *,
    bind: str,
    journal: Path | None,
    world: World,
) -> Iterator[Callable[[Sequence[int]], Iterator[tuple[int, RunRecord | PosseError]]]]:
    """See `posse.api.serve`; nothing here outlives the simulation, so nothing is kept."""
    options: dict[str, Any] = {
        "bind": bind,
        "token": "",
        "spawn": 0,
        "world": world,
        "first_serial": serial,
    }
    with ProcessEngine(plan, capture=tap, **options) as engine:

        def made(numbers: Sequence[int]) -> Iterator[tuple[int, RunRecord | PosseError]]:
            for place, number in enumerate(numbers):
                yield place, engine.run(plan, number, observe)

        yield made
