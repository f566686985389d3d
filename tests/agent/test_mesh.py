"""An agent among its neighbours: who sends it nothing that is new keeps it from nothing else."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import zmq

from posse.agent.each_link import EachLink
from posse.agent.mesh import MOST_AT_ONCE
from posse.durable.journal import FRAME, Journal
from posse.protocol import control
from posse.protocol.wire import encode
from posse.wire.line import Interceptor
from posse.wire.links import signature
from posse.wire.session import ENVELOPE_BYTES, Session
from posse.wire.sockets import end
from tests.support.lobby import setup

PATIENCE_MS = 5_000
PEER = 7
SETUP = msgspec.structs.replace(setup(0), inboxes={PEER: "inproc://the-peers-inbox"})


class Inbox:
    """Agent 0's, and what its neighbour sends to it."""

    def __init__(self, folder: Path) -> None:
        self._context = zmq.Context()
        self.journal = Journal(folder / "journal", "agent 0", synchronous=False)
        self.journal.begin(b"linked")
        self.mesh = EachLink(
            self._context,
            None,
            bind=("inproc://the-inbox",),
            rank=0,
            patience_ms=PATIENCE_MS,
            interceptor=Interceptor(self.journal),
        )
        self.mesh.connect(SETUP)
        self._peer = self._context.socket(zmq.PUSH)
        self._peer.set_hwm(0)
        self._peer.connect("inproc://the-inbox")
        self.session = Session(0, signature(PEER))

    def sends(self, data: bytes) -> None:
        self._peer.send(data)

    def says(self) -> bytes:
        """A frame that the neighbour sends; returns it."""
        frame = encode(control.Ready(0), run=0, source=PEER, sequence=0, now=0.0, sent=0)
        self.sends(self.session.wrap(frame))
        return frame

    def nothing(self, much: bytes = b"") -> None:
        """The neighbour confirms once more what it confirmed before."""
        self.session.confirm()
        self.sends(self.session.replies.pop() + much)

    def more(self) -> bool:
        """Whether there is something that the agent has not looked at."""
        return bool(self.mesh.inbox.poll(0))

    def written(self) -> list[tuple[str, int, bytes]]:
        """What a process would be handed again that is killed now."""
        self.journal.commit()
        self.journal.close()
        again = Journal(self.journal.path, "agent 0", synchronous=False)
        with again.replay() as inputs:
            found = list(inputs)
        again.remove()
        return found

    def close(self) -> None:
        self.journal.remove()
        self.mesh.close()
        self._peer.close(0)
        end(self._context)


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    inbox = Inbox(tmp_path)
    yield inbox
    inbox.close()


def heard(inbox: Inbox, awaited: int = 1) -> list[bytes]:
    return [frame for _, frame, _ in inbox.mesh.listen(awaited, 0.0, lambda: 0)]


def test_who_only_confirms_keeps_an_agent_from_its_other_sockets_for_a_moment(inbox: Inbox) -> None:
    for _ in range(2 * MOST_AT_ONCE):
        inbox.nothing()
    assert heard(inbox) == []
    assert inbox.more()
    assert list(inbox.mesh.drain()) == []
    assert not inbox.more()
    frame = inbox.says()
    assert heard(inbox) == [frame]


def test_bytes_too_short_to_name_a_sender_reach_the_host_as_they_are(inbox: Inbox) -> None:
    short = [b"", b"pn", bytes(11), bytes(23)]
    for data in short:
        inbox.sends(data)
    frame = inbox.says()
    assert heard(inbox, len(short) + 1) == [*short, frame]


def test_what_brings_a_session_on_is_written_down_and_nothing_else(inbox: Inbox) -> None:
    mine = inbox.mesh.lines[PEER].session
    told = mine.wrap(b"something that the neighbour is told")
    frame = inbox.says()
    for _ in range(3):
        inbox.nothing(much=bytes(100_000))
    inbox.session.take(told)
    for _ in range(2):
        inbox.nothing(much=bytes(100_000))
    assert heard(inbox, 2) == [frame]
    assert mine.confirmed == 1
    (what, whom, said), (_, _, confirmed) = inbox.written()
    assert (what, whom, said[ENVELOPE_BYTES:]) == (FRAME, PEER, frame)
    assert len(confirmed) == ENVELOPE_BYTES
