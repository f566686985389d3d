"""Networks that are bad, always or for a while: runs end as if undisturbed.

These show on real sockets what the simulator assumes when it lets every system meet every fault:
that a lost connection is made anew, silence noticed, and slowness waited for.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from posse.engines import memory
from posse.engines.coordinator.lobby import Phase
from posse.plan import Plan
from posse.results.record import RunRecord
from tests.support import federated, players
from tests.support.relay import Relay, relay
from tests.support.remote import Agent, coordinator
from tests.support.runs import assert_same_run, refused, spec

pytestmark = pytest.mark.slow

DEADLINE = 60.0

RUNS: dict[str, Callable[[dict[str, Any]], Plan]] = {
    "tdfs-ucb": lambda engine: players.spec("tdfs-ucb", horizon=50, deadline=5.0, engine=engine),
    "ddp-mab": lambda engine: federated.spec("ddp-mab", 3, {"kind": "ring"}, engine=engine),
    "private-ucb": lambda engine: spec(
        "private-ucb",
        3,
        parameters={"horizon": 20, "epsilon": 0.5},
        topology={"kind": "ring"},
        engine=engine,
    ),
}
OF_JOINING = {"never-joined", "out-of-turn"}
"""What was said over a connection that was lost in joining comes over a new one."""


@dataclass
class Fault:
    """What each relay is like, and what is done to all of them from a phase of the run on."""

    relay: dict[str, Any] = field(default_factory=lambda: {"delay": 0.05})
    during: Callable[[list[Relay], threading.Event], None] = lambda ways, ended: None
    phase: Phase = Phase.CARRYING
    deadline: float = DEADLINE


def cut_for(seconds: float, after: float = 0.2) -> Callable[[list[Relay], threading.Event], None]:
    def during(ways: list[Relay], ended: threading.Event) -> None:
        ended.wait(after)
        for way in ways:
            way.interrupt()
        ended.wait(seconds)
        for way in ways:
            way.restore()

    return during


def twelve_resets(ways: list[Relay], ended: threading.Event) -> None:
    for _ in range(12):
        ended.wait(0.25)
        for way in ways:
            way.cut()


def silent(*directions: str) -> Callable[[list[Relay], threading.Event], None]:
    def during(ways: list[Relay], ended: threading.Event) -> None:
        ended.wait(0.2)
        for way in ways:
            way.hold(*directions)
        ended.wait(7.0)  # longer than it takes to be noticed
        for way in ways:
            way.restore()

    return during


FAULTS = {
    "cut for 10 s": Fault(during=cut_for(10.0), deadline=8.0),
    "cut for 10 s in linking": Fault(
        during=cut_for(10.0, after=0.1), phase=Phase.CONFIGURING, deadline=8.0
    ),
    "twelve resets in joining": Fault(during=twelve_resets, phase=Phase.GATHERING),
    "silent there": Fault(during=silent("there")),
    "silent back": Fault(during=silent("back")),
    "a second each way": Fault({"delay": 1.0}),
}


def disturbed(plan: Plan, fault: Fault, between_agents: bool) -> RunRecord:
    """A run over relays before the coordinator, or before each agent's inbox."""
    agents = plan.spec.agents.count
    ended = threading.Event()
    with ExitStack() as opened:
        with coordinator(plan) as engine:
            ways = []
            endpoint, hub = engine.endpoint, engine.hub
            if not between_agents:
                ways.append(opened.enter_context(relay(endpoint, **fault.relay)))
                endpoint = ways[0].endpoint

            def disturb() -> None:
                while not (ways and hub.lobby.phase is fault.phase) and not ended.wait(0.01):
                    pass
                fault.during(ways, ended)

            thread = threading.Thread(target=disturb, daemon=True)
            thread.start()
            try:
                up = [Agent(endpoint, rank, wait=300.0) for rank in range(agents)]
                hub.gather()
                if between_agents:
                    for member in hub.lobby.roster.members.values():
                        ways.append(opened.enter_context(relay(member.inbox, **fault.relay)))
                        member.inbox = ways[-1].endpoint
                record = engine.run(plan, 0)
            finally:
                ended.set()
                thread.join(90)
        assert [agent.ended() for agent in up] == [0] * agents
    assert set(refused(record)) <= OF_JOINING
    record.refused.clear()
    return record


def assert_as_undisturbed(name: str, fault: str, *, between_agents: bool) -> None:
    plan = RUNS[name]({"deadline": FAULTS[fault].deadline})
    assert_same_run(memory.run(plan, 0), disturbed(plan, FAULTS[fault], between_agents))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("ddp-mab", "cut for 10 s"),
        ("tdfs-ucb", "twelve resets in joining"),
        ("private-ucb", "silent there"),
    ],
)
def test_between_agents_and_coordinator(name: str, fault: str) -> None:
    assert_as_undisturbed(name, fault, between_agents=False)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("private-ucb", "cut for 10 s in linking"),
        ("ddp-mab", "silent back"),
        ("private-ucb", "a second each way"),
    ],
)
def test_between_agents(name: str, fault: str) -> None:
    assert_as_undisturbed(name, fault, between_agents=True)
