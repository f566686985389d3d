"""A line: in which order a frame is numbered, recorded, seen and handed over."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from posse.durable.journal import FRAME, Journal
from posse.wire.line import Interceptor, Line, PeerStalled
from posse.wire.session import CONFIRM_EVERY, ENVELOPE_BYTES, Session, content

AGENT, PEER = 4, 7


class End:
    """Agent 4's line to agent 7, over a socket that is a list."""

    def __init__(self, folder: Path) -> None:
        self.journal = Journal(folder / "journal", "agent 4", synchronous=False)
        self.journal.begin(b"linked")
        self.happened: list[Any] = []
        self.full = False
        interceptor = Interceptor(self.journal, self._tap, lambda: AGENT)
        transmit = interceptor.before(lambda: (PEER,), self._transmit)
        self.line = Line(PEER, Session(), transmit, interceptor)
        self.peer = Session()

    def _tap(self, source: int | None, target: int | None, data: bytes) -> None:
        self.happened.append((self._rows(), source, target))

    def _transmit(self, data: bytes, flags: int = 0) -> None:
        if self.full:
            raise zmq.Again
        self.happened.append((flags, data))

    def _rows(self) -> int:
        assert self.journal._db is not None
        return int(self.journal._db.execute("SELECT COUNT(*) FROM batches").fetchone()[0])


@pytest.fixture
def end(tmp_path: Path) -> Iterator[End]:
    end = End(tmp_path)
    yield end
    end.journal.remove()


def test_what_was_received_is_on_disk_before_the_tap_sees_what_follows_and_the_socket_gets_it(
    end: End,
) -> None:
    assert end.line.receive(end.peer.wrap(b"their frame")) == b"their frame"
    end.line.send(b"our frame")
    seen, (flags, data) = end.happened
    assert seen == (1, AGENT, PEER)
    assert (flags, content(data)) == (0, b"our frame")


def test_answers_go_out_without_waiting_and_after_the_frame_that_they_confirm_is_on_disk(
    end: End,
) -> None:
    frames = [end.peer.wrap(bytes([n])) for n in range(CONFIRM_EVERY)]
    for frame in frames:
        end.line.receive(frame)
    seen, (flags, data) = end.happened
    assert seen == (1, AGENT, PEER)
    assert (flags, len(data)) == (zmq.NOBLOCK, ENVELOPE_BYTES)


def test_of_an_envelope_that_brings_nothing_new_nothing_is_recorded(end: End) -> None:
    end.peer.confirm()
    assert end.line.receive(end.peer.replies.pop()) is None
    end.journal.commit()
    assert end._rows() == 0


def test_a_line_that_is_down_keeps_what_is_sent_until_there_is_a_connection(end: End) -> None:
    end.line.changed(up=False)
    end.line.send(b"kept")
    assert end.happened == []
    end.line.changed(up=True)
    (_, (_, data)) = end.happened
    assert content(data) == b"kept"


def test_a_socket_that_takes_no_more_is_a_peer_that_does_not_read(end: End) -> None:
    end.full = True
    with pytest.raises(PeerStalled, match=r"^agent 7 does not read what is sent to it$"):
        end.line.send(b"one")
    end.line.session.ask()
    end.line.answer()
    assert end.line.session.replies == []


def test_a_replay_takes_the_same_frames_and_sends_nothing(end: End, tmp_path: Path) -> None:
    end.line.receive(end.peer.wrap(b"their frame"))
    end.line.send(b"our frame")
    end.journal.close()
    end.journal = again = Journal(tmp_path / "journal", "agent 4", synchronous=False)
    sent: list[bytes] = []
    interceptor = Interceptor(again)
    transmit = interceptor.before(lambda: (PEER,), lambda data, flags: sent.append(data))
    line = Line(PEER, Session(), transmit, interceptor)
    with again.replay() as inputs:
        for kind, rank, data in inputs:
            assert (kind, rank, line.receive(data)) == (FRAME, PEER, b"their frame")
            line.send(b"our frame")
            assert sent == []
    assert (line.session.taken, line.session.sent) == (1, 1)
    line.changed(up=True)
    assert [content(data) for data in sent] == [b"our frame"]
