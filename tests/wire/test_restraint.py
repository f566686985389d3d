"""When an agent says no more for now, and for how long."""

import pytest

from posse.errors import RunFailed
from posse.protocol.machine import COORDINATOR
from posse.wire.broadcast import BroadcastSession
from posse.wire.restraint import DEADLINE, Restraint
from posse.wire.session import Session, SessionFull


def held(restraint: Restraint, now: float) -> bool:
    restraint.look(now)
    return restraint.held


def test_an_agent_is_held_while_half_of_what_may_be_kept_is_not_confirmed() -> None:
    session, other = Session(most_frames=10), Session()
    restraint = Restraint(lambda: [(COORDINATOR, session)])
    sent = [session.wrap(b"x") for _ in range(5)]
    assert not held(restraint, 1.0)
    sent.append(session.wrap(b"x"))
    assert not held(restraint, 1.05)  # looked just before
    assert held(restraint, 1.2)
    other.take(sent[0])
    other.confirm()
    session.take(other.replies.pop())
    assert not held(restraint, 1.4)


def test_who_acts_by_its_own_clock_asks_for_a_look_before_it_is_due() -> None:
    session, other = Session(most_frames=10), Session()
    restraint = Restraint(lambda: [(COORDINATOR, session)])
    assert not held(restraint, 1.0)
    sent = [session.wrap(b"x") for _ in range(6)]
    restraint.check_soon()
    assert held(restraint, 1.01)
    for frame in sent:
        other.take(frame)
    other.confirm()
    session.take(other.replies.pop())
    assert not held(restraint, 1.2)


def test_bytes_count_as_well() -> None:
    session = Session(most_bytes=100)
    restraint = Restraint(lambda: [(2, session)])
    session.wrap(bytes(51))
    assert held(restraint, 1.0)


def test_who_confirms_nothing_for_too_long_is_named_and_who_confirms_something_is_not() -> None:
    slow, other = Session(most_frames=10), Session()
    restraint = Restraint(lambda: [(0, Session()), (7, slow)])
    sent = [slow.wrap(b"x") for _ in range(9)]
    restraint.look(1.0)
    other.take(sent[0])
    other.confirm()
    slow.take(other.replies.pop())
    assert held(restraint, DEADLINE)
    restraint.look(2 * DEADLINE - 0.1)
    with pytest.raises(
        RunFailed, match="agent 7 confirmed none of the frames sent to it for 300 s"
    ):
        restraint.look(2 * DEADLINE)


def test_of_all_neighbours_the_one_that_confirms_least_holds_up_what_is_said_to_all() -> None:
    line = BroadcastSession(0, b"", 2, most_frames=1_000, most_bytes=100)
    quick, slow = line.sessions
    data = [line.wrap(bytes(20)) for _ in range(3)]
    assert [end.crowded for end in (quick, slow)] == [True, True]
    other = Session()
    for one in data:
        other.take(one)
    other.confirm()
    confirmed = other.replies.pop()
    quick.take(confirmed)
    assert [end.crowded for end in (quick, slow)] == [False, True]
    slow.take(confirmed)
    # what was kept is kept no longer, though nothing was sent
    assert [end.crowded for end in (quick, slow)] == [False, False]
    line.leave(slow)
    for _ in range(5):
        line.wrap(bytes(20))
    with pytest.raises(SessionFull):
        line.wrap(bytes(20))
    assert [end.crowded for end in (quick, slow)] == [True, False]
