"""Live traffic under kills: whatever an application does, the run is that over a log."""

import random
from collections import Counter
from pathlib import Path

import pytest

from posse import api
from posse.engines import memory
from posse.engines.simulated.cluster import SimulatedCluster
from posse.engines.simulated.visitors import reward_at
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from tests.runs.test_restarts import undisturbed_part

HORIZON = 200


@pytest.mark.parametrize("kills", [0, 6])
@pytest.mark.parametrize("seed", range(4))
def test_the_run_is_that_over_a_log(seed: int, kills: int, tmp_path: Path) -> None:
    raw = {
        "system": "cdp-mab",
        "seed": seed,
        "agents": {"count": 2},
        "parameters": {"horizon": HORIZON, "epsilon": 1.0},
        "base": str(tmp_path),
    }
    arms = {"kind": "live", "count": 3, "timeout": 5.0}
    cluster = SimulatedCluster(
        prepare({**raw, "arms": arms, "engine": {"durable": True}}), seed, api.serve
    )
    draw = random.Random(seed)

    def kill() -> None:
        rank = draw.choice([COORDINATOR, 0, 1])
        if cluster.is_up(rank):
            killed.append(rank)
            cluster.kill(rank)
            cluster.start(rank)

    killed: list[int] = []
    for n in range(kills):
        cluster.schedule.call_later(3.0 + n * draw.uniform(0.2, 1.0), kill)
    try:
        cluster.run(cluster.schedule.now + 1_000.0)
    finally:
        cluster.close()
    assert len(killed) >= kills // 2
    assert not cluster.defects
    assert [door.wrong for door in cluster.doors.values()] == [[], []]
    counts = sum((Counter(door.status().counts) for door in cluster.doors.values()), Counter())
    assert counts["timed out"]
    assert counts["told again"]
    assert counts["refused, late"]
    for rank in range(2):
        rows = [f"{arm},{reward_at(rank, arm, n)}" for arm in range(3) for n in range(HORIZON)]
        (tmp_path / f"{rank}.csv").write_text("\n".join(["arm,reward", *rows]))
    csv = {"kind": "csv", "path": "{rank}.csv", "count": 3}
    expected = memory.run(prepare({**raw, "arms": csv}), 0)
    live, plain = (undisturbed_part(record) for record in (cluster.records[0], expected))
    del live["privacy"], plain["privacy"]  # which say what kind of arms these are
    assert live == plain
