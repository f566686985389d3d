"""A simulated machine: what a loss of power takes from its disk."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from posse.durable.journal import FRAME, Journal
from posse.durable.lifetime import read
from posse.engines.simulated.machine import BROKEN, FULL, SimulatedDisk
from posse.engines.simulated.schedule import Process, TurnSchedule
from posse.errors import DiskTrouble
from posse.gates import files
from posse.gates.disk import DISK
from tests.support.ledger import Run, log, task

__all__ = ["log"]

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
        token = DISK.set(disk)
        journal = Journal(path, "agent 0", synchronous=synchronous)
        journal.begin("here")
        for number in range(ROWS):
            journal.add(FRAME, number)
            journal.commit()
        disk.killed(schedule.running, silently=True)
        DISK.reset(token)
        with Journal(path, "agent 0").replay() as inputs:
            ranks = [rank for _, rank, _ in inputs]
        assert ranks == list(range(len(ranks)))
        lost.add(ROWS - len(ranks))
    assert lost == set(range(most_lost + 1))


@pytest.fixture
def disk() -> Iterator[SimulatedDisk]:
    """Of a process that runs."""
    schedule = TurnSchedule("disk")
    schedule.running = Process(schedule, 0, lambda: None)
    made = SimulatedDisk(schedule)
    token = DISK.set(made)
    yield made
    DISK.reset(token)


def test_a_loss_of_power_tears_the_end_of_a_file_that_nobody_waited_for(
    disk: SimulatedDisk, tmp_path: Path
) -> None:
    schedule, left = disk._schedule, set()
    for number in range(40):
        path = tmp_path / str(number)
        log = files.append(path)
        files.add(log, path, b"safe")
        schedule.now += 60.0
        files.add(log, path, b"lost")
        os.close(log)
        disk.killed(schedule.running, silently=True)
        left.add(path.read_bytes())
    assert left == {b"safelost"[:end] for end in range(4, 9)}


@pytest.mark.parametrize("trouble", [FULL, BROKEN])
def test_a_ledger_says_so_and_uses_nothing_while_its_disk_fails(
    trouble: str, disk: SimulatedDisk, log: Path
) -> None:
    run = Run(log, task())
    run.uses(2, 3)
    disk.trouble = trouble
    with pytest.raises(DiskTrouble, match=f"{log.name}.ledger cannot be written: {trouble}"):
        run.uses(4, 4)
    disk.killed(disk._schedule.running, silently=True)
    (entry,) = read(log).runs
    assert entry.rewards == 5
