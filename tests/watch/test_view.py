"""How a run stands is looked at now and then, and at its end."""

import dataclasses

import pytest

from posse.engines import memory
from posse.hosts.coordinator import CoordinatorHost
from posse.protocol.machine import COORDINATOR
from posse.watch.view import View, Watcher, pairs
from tests.watch.test_feed import plan_of


def test_a_view_is_made_now_and_then_and_when_a_run_ends() -> None:
    plan = plan_of("dp-mase")
    watcher = Watcher(plan)
    views: list[View | None] = []
    heard = 0

    def observe(host: CoordinatorHost) -> None:
        nonlocal heard
        heard += 1
        watcher.observe(host)
        if watcher.view not in views:
            views.append(watcher.view)

    memory.run(plan, 0, observe)
    assert heard > 10
    assert [views[0].status, views[-1].status] == ["", "identified"]
    assert len(views) < heard


def test_nobody_can_change_one() -> None:
    plan = plan_of("dp-mase")
    watcher = Watcher(plan)
    memory.run(plan, 0, watcher.observe)
    with pytest.raises(dataclasses.FrozenInstanceError):
        watcher.view.run = 3  # type: ignore[misc]


def test_the_links_of_each_shape() -> None:
    star = [(rank, COORDINATOR) for rank in range(4)]
    ring = [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert pairs(plan_of("dp-mase").network(0), 4, served=True) == star
    assert pairs(plan_of("ddp-mab").network(0), 4, served=False) == ring
    assert pairs(plan_of("ucb1").network(0), 4, served=False) == []
    hybrid = plan_of("hdp-mab").network(0)
    assert pairs(hybrid, 4, served=True) == [(0, 1), (1, 2), *star]
