"""An agent's process against a scripted coordinator: what it says, and how it ends."""

import gc
import importlib
import logging
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import zmq

from posse.agent.process import AgentProcess
from posse.agent.remote import remote_agent
from posse.coordinator.crew import Crew
from posse.coordinator.roster import SUPERSEDED
from posse.coordinator.setups import agent_setups
from posse.durable.journal import Journal
from posse.engines.start import forkserver
from posse.errors import PosseError
from posse.plan import Plan, prepare
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.wire import Codec, encode, read_header
from posse.wire.session import Session, shows_life
from posse.wire.sockets import end
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.remote import Serving, until
from tests.support.runs import spec

CODEC = Codec((*control.TO_LOBBY, *control.TO_COORDINATOR))


class Coordinator:
    """A ROUTER that says what the test says."""

    def __init__(self, folder: Path) -> None:
        self.endpoint = f"ipc://{folder}/hub"
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.RCVTIMEO, int(1000 * PATIENCE))
        self._socket.bind(self.endpoint)
        self._agent = b""
        self._session = Session()

    def hears_another(self) -> None:
        """From here on another process is heard."""
        self._session = Session()

    def heard(self) -> Message:
        frame = self.frame()
        return CODEC.decode(read_header(frame).plane, frame)

    def frame(self) -> bytes:
        self._agent, data = self._socket.recv_multipart()
        frame = self._session.take(data)
        assert frame is not None
        return frame

    def data(self) -> bytes:
        """What comes next, with its envelope."""
        return self._socket.recv_multipart()[1]

    def frames_until_asked(self) -> int:
        """How many frames come before the agent asks what was taken."""
        frames = 0
        while self._session.take(self._socket.recv_multipart()[1]) is not None:
            frames += 1
        return frames

    def answers(self) -> None:
        """Says what was taken."""
        self._socket.send_multipart((self._agent, self._session.replies[-1]))
        self._session.replies.clear()

    def confirms(self) -> None:
        """Says unasked what was taken."""
        self._session.confirm()
        self.answers()

    def says(self, message: Message | bytes, run: int = 0) -> None:
        frame = (
            message
            if isinstance(message, bytes)
            else encode(message, run=run, source=COORDINATOR, sequence=0, now=0.0, sent=0)
        )
        self._socket.send_multipart((self._agent, frame))

    def configures(self, run: Plan) -> None:
        """An agent joins and is configured, one of another machine once it knows the time."""
        join = self.heard()
        assert isinstance(join, control.Join)
        if join.incarnation:
            self.says(control.Welcome(3, run.spec.system))
            while isinstance(said := self.heard(), control.Sync):
                self.says(control.Synced(said.sent, said.sent))
        self.says(configure(run))
        assert isinstance(self.heard(), control.Ready)

    def close(self) -> None:
        self._socket.close(0)
        end(self._context)


def serving(coordinator: Coordinator, journals: Path | None = None, **options: Any) -> Serving:
    crew = Crew({}, "token", "", [], "", journals=str(journals or ""))
    return Serving(forkserver.local_agent(crew, coordinator.endpoint, 3, **options))


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    scripted = Coordinator(tmp_path)
    yield scripted
    scripted.close()


def configure(run: Plan, rank: int = 3) -> control.Configure:
    setup = agent_setups(run, run.network(0))[rank]
    return control.Configure(rank, msgspec.msgpack.encode(setup))


