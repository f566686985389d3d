"""What stands around the server's machine: its arms, and what their rewards cost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms
from posse.coordinator.host import CoordinatorHost
from posse.durable.lifetime import read
from posse.engines import memory
from posse.hosts.effects import SendFrame
from posse.hosts.spending import RowsByArm, Spending, SpendingRequest
from posse_systems.tossou2015.messages import Choice
from tests.support.field import MEANS, field, logs
from tests.support.hosts import frame, sources


class Written(Spending):
    """Writes down what was used, and how much had been told by then."""

    def __init__(self) -> None:
        self.host: Any = None
        self.said: list[tuple[list[int], int]] = []

    def begin(self, task: SpendingRequest, arms: Arms) -> tuple[int, RowsByArm]:
        self.said.append(([], task.rank))
        return 0, None

    def uses(self, pulls: NDArray[np.int64]) -> None:
        self.said.append((pulls.tolist(), len(self.host._effects)))


def test_what_was_used_of_shared_arms_is_written_down_before_anybody_hears_of_it(
    tmp_path: Path,
) -> None:
    plan = field("tdfs-private", logs(tmp_path, MEANS, 5), agents={"count": 2})
    written = Written()
    here = replace(sources(), spending=lambda arms, base, rank: written)
    written.host = host = CoordinatorHost(plan, plan.network(0), 0, here)
    host.begin()
    for slot in (1, 2):
        for rank in (0, 1):
            effects = host.receive(rank, frame(Choice(slot, rank), rank, slot - 1))
        assert len([one for one in effects if isinstance(one, SendFrame)]) == 2
    others = [0] * (len(MEANS) - 2)
    assert written.said == [([], -1), ([1, 1, *others], 0), ([2, 2, *others], 0)]


def test_the_coordinators_ledger_has_what_shared_arms_gave(tmp_path: Path) -> None:
    plan = field("tdfs-private", logs(tmp_path, MEANS, 5), agents={"count": 2})
    record = memory.run(plan, 0)
    (run,) = read(tmp_path / "rewards-all.csv").runs
    assert run.rewards == record.pulls
    assert run.ended is not None
