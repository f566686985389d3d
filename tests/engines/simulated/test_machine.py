"""A simulated machine: what a loss of power takes from its disk."""

from pathlib import Path

import pytest

from posse.durable.journal import FRAME, Journal
from posse.engines.simulated.machine import SimulatedDisk
from posse.engines.simulated.schedule import Process, TurnSchedule

ROWS = 20


@pytest.mark.parametrize(("synchronous", "most_lost"), [(True, 0), (False, 8)])
def test_a_loss_of_power_takes_the_last_rows_that_did_not_wait_for_the_disk(
    synchronous: bool, most_lost: int, tmp_path: Path
) -> None:
    lost = set()
    for seed in range(40):
        schedule = TurnSchedule(str(seed))
        schedule.running = Process(schedule, 0, lambda: None)
        disk, path = SimulatedDisk(schedule), tmp_path / str(seed)
        journal = Journal(path, "agent 0", synchronous=synchronous, disk=disk)
        journal.begin("here")
        for number in range(ROWS):
            journal.add(FRAME, number)
            journal.commit()
        disk.killed(schedule.running, silently=True)
        with Journal(path, "agent 0").replay() as inputs:
            ranks = [rank for _, rank, _ in inputs]
        assert ranks == list(range(len(ranks)))
        lost.add(ROWS - len(ranks))
    assert lost == set(range(most_lost + 1))
