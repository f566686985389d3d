"""Agents of the field that are killed and started again: no statistic is noised twice."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from posse.durable.capture import Capture
from posse.durable.frames import Frame, read
from posse.security.keys import create, for_agent
from tests.support.field import MEANS, field, logs
from tests.support.killed import disturbed
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.remote import Agent

needs_noise()


def said_twice(frames: list[Frame]) -> list[tuple[int | None, int | None, str]]:
    """What an agent said under one number in two ways: its noise, for one, was drawn again."""
    said: defaultdict[Any, set[str]] = defaultdict(set)
    for frame in frames:
        if frame.plane in ("data", "world") and frame.source != -1:
            said[frame.source, frame.run, frame.sequence, frame.kind].add(repr(frame.fields))
    return [name for name, ways in said.items() if len(ways) > 1]


@pytest.mark.slow
def test_a_killed_coordinator_has_nothing_noised_twice(tmp_path: Path) -> None:
    """With keys and on real disks; the simulator holds the same of every system."""
    plan = field("tdfs-private", logs(tmp_path / "logs", MEANS, 5), agents={"count": 3})
    create(tmp_path / "keys", plan.spec.agents.count)
    capture = Capture(tmp_path / "frames", new=True)
    pairs = [for_agent(tmp_path / "keys", rank) for rank in range(plan.spec.agents.count)]

    def agents(endpoint: str) -> list[Agent]:
        return [
            Agent(endpoint, rank, keys=pair, plan=plan, wait=PATIENCE, tap=capture)
            for rank, pair in enumerate(pairs)
        ]

    keys = ("--keys", str(tmp_path / "keys"))
    try:
        run = disturbed(plan, tmp_path, [30_000], agents, keys)
    finally:
        capture.close()
    assert run["restarts"] == {"-1": 1}
    assert said_twice(list(read(tmp_path / "frames"))) == []
