"""Networks that are bad, always or for a while: every family ends with the undisturbed run.

`make chaos` lets every family meet every fault, and prints what came of it: see `tests.conftest`.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from posse.engines import memory
from posse.engines.coordinator.lobby import Phase
from posse.measure.traffic import RESENT
from posse.plan import Plan
from posse.results.record import RunRecord
from tests.support import anonymous, federated, players
from tests.support.relay import Relay, relay
from tests.support.remote import Agent, coordinator
from tests.support.runs import assert_same_run, refused, spec

pytestmark = pytest.mark.slow

DEADLINE = 60.0

RUNS: dict[str, Callable[[dict[str, Any]], Plan]] = {
    "mase": lambda engine: spec("mase", 6, engine=engine),
    "tdfs-ucb": lambda engine: players.spec("tdfs-ucb", horizon=50, deadline=5.0, engine=engine),
    "explore-then-commit": lambda engine: anonymous.spec("explore-then-commit", 4, engine=engine),
    "ddp-mab": lambda engine: federated.spec("ddp-mab", 3, {"kind": "ring"}, engine=engine),
    "private-ucb": lambda engine: spec(
        "private-ucb",
        3,
        parameters={"horizon": 20, "epsilon": 0.5},
        topology={"kind": "ring"},
        engine=engine,
    ),
}
MESHES = ("ddp-mab", "private-ucb")

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


def flapping(ways: list[Relay], ended: threading.Event) -> None:
    while not ended.wait(0.5):
        for way in ways:
            way.cut()


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
    "cut for 1 s": Fault(during=cut_for(1.0)),
    "cut for 10 s": Fault(during=cut_for(10.0), deadline=8.0),
    "cut for 10 s in linking": Fault(
        during=cut_for(10.0, after=0.1), phase=Phase.CONFIGURING, deadline=8.0
    ),
    "cut for 60 s": Fault(during=cut_for(60.0)),
    "cut for 60 s in linking": Fault(during=cut_for(60.0, after=0.1), phase=Phase.CONFIGURING),
    "cut for 60 s in joining": Fault(during=cut_for(60.0, after=0.5), phase=Phase.GATHERING),
    "flapping": Fault(during=flapping),
    "twelve resets": Fault(during=twelve_resets),
    "twelve resets in joining": Fault(during=twelve_resets, phase=Phase.GATHERING),
    "flapping from the start": Fault({"delay": 0.025}, flapping, phase=Phase.GATHERING),
    "silent there": Fault(during=silent("there")),
    "silent back": Fault(during=silent("back")),
    "silent": Fault(during=silent()),
    "10 kB/s": Fault({"rate": 10_000}),
    "a second each way": Fault({"delay": 1.0}),
}


IN_CI = (
    ("cut for 10 s", "twelve resets in joining", "silent there"),
    ("cut for 10 s in linking", "silent back", "a second each way"),
)
"""What real sockets do to links with the coordinator, and between agents.

The simulator draws these faults for every system, and assumes what is seen here of ZeroMQ: that a
lost connection is made anew, and silence noticed.
"""

Told = Callable[[str, object], None]
"""Notes something about a test; `make chaos` shows it."""


def disturbed(plan: Plan, fault: Fault, between_agents: bool, told: Told) -> RunRecord:
    """A run over relays before the coordinator, or before each agent's inbox."""
    heard: list[float] = []
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
                record = engine.run(plan, 0, lambda host: heard.append(time.monotonic()))
            finally:
                ended.set()
                thread.join(90)
        mended = max(way.mended_at for way in ways)
        later = [at - mended for at in heard if at > mended > 0.0]
        told("recovered after", f"{min(later):.2f} s" if later else "")
        again = record.communication.control.kinds.get(RESENT)
        told("sent again", again.messages if again is not None else 0)
        assert [agent.ended() for agent in up] == [0] * agents
    assert set(refused(record)) <= OF_JOINING
    record.refused.clear()
    return record


def pairs(names: Sequence[str], every: bool) -> list[tuple[str, str]]:
    """Who meets which fault: some, or every one every fault (`--chaos`)."""
    met = []
    for i, (fault, what) in enumerate(FAULTS.items()):
        if names is MESHES and what.phase is Phase.GATHERING:
            continue  # links between agents are made when all have joined
        if not every and fault not in IN_CI[names is MESHES]:
            continue
        # where each slot or each act is a round trip, a second each way is a matter of minutes
        able = [name for name in names if fault != "a second each way" or name in MESHES]
        met += [(name, fault) for name in (able if every else [able[-1 - i % len(able)]])]
    return met


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = MESHES if metafunc.function is test_between_agents else tuple(RUNS)
    every = bool(metafunc.config.getoption("--chaos"))
    metafunc.parametrize(("name", "fault"), pairs(names, every))


def assert_as_undisturbed(
    name: str, fault: str, between_agents: bool, request: pytest.FixtureRequest
) -> None:
    def told(what: str, how: object) -> None:
        request.node.user_properties.append((what, how))

    told("fault", fault)
    told("system", name)
    told("where", "between agents" if between_agents else "to the coordinator")
    plan = RUNS[name]({"deadline": FAULTS[fault].deadline})
    assert_same_run(memory.run(plan, 0), disturbed(plan, FAULTS[fault], between_agents, told))


def test_between_agents_and_coordinator(
    name: str, fault: str, request: pytest.FixtureRequest
) -> None:
    assert_as_undisturbed(name, fault, False, request)


def test_between_agents(name: str, fault: str, request: pytest.FixtureRequest) -> None:
    assert_as_undisturbed(name, fault, True, request)
