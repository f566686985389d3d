"""Runs in which agents accept no connections, over real sockets."""

from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.plan import Plan, prepare
from posse.security import keys
from posse.security.address import FORWARDED
from posse.testing.small import SMALL
from tests.support.remote import Agent, Coordinator, free_port

pytest.importorskip("nacl", reason="PyNaCl is not installed (extra: field)")


def run(plan: Plan, folder: Path, forwarded: set[int]) -> Any:
    keys.create(folder, plan.spec.agents.count)
    coordinator = Coordinator(plan, f"tcp://127.0.0.1:{free_port()}", folder)
    agents = [
        Agent(
            coordinator.endpoint,
            keys=keys.for_agent(folder, rank),
            inbox=FORWARDED if rank in forwarded else "",
            plan=plan,
        )
        for rank in range(plan.spec.agents.count)
    ]
    record = coordinator.ended()
    assert [agent.ended() for agent in agents] == [0] * len(agents), coordinator.error
    return record


@pytest.mark.parametrize("name", ["ddp-mab", "private-ucb"])
def test_the_result_is_that_of_direct_links_and_what_was_forwarded_is_counted(
    name: str, tmp_path: Path
) -> None:
    """One whom neighbours send data of its own, and one to whom they send all the same."""
    plan = prepare({"system": name, **SMALL[name]})
    record = run(plan, tmp_path, {0, 1})
    direct = memory.run(plan, 0)
    for what in ("answers", "regret", "pulls_per_agent", "log", "agent_logs", "ledgers"):
        assert getattr(record, what) == getattr(direct, what)
    assert record.communication.data == direct.communication.data
    near = plan.network(0).neighbours
    received = sum(
        link.messages for link in direct.links if link.target in {0, 1} and link.source >= 0
    )
    assert all(near[rank] for rank in (0, 1))
    assert record.communication.forwarded.messages >= received > 0
    assert record.communication.forwarded.bytes > 50 * received
    by_link = {(link.source, link.target) for link in record.delay.links}
    assert {(source, 0) for source in near[0]} <= by_link


def test_what_is_dropped_because_too_much_waits_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not much more may wait than one frame."""
    monkeypatch.setattr("posse.coordinator.hub._MOST_UNREAD", 1_000)
    plan = prepare({"system": "ddp-mab", **SMALL["ddp-mab"]})
    record = run(plan, tmp_path, {0})
    assert record.answers == memory.run(plan, 0).answers


def test_without_keys_nobody_is_sent_for() -> None:
    plan = prepare({"system": "ddp-mab", **SMALL["ddp-mab"], "engine": {"joining": 5.0}})
    coordinator = Coordinator(plan, f"tcp://127.0.0.1:{free_port()}")
    agent = Agent(coordinator.endpoint, 0, inbox=FORWARDED, plan=plan)
    assert agent.ended() == 1
    coordinator.stop()
