"""One agent that has a key and means no good: it ends its own part, or the run by its name."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zmq

from posse.engines.processes import ProcessEngine
from posse.plan import Plan
from posse.protocol import control
from posse.security import keys
from tests.support import anonymous
from tests.support.hostile import HostilePeer
from tests.support.hosts import frame
from tests.support.remote import Agent, Coordinator, until
from tests.support.runs import beside, spec

RING = {"kind": "ring"}
QUIET = {"deadline": 2.0, "clock": "wall"}


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    logging.getLogger("posse").propagate = True
    caplog.set_level(logging.INFO, "posse")
    return caplog


class Site:
    """A coordinator with keys, honest agents from rank 1 on, and agent 0."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        count = plan.spec.agents.count
        keys.create(folder, count)
        self.coordinator = Coordinator(plan, "tcp://127.0.0.1:*", folder)
        self.agents = [
            Agent(self.coordinator.endpoint, keys=keys.for_agent(folder, rank))
            for rank in range(1, count)
        ]
        self.peer = HostilePeer(self.coordinator.endpoint, 0, keys.for_agent(folder, 0))


@contextmanager
def site(plan: Plan, folder: Path) -> Iterator[Site]:
    here = Site(plan, folder)
    with here.peer:
        try:
            yield here
        finally:
            here.coordinator.stop()
            for agent in here.agents:
                agent.ended()


def users(**engine: Any) -> Plan:
    return anonymous.spec(
        "anonymous",
        6,
        parameters={"horizon": 600, "group_size": 2},
        engine={"clock": "wall", "deadline": 2.0, **engine},
    )


@pytest.mark.slow
def test_an_agent_that_fails_in_a_run_that_can_do_without_it_is_dismissed(
    tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    with site(users(), tmp_path) as here:
        here.peer.join()
        here.peer.until("Begin")
        here.peer.say(control.Failed("\x1b[31mno\x1b[0m\nposse: agent 3 is at fault"))
        record = here.coordinator.ended()
        assert here.coordinator.error is None
        assert (record.status, record.dismissed) == ("horizon", {0: "lost"})
        until(lambda: "the run goes on without it" in said.text, "the log")
    assert r"agent 0 cannot go on: \x1b[31mno\x1b[0m" in said.text
    assert "\x1b" not in said.text


SILENT: dict[str, Callable[[HostilePeer], object]] = {
    "nothing at all": lambda peer: None,
    "garbage": lambda peer: peer.socket.send(b"garbage"),
    "how far it is": lambda peer: peer.say(control.SlotReached()),
    "attests": lambda peer: peer.say(control.Attested(1, b"")),
    "the time": lambda peer: peer.say(control.Sync(1)),
}


def speaking(act: Callable[[], object]) -> AbstractContextManager[None]:
    """`act` five times a second, until the block ends."""

    def speak(over: threading.Event) -> None:
        while not over.wait(0.2):
            with suppress(zmq.Again):
                act()

    return beside(speak)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["how far it is"])
def test_an_agent_that_is_waited_for_and_says_nothing_of_worth_is_done_without(
    what: str, tmp_path: Path
) -> None:
    with site(users(), tmp_path) as here:
        here.peer.join()
        here.peer.until("Begin")
        with speaking(partial(SILENT[what], here.peer)):
            record = here.coordinator.ended()
        assert here.coordinator.error is None
        assert record.status == "horizon"
        assert list(record.dismissed) == [0]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["nothing at all", "attests"])
def test_a_run_that_needs_such_an_agent_ends_by_its_name_at_the_deadline(
    what: str, tmp_path: Path
) -> None:
    parameters = {"epsilon": 1.0, "horizon": 2_000}
    engine = {"deadline": 2.0, "on_missing": "end"}
    plan = spec("cdp-mab", 3, parameters=parameters, engine=engine)
    with site(plan, tmp_path) as here:
        here.peer.join()
        here.peer.until("Begin")
        with speaking(partial(SILENT[what], here.peer)):
            here.coordinator.ended()
        assert "nothing was heard for 2 s; waiting for agent 0" in str(here.coordinator.error)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["garbage", "the time"])
def test_a_wait_for_an_agent_to_be_ready_ends_by_its_name(what: str, tmp_path: Path) -> None:
    with site(spec("central", 2, engine=QUIET), tmp_path) as here:
        here.peer.join()
        with speaking(partial(SILENT[what], here.peer)):
            here.coordinator.ended()
        assert str(here.coordinator.error).endswith("waiting for agent 0 to be ready")


@pytest.mark.parametrize("inbox", ["nonsense", "inproc://zeromq.zap.01", "ipc:///tmp/not-there/x"])
def test_an_inbox_of_its_own_choice_keeps_an_agent_out_and_harms_no_neighbour(
    inbox: str, tmp_path: Path
) -> None:
    graph = {"topology": RING, "parameters": {"horizon": 50}}
    plan = spec("cooperative-ucb", 3, **graph, engine={"joining": 2.0})
    with site(plan, tmp_path) as here:
        here.peer.join(inbox)
        assert "is not tcp://ADDRESS:PORT" in here.peer.until("Refused")[1]
        here.coordinator.ended()
        assert str(here.coordinator.error).endswith("waiting for agent 0 to join")
        assert [agent.ended() for agent in here.agents] == [3, 3]


@pytest.mark.slow
def test_other_users_of_this_machine_do_not_get_into_a_posse_over_loopback() -> None:
    """They see its ports: they could ask for its clock, or send frames in a neighbour's name."""
    engine = {"transport": "tcp", "deadline": 10.0}
    plan = spec("cooperative-ucb", 4, topology=RING, parameters={"horizon": 300}, engine=engine)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    forged = frame(control.Stop(), 0, 2**32 - 1)
    with ProcessEngine(plan) as posse:
        inboxes = posse.hub.lobby.roster.inboxes
        sockets = [context.socket(zmq.XPUB) for _ in inboxes]
        hub = context.socket(zmq.DEALER)
        hub.connect(posse.endpoint)
        for stranger, inbox in zip(sockets, inboxes.values(), strict=True):
            stranger.connect(inbox)

        def strike() -> None:
            hub.send(frame(control.Sync(1), -1, 0), zmq.NOBLOCK)
            for stranger in sockets:
                stranger.send(forged, zmq.NOBLOCK)

        with speaking(strike):
            record = posse.run(plan, 0)
        assert hub.poll(0) == 0
    for stranger in (*sockets, hub):
        stranger.close(0)
    context.term()
    assert record.status == "horizon"
    assert not {"replayed", "wrong-source", "control-from-agent"} & record.refused.keys()
