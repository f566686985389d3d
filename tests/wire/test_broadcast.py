"""Frames to all: three agents that hear each other over connections that lose and break."""

import pytest

from posse.durable.checkpoint import read, written
from posse.wire.broadcast import BroadcastSession
from posse.wire.session import CONFIRM_EVERY, LATE, Session, SessionFull
from tests.support.sessions import Network


def test_in_lockstep_frames_confirm_each_other_and_little_is_kept() -> None:
    mesh = Network(3)
    for _ in range(10 * CONFIRM_EVERY):
        for agent in range(3):
            mesh.send(agent)
        for link in mesh.links:
            mesh.deliver(*link)
        assert max(mesh.session(*link).unconfirmed for link in mesh.links) <= 2
    assert {mesh.session(*link).bare for link in mesh.links} == {0}


def test_who_only_listens_confirms_now_and_then() -> None:
    mesh = Network(3)
    for _ in range(10 * CONFIRM_EVERY):
        mesh.send(0)
        for link in mesh.links:
            mesh.deliver(*link)
    assert [mesh.session(n, 0).bare for n in (1, 2)] == [10, 10]
    assert mesh.session(0, 1).unconfirmed < CONFIRM_EVERY


def test_no_more_is_kept_than_the_bounds_say() -> None:
    for bounds in ({"most_frames": 2}, {"most_bytes": 10}):
        line = BroadcastSession(0, b"", 2, **bounds)
        for _ in range(2):
            line.wrap(b"12345")
        with pytest.raises(SessionFull):
            line.wrap(b"6")
        for session in line.sessions:
            session.resume(1)
        line.wrap(b"6")


def test_a_checkpoint_has_a_line_with_all_its_sessions() -> None:
    before = BroadcastSession(0, b"", 2)
    for _ in range(3):
        before.wrap(b"frame")
    before.sessions[0].confirmed = 2
    line = read(written(before, {}), {})
    line.sessions[1].resume(1)
    assert line.wrap(b"frame") == before.wrap(b"frame")
    assert [session.unconfirmed for session in line.sessions] == [2, 3]
    assert [session.resent for session in line.sessions] == [0, 2]


def test_for_who_is_gone_no_frame_is_kept() -> None:
    line = BroadcastSession(0, b"", 2, most_frames=3)
    here, gone = line.sessions
    for number in range(3):
        line.wrap(b"po%d" % number)
        here.confirmed = here.sent
    with pytest.raises(SessionFull):
        line.wrap(b"po3")
    line.leave(gone)
    for number in range(10):
        line.wrap(b"po%d" % number)
        here.confirmed = here.sent
    assert line.sessions == (here,)


def test_who_is_gone_and_asks_for_what_it_missed_is_sent_nothing_again() -> None:
    line = BroadcastSession(0, b"", 2)
    here, gone = line.sessions
    line.wrap(b"po0")
    asking = Session()
    asking.miss()
    (question,) = asking.replies
    assert gone.take(question) is None
    assert len(gone.replies) == 1
    line.leave(gone)
    for number in range(1, 10):
        line.wrap(b"po%d" % number)
        here.confirmed = here.sent
    gone.confirmed = 0
    gone.replies.clear()
    gone._repeated = -1
    assert gone.take(question) is None
    gone.reconnected()
    for _ in range(4 * LATE):
        gone.probe()
    assert not any(b"po" in reply for reply in gone.replies)