@pytest.mark.inside
def test_who_may_say_no_more_asks_beside_its_coordinator_too_what_was_taken(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("posse.agent.uplink.Session", partial(Session, most_frames=100))
    agent = serving(coordinator)
    coordinator.configures(spec("central", 8, engine={"clock": "wall"}))
    coordinator.says(control.Begin(0, 0))
    assert 50 <= coordinator.frames_until_asked() <= 100
    coordinator.answers()
    assert coordinator.frames_until_asked() >= 50
    coordinator.says(control.Goodbye())
    coordinator.answers()
    assert agent.ended() == 0


@pytest.mark.inside
def test_a_defect_is_told_and_is_a_run_that_failed(
    coordinator: Coordinator, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = serving(coordinator)
    coordinator.heard()

    def broken(*arguments: Any) -> Any:
        raise ZeroDivisionError("by zero \udcff")

    monkeypatch.setattr("posse.agent.process.AgentHost", broken)
    coordinator.says(configure(spec("central", 8)))
    said = coordinator.heard()
    assert isinstance(said, control.Failed)
    sentence, _, trace = said.reason.partition("\n")
    assert sentence.startswith(
        "agent 3 has a defect: ZeroDivisionError: by zero \\udcff (tests/agent/"
    )
    assert trace.startswith("Traceback")
    assert agent.ended() == 3
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("mode", ["lab", "field"])
def test_in_the_field_a_failure_is_said_here_and_not_there(
    mode: str,
    coordinator: Coordinator,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "rewards-3.csv").write_text("arm,reward\n0,0.123456\n0,nonsense\n")
    csv = {"kind": "csv", "path": "rewards-{rank}.csv", "count": 2}
    run = spec("central", 8, mode=mode, seed=0, arms=csv, base=str(tmp_path))
    agent = serving(coordinator)
    coordinator.heard()
    coordinator.says(configure(run))
    if mode == "lab":  # the field's logs are read before anything costs ε
        assert isinstance(coordinator.heard(), control.Ready)
        coordinator.says(control.Begin(0, 0))
    said = coordinator.heard()
    assert isinstance(said, control.Failed)
    told = "agent 3 cannot go on; its own log says why"
    assert ("line 3" in said.reason, said.reason == told) == (mode == "lab", mode == "field")
    assert said.mistake == (mode == "lab")
    assert agent.ended() == 2
    assert ("line 3" in capfd.readouterr().err) == (mode == "field")


def test_among_many_zeromqs_thread_does_not_interrupt_the_agents(coordinator: Coordinator) -> None:
    def batched() -> int:
        threads = map(int, os.listdir("/proc/self/task"))
        return sum(os.sched_getscheduler(thread) == os.SCHED_BATCH for thread in threads)

    before = batched()
    agent = serving(coordinator, many=True)
    coordinator.heard()
    assert batched() > before
    assert os.sched_getscheduler(0) != os.SCHED_BATCH
    coordinator.says(control.Goodbye())
    assert agent.ended() == 0


SLOW_ARMS = """
import time

class Arms:
    def pull(self, arm, count):
        with open(__file__ + ".pulls", "a") as pulls:
            pulls.write("x")
        time.sleep(0.25)
        return [0.5] * count

arms = Arms()
"""


def test_an_agent_with_slow_arms_hears_the_end_between_two_pulls(
    coordinator: Coordinator, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And what followed from the end is not said: that its coordinator is lost, and waited for."""
    (tmp_path / "slow_arms.py").write_text(SLOW_ARMS)
    arms = {"kind": "python", "target": "slow_arms:arms", "count": 2}
    parameters = {"horizon": 1_000}
    engine = {"deadline": 1.0}  # so an agent that acts says so four times a second
    run = spec("ucb1", 4, arms=arms, base=str(tmp_path), parameters=parameters, engine=engine)
    agent = Serving(remote_agent(coordinator.endpoint, 3, plan=run, lab=True))
    coordinator.configures(run)
    coordinator.says(control.Begin(0, 0))
    pulls = tmp_path / "slow_arms.py.pulls"
    until(pulls.exists, "the first pull")
    assert shows_life(coordinator.data())
    coordinator.says(control.Goodbye(3))
    coordinator.close()
    before = len(pulls.read_text())
    assert agent.ended() == 3
    assert len(pulls.read_text()) - before < 32  # of 64, between which it did not listen
    assert "gave up (exit code 3)" in caplog.text
    assert "lost the coordinator" not in caplog.text


RUN = {
    "system": "dp-mase",
    "mode": "field",
    "agents": {"count": 4},
    "parameters": {"epsilon": 2.0, "delta": 0.3},
}
ONE_ARM = "arm,reward\n0,1\n0,1\n0,1\n"
ROWS = ONE_ARM + "1,0\n1,0\n1,0\n"
OWN_ARMS = """
class Arms:
    def pull(self, arm, count):
        {pull}

arms = Arms()
"""


def broken(mistake: str, folder: Path) -> Plan:
    """A run of the field in which agent 3 cannot go on, by this mistake of its people's."""
    arms: dict[str, Any] = {"kind": "csv", "path": "rewards-{rank}.csv", "count": 2}
    if mistake == "own arms":
        (folder / "busy_arms.py").write_text(OWN_ARMS.format(pull="raise OSError('busy')"))
        arms = {"kind": "python", "target": "busy_arms:arms", "count": 2}
    elif mistake == "line":
        (folder / "rewards-3.csv").write_text(ROWS + "0,abc\n")
    return prepare(RUN | {"arms": arms, "base": str(folder)})


def mend(mistake: str, folder: Path) -> None:
    if mistake == "own arms":
        sys.modules.pop("busy_arms")
        importlib.invalidate_caches()
        (folder / "busy_arms.py").write_text(OWN_ARMS.format(pull="return [1.0 - arm] * count"))
    else:
        (folder / "rewards-3.csv").write_text(ROWS)


def fails(coordinator: Coordinator, run: Plan) -> bool:
    """Whether all that an agent says of the run is that it cannot go on."""
    assert isinstance(coordinator.heard(), control.Join)
    coordinator.says(configure(run))
    if isinstance(said := coordinator.heard(), control.Failed):
        return True
    assert isinstance(said, control.Ready)
    coordinator.says(control.Begin(0, 0))
    return b"Failed" in coordinator.frame()


@pytest.mark.parametrize("mistake", ["file", "line", "own arms"])
def test_an_agent_that_ended_by_a_mistake_joins_the_next_run(
    mistake: str, coordinator: Coordinator, tmp_path: Path
) -> None:
    needs_noise()
    run = broken(mistake, tmp_path)
    agent = serving(coordinator, tmp_path)
    assert fails(coordinator, run)
    assert agent.ended() != 0
    assert not list(tmp_path.glob("*.journal*"))
    mend(mistake, tmp_path)
    del agent
    gc.collect()  # a process that ends lets go of its ledger
    coordinator.hears_another()
    agent = serving(coordinator, tmp_path)
    assert not fails(coordinator, run)
    coordinator.says(control.Goodbye())
    assert agent.ended() == 0


def test_who_is_replaced_has_nothing_to_go_on_with(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    needs_noise()
    agent = serving(coordinator, tmp_path)
    coordinator.configures(broken("own arms", tmp_path))
    assert list(tmp_path.glob("*.journal"))
    coordinator.says(control.Refused(SUPERSEDED))
    assert isinstance(coordinator.heard(), control.Failed)
    assert agent.ended() == 1
    assert not list(tmp_path.glob("*.journal*"))


def test_who_has_no_coordinator_when_it_fails_can_go_on_once_it_is_mended(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    """The coordinator has not heard of it, and waits."""
    needs_noise()
    run = broken("line", tmp_path)
    mend("line", tmp_path)
    agent = serving(coordinator, tmp_path)
    coordinator.configures(run)
    coordinator.says(control.Whose())
    assert isinstance(coordinator.heard(), control.Resume)
    broken("line", tmp_path)
    coordinator.says(control.Begin(0, 1))
    assert agent.ended() == 2
    mend("line", tmp_path)
    agent = serving(coordinator, tmp_path)
    assert isinstance(coordinator.heard(), control.Resume)
    coordinator.says(control.Goodbye())
    assert agent.ended() == 0
    assert not list(tmp_path.glob("*.journal*"))


@pytest.mark.parametrize(("anew", "knows"), [(True, False), (False, True), (False, False)])
def test_whose_only_run_is_over_leaves_without_its_coordinators_word(
    anew: bool,
    knows: bool,
    coordinator: Coordinator,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whether another coordinator comes to its address, or none in time; but if the one that left
    did not confirm its last word, it keeps its journal, to say it again."""
    needs_noise()
    logging.getLogger("posse").propagate = True
    caplog.set_level(logging.INFO, "posse")
    run = broken("line", tmp_path)
    mend("line", tmp_path)
    journal, wait = tmp_path / "kept.journal", PATIENCE if anew else 1.0
    agent = Serving(remote_agent(coordinator.endpoint, 3, plan=run, journal=journal, wait=wait))
    coordinator.configures(run)
    coordinator.says(control.Begin(0, 0))
    coordinator.says(control.Stop())
    while b"Stopped" not in coordinator.frame():
        pass
    assert journal.exists()
    if anew:
        coordinator.says(control.Whose())
        while not isinstance(coordinator.heard(), control.Resume):
            pass
        coordinator.says(control.Unknown())
    else:
        if knows:
            coordinator.confirms()
            coordinator.says(control.Whose())  # the answer shows that it read what came before
            while not isinstance(coordinator.heard(), control.Resume):
                pass
        coordinator.close()
    assert agent.ended() == (0 if anew or knows else 3)
    assert "this agent's run is over" in caplog.text
    assert journal.exists() is not (anew or knows)


class Full(Journal):
    """One on a disk that takes this many rows more."""

    room = 100

    def _write(self, statement: str, *values: object) -> None:
        Full.room -= 1
        if Full.room < 0:
            raise PosseError("the disk is full")
        super()._write(statement, *values)


def test_what_cannot_be_written_down_is_not_told_and_the_failure_is(
    coordinator: Coordinator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_noise()
    monkeypatch.setattr(Full, "room", 100)
    monkeypatch.setattr(forkserver, "Journal", Full)
    agent = serving(coordinator, tmp_path)
    mend("line", tmp_path)
    coordinator.configures(broken("none", tmp_path))
    Full.room = 1  # for the run that its ledger has begun
    coordinator.says(control.Begin(0, 0))
    assert isinstance(coordinator.heard(), control.Failed)
    assert agent.ended() == 1


@pytest.mark.inside
@pytest.mark.parametrize(("left", "told"), [(None, [control.Linked(3, False)]), (130, [])])
def test_who_was_let_go_does_not_complain_that_its_neighbours_are_too(
    left: int | None, told: list[Message], caplog: pytest.LogCaptureFixture
) -> None:
    said: list[Message] = []
    agent: Any = SimpleNamespace(
        host=SimpleNamespace(done=False),
        _left=left,
        _mesh=None,
        _down_or_gone=set(),
        _journal=None,
        _send_message=said.append,
    )
    AgentProcess._link_changed(agent, 3, up=False)
    assert said == told
    assert len(caplog.records) == len(told)
