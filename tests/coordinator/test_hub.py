"""The coordinator's loop and socket against peers that are driven by hand."""

import itertools
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from posse.coordinator.crew import Died
from posse.coordinator.hub import Hub
from posse.coordinator.roster import Member
from posse.engines.processes import ProcessEngine
from posse.errors import RunFailed
from posse.plan import prepare
from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.wire import MAX_DATA, Codec, encode, kind_of, read_header
from posse.security.address import FORWARDED
from posse.wire.forwarding import FORWARD, HEAD
from posse.wire.line import Line, PeerStalled
from posse.wire.session import Session
from posse.wire.sockets import end
from tests.support.patience import PATIENCE
from tests.support.players import spec as players
from tests.support.remote import until

CODEC = Codec((control.Welcome, control.Refused, control.Synced))


class Peer:
    """A DEALER that says what the test says."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", endpoint: str) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.RCVTIMEO, int(1000 * PATIENCE))
        self.socket.connect(endpoint)

    def says(self, message: Message, source: int = 0) -> None:
        self.socket.send(
            encode(message, run=0, source=source, sequence=0, now=0.0, sent=0), copy=True
        )

    def hears(self) -> Message:
        frame = self.socket.recv()
        return CODEC.decode(read_header(frame).plane, frame)

    def joins(self, rank: int) -> None:
        self.says(control.Join(rank, "token", "", 1))


class Gathering:
    """A hub that gathers in a thread, and the peers at it."""

    def __init__(
        self, folder: Path, agents: int, *, stands_still: bool = False, **engine: float
    ) -> None:
        spec = prepare(
            {
                "system": "central",
                "agents": {"count": agents},
                "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
                "engine": {"deadline": PATIENCE, "absence": PATIENCE, **engine},
            }
        ).spec
        self.hub = Hub(spec, f"ipc://{folder}/hub", "token")
        self.looked = threading.Event()
        self.may_go_on = threading.Event()
        if not stands_still:
            self.may_go_on.set()
        self.hub.on_look = self._look
        self.error: Exception | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._peers: list[Peer] = []
        self._thread = threading.Thread(target=self._gather, daemon=True)
        self._thread.start()

    def _gather(self) -> None:
        try:
            self.hub.gather()
        except Exception as error:
            self.error = error

    def _look(self) -> None:
        self.looked.set()
        self.may_go_on.wait(PATIENCE)

    def peer(self) -> Peer:
        self._peers.append(Peer(self._context, self.hub.endpoint))
        return self._peers[-1]

    def ended(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the hub did not end in time"

    def close(self) -> None:
        if self._thread.is_alive():
            self.hub.interrupted.set()
            self.ended()
        self.hub.close()
        for peer in self._peers:
            peer.socket.close(0)
        end(self._context)


@pytest.fixture
def gathering(tmp_path: Path) -> Iterator[Gathering]:
    hub = Gathering(tmp_path, 2)
    yield hub
    hub.close()


def test_messages_of_several_parts_are_refused_from_strangers_and_members(
    gathering: Gathering,
) -> None:
    member, stranger = gathering.peer(), gathering.peer()
    member.joins(0)
    for peer in (member, stranger):
        peer.socket.send_multipart([b"one", b"two", b"three"])
    until(lambda: gathering.hub.lobby.refused["malformed"] == 2, "two refusals")
    gathering.peer().joins(1)
    gathering.ended()
    assert gathering.error is None


def test_only_neighbours_have_their_data_handed_on(tmp_path: Path) -> None:
    gathering = Gathering(tmp_path, 4)
    peers = [gathering.peer() for _ in range(3)]
    for rank, peer in enumerate(peers):
        peer.joins(rank)
    lobby = gathering.hub.lobby
    until(lambda: lobby.roster.arrived() == len(peers), "all three")
    lobby.roster.members[1].inbox = FORWARDED
    lobby._near = [(1,), (0,), ()]
    peers[2].socket.send(HEAD.pack(FORWARD, 1) + b"of a stranger")
    until(lambda: lobby.refused["not-forwarded"] == 1, "a refusal")
    peers[0].socket.send(HEAD.pack(FORWARD, 1) + b"of a neighbour")
    assert peers[1].socket.recv() == HEAD.pack(FORWARD, 0) + b"of a neighbour"
    gathering.close()


def test_nobody_is_late_whose_frames_came_while_the_coordinator_stood_still(
    tmp_path: Path,
) -> None:
    gathering = Gathering(tmp_path, 1, stands_still=True, joining=0.6)
    try:
        assert gathering.looked.wait(PATIENCE)
        peer = gathering.peer()
        for _ in range(5):
            peer.says(control.Sync(1), source=-1)
        peer.joins(0)
        time.sleep(0.7)
        gathering.may_go_on.set()
        gathering.ended()
        assert gathering.error is None
    finally:
        gathering.may_go_on.set()
        gathering.close()


def test_an_interruption_ends_the_wait(gathering: Gathering) -> None:
    gathering.hub.interrupted.set()
    gathering.ended()
    assert isinstance(gathering.error, RunFailed)
    assert str(gathering.error) == "the run was interrupted"


@pytest.mark.inside
@pytest.mark.parametrize("haste", [0.0, math.inf])
def test_in_a_hurry_it_waits_a_moment_for_agents_elsewhere_to_hear_that_they_may_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, haste: float
) -> None:
    monkeypatch.setattr("posse.coordinator.hub._FAREWELL", math.inf)
    monkeypatch.setattr("posse.coordinator.hub._HASTE", haste)
    gathering = Gathering(tmp_path, 1)
    peer = gathering.peer()
    peer.says(control.Join(0, "token", "", 1, b"elsewhere", time.time()))
    assert isinstance(peer.hears(), control.Welcome)
    peer.says(control.Arrived(""))
    gathering.ended()
    assert gathering.error is None
    closing = threading.Thread(target=gathering.close, daemon=True)
    closing.start()
    (member,) = gathering.hub.lobby.roster.members.values()
    until(lambda: member.to_see_off, "a goodbye that nobody confirms")
    gathering.hub.hurry()
    if haste:
        heard = Session()
        heard.take(peer.socket.recv())
        heard.confirm()
        peer.socket.send(heard.replies.pop())
        until(lambda: not member.to_see_off, "a goodbye that is confirmed")
    closing.join(PATIENCE)
    assert not closing.is_alive()


@pytest.mark.inside
@pytest.mark.parametrize(("killed", "told"), [(False, "says why"), (True, "its death")])
def test_who_ends_by_itself_is_heard_before_its_death_is_known_and_who_was_killed_is_not(
    gathering: Gathering, monkeypatch: pytest.MonkeyPatch, killed: bool, told: str
) -> None:
    monkeypatch.setattr("posse.coordinator.hub._LAST_WORDS", math.inf)
    peer = gathering.peer()
    peer.joins(0)
    until(lambda: gathering.hub.snapshot.arrived == 1, "a snapshot with the agent in it")
    looks = itertools.count()
    gathering.hub.on_look = lambda: None if next(looks) < 10 else peer.says(last_words)
    last_words = control.Failed("says why", mistake=False)
    gathering.hub._deaths.append(Died(0, "its death", killed))
    gathering.ended()
    assert told in str(gathering.error)


def test_one_that_goes_before_it_is_answered_does_no_harm(gathering: Gathering) -> None:
    """Its answer cannot be sent; that is counted, and nothing else."""
    for _ in range(20):
        hasty = gathering.peer()
        hasty.says(control.Join(0, "guess", "", 1))
        hasty.socket.close(1000)
    until(lambda: gathering.hub.lobby.refused["join"] == 20, "twenty refusals")
    for rank in (0, 1):
        gathering.peer().joins(rank)
    gathering.ended()
    assert gathering.error is None
    assert set(gathering.hub.lobby.refused) <= {"join", "unreachable", "connection-dropped"}


@pytest.mark.inside
def test_who_does_not_read_is_lost_once_what_was_under_way_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The coordinator sends while its host still makes frames for others."""
    send, sent = Line.send, 0

    def fails(line: Line, frame: bytes) -> None:
        nonlocal sent
        if line.end == 1 and kind_of(frame) == "Outcome":
            sent += 1
            if sent == 20:
                raise PeerStalled("agent 1 does not read what is sent to it")
        send(line, frame)

    monkeypatch.setattr(Line, "send", fails)
    run = players("random-player", 3, horizon=60, engine={"on_missing": "continue"})
    with ProcessEngine(run) as engine:
        record = engine.run(run, 0)
    assert record.dismissed == {1: "lost"}
    assert record.status == "horizon"
    assert record.slots == 60


@pytest.mark.inside
def test_no_more_than_a_bound_waits_for_who_accepts_no_connections(
    gathering: Gathering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped, and neighbours go on; once it says anything, it is sent to again."""
    hub, sent, asked = gathering.hub, [0], []

    def reply(identity: bytes, data: bytes, rank: int) -> int:
        sent[0] += 1
        return 0

    monkeypatch.setattr(hub._router, "reply", reply)
    monkeypatch.setattr(hub.lobby, "are_neighbours", lambda one, other: True)
    line = Line(0, Session(), lambda data, flags=0: asked.append(sent[0]), hub._interceptor)
    away = Member(0, b"0", b"", FORWARDED, True, 7, 0.0, line=line)
    hub.lobby.roster.members[0] = away
    frame = FORWARD + HEAD.pack(FORWARD, 0)[2:] + bytes(MAX_DATA - HEAD.size)
    for _ in range(40):
        hub._forward(Member(1, b"1", b"", "", True, 8, 0.0), frame)
    assert (sent, asked) == ([16], [8])
    away.unread = 0
    hub._forward(Member(1, b"1", b"", "", True, 8, 0.0), frame)
    assert sent == [17]
    del hub.lobby.roster.members[0]
