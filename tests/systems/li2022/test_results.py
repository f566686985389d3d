"""What rounds of federated elimination cost when agents are lost on the way."""

from pathlib import Path

import numpy as np
import pytest

import posse
from posse.engines import memory
from posse.plan import prepare
from posse_systems.li2022.messages import RoundRow


@pytest.mark.parametrize("few", [700, 20_000])
def test_a_round_of_cdp_costs_the_uploads_that_were_asked_for(tmp_path: Path, few: int) -> None:
    """Agent 2 may have rewards for two rounds of three; c1 = 25."""
    generator = np.random.default_rng(0)
    for agent, count in enumerate([20_000, 20_000, few, 20_000]):
        lines = [
            f"{arm},{int(generator.random() < mean)}"
            for arm, mean in enumerate((0.6, 0.55))
            for _ in range(count)
        ]
        (tmp_path / f"agent-{agent}.csv").write_text("\n".join(["arm,reward", *lines, ""]))
    raw = {
        "system": "cdp-mab",
        "seed": 1,
        "agents": {"count": 4},
        "arms": {"kind": "csv", "path": "agent-{rank}.csv", "count": 2},
        "parameters": {"horizon": 15_000, "epsilon": 1.0, "c1": 25.0},
        "base": str(tmp_path),
    }
    record = memory.run(prepare(raw), 0)
    asked = [row.asked for _, row in RoundRow.select(record.log)]
    assert asked == [4, 4, 3 if few == 700 else 4]
    traffic = record.communication
    found = [(row.round, row.links, row.cost) for row in traffic.per_round]
    assert found == [(r, n, 25.0 * n) for r, n in enumerate(asked, start=1)]
    assert traffic.cost == 25.0 * sum(asked)


def test_the_arms_of_a_round_are_those_that_it_began_with() -> None:
    """One round of means 1 and 0 leaves one arm, of the two that it explored."""
    run = posse.run(
        {
            "system": "cdp-mab",
            "agents": {"count": 4},
            "arms": {"kind": "bernoulli", "means": [1.0, 0.0]},
            "parameters": {"horizon": 3000, "epsilon": 1e6},
            "engine": {"kind": "memory"},
        }
    ).runs[0]
    assert (run.rounds, run.status) == (1, "identified")
    assert run.detail.lines(run) == [("arms explored", "2 by round")]
