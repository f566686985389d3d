"""Sessions over a link that loses, repeats, reorders and breaks, all of it scripted."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.wire.session import (
    ENVELOPE_BYTES,
    LATE,
    SOON,
    SOON_AFTER,
    Session,
    SessionBroken,
    SessionFull,
    content,
    is_numbered,
)
from tests.support.conversations import examples
from tests.support.sessions import Network

steps = st.lists(
    st.tuples(
        st.sampled_from(
            [*["send"] * 3, *["deliver"] * 3, "lose", "repeat", "cut", "reset"],
        ),
        st.integers(0, 5),
        st.integers(0, 50),
    ),
    min_size=40,  # of itself hypothesis draws a dozen
    max_size=60,
)


@pytest.mark.parametrize("ends", [2, 3])
@settings(max_examples=15)
@given(steps, st.sampled_from([0, 2**32 - 1, 2**32 - 20, 2**31 - 5]))
def test_every_frame_arrives_once_and_in_order_whatever_happens_to_the_connection(
    ends: int, script: list[tuple[str, int, int]], first: int
) -> None:
    """Whatever the first number is, too: numbers have 32 bits."""
    network = Network(ends, first)
    for what, which, at in script:
        link = network.links[which % len(network.links)]
        queue = network.under_way[link]
        match what:
            case "send":
                network.send(link[0])
            case "deliver":
                network.deliver(*link, at)
            case "cut":
                network.cut(*link)
            case "reset":
                network.reset(*link)
            case "lose" if queue:
                queue.pop(at % len(queue))
            case "repeat" if queue:
                queue.append(queue[at % len(queue)])
        for (source, _), got in network.got.items():  # nothing is early, twice or out of order
            assert got == network.sent[source][: len(got)]
        for one, other in network.links:  # nor is anything confirmed that was not taken
            assert network.session(one, other).confirmed <= network.session(other, one).taken
    network.settle()
    for (source, _), got in network.got.items():
        assert got == network.sent[source]
    assert {network.session(*link).unconfirmed for link in network.links} == {0}


def test_a_new_connection_brings_what_is_missing_byte_for_byte_and_nothing_else() -> None:
    network = Network()
    for _ in range(5):
        network.send(0)
    first = list(network.under_way[0, 1])
    network.deliver(0, 1)
    network.deliver(0, 1)
    network.reset(0, 1)
    assert network.under_way[0, 1] == first[2:]
    assert network.session(0, 1).resent == 3


def test_no_more_is_kept_than_the_bounds_say_and_what_is_refused_has_no_number() -> None:
    few, small = Session(most_frames=2), Session(most_bytes=10)
    for session, frames in ((few, [b"a", b"b"]), (small, [b"12345", b"67890"])):
        before = [session.wrap(frame) for frame in frames]
        with pytest.raises(SessionFull):
            session.wrap(b"c")
        other = Session()
        assert [other.take(data) for data in before] == frames
        session.resume(2)
        assert session.unconfirmed == 0
        assert other.take(session.wrap(b"c")) == b"c"


def test_an_end_that_cannot_be_the_one_it_was_is_not_resumed() -> None:
    session = Session()
    for _ in range(3):
        session.wrap(b"frame")
    session.resume(2)
    for taken in (1, 4):
        with pytest.raises(SessionBroken):
            session.resume(taken)
    assert session.unconfirmed == 1


def test_what_has_no_number_is_passed_on_as_it_is() -> None:
    for data in (b"", b"po", b"po" + bytes(60)):
        assert Session().take(data) == data
        assert not is_numbered(data)
    assert is_numbered(Session().wrap(b""))


@given(st.binary(max_size=60), st.booleans())
def test_whatever_bytes_a_peer_sends_what_was_kept_is_still_there(
    data: bytes, marked: bool
) -> None:
    session, other = Session(), Session()
    kept = [session.wrap(b"one"), session.wrap(b"two")]
    if marked:
        data = kept[0][:4] + data
    taken = session.take(data)
    assert taken is None or data.endswith(taken)
    if session.unconfirmed == 2:
        assert [other.take(frame) for frame in kept] == [b"one", b"two"]
    assert session.unconfirmed <= 2
    assert len(kept[0]) == ENVELOPE_BYTES + 3


def test_a_peer_that_asks_again_and_again_is_answered_once_between_two_probes() -> None:
    session, other = Session(), Session()
    first, second = session.wrap(b"one"), session.wrap(b"two")
    assert other.take(second) is None  # the first was lost
    (again,) = other.replies
    for _ in range(3):
        for _ in range(5):
            session.take(again)
        assert [data for data in session.replies if data in (first, second)] == [first, second]
        session.replies.clear()
        for _ in range(LATE):
            session.probe()
        session.replies.clear()


def asked(session: Session, looks: int) -> list[int]:
    """At which of this many looks the other end was asked, and each -1 for a frame behind that."""
    at = []
    for look in range(1, looks + 1):
        session.probe()
        at += [-1 if content(data) else look for data in session.replies]
        session.replies.clear()
    return at


def test_who_confirms_nothing_is_asked_soon_where_much_went_and_late_where_little_did() -> None:
    session, other = Session(), Session()

    def says(frames: int) -> bytes:
        """This many frames that arrive and are confirmed, and one more."""
        for _ in range(frames):
            other.take(session.wrap(b"x"))
        other.confirm()
        session.take(other.replies.pop())
        return session.wrap(b"lost")

    first = 1 + LATE  # at the first look it is known that something was confirmed before
    lost = says(1)
    again = [first + SOON, first + 3 * SOON, first + 7 * SOON, first + 7 * SOON + LATE]
    looks = asked(session, again[-1] + SOON)  # a question may be lost as well
    assert [look for look in looks if look > 0] == [first, *again, again[-1] + SOON]
    assert looks[:8] == [first, -1, again[0], -1, again[1], -1, again[2], again[3]]
    other.take(lost)
    lost = says(SOON_AFTER)  # as in lockstep, where each frame confirms one
    assert asked(session, first) == [1 + SOON, first]
    other.take(lost)
    says(1)
    assert asked(session, LATE) == []


def test_on_a_link_that_loses_frames_the_oldest_goes_again_soon_then_later_and_soon_again() -> None:
    session, other = Session(), Session()
    session.wrap(b"lost")
    assert other.take(session.wrap(b"too early")) is None
    session.take(other.replies.pop())
    assert [content(data) for data in session.replies] == [b"lost", b"too early"]
    session.replies.clear()
    went = []
    for look in range(1, 32):
        session.probe()
        if session.replies:
            frame, question = session.replies
            assert content(frame) == b"lost"
            went.append(look)
            session.replies.clear()
    assert went == [SOON, 3 * SOON, 7 * SOON, 7 * SOON + LATE, 8 * SOON + LATE]
    assert other.take(frame) == b"lost"
    assert other.take(question) is None
    session.take(other.replies.pop())  # asks for the second, which that goes for
    assert content(session.replies.pop(0)) == b"too early"


def restarted(frames: int, remembered: int) -> tuple[Session, Session]:
    """A session that went on from the state after `remembered` of `frames` each way; its peer."""
    before, peer = Session(), Session()
    state = before.state
    for number in range(frames):
        peer.take(before.wrap(b"x"))
        before.take(peer.wrap(b"y"))
        if number + 1 == remembered:
            state = before.state
    before.confirm()
    peer.take(before.replies.pop())
    after = Session()
    after.restore(state)
    after.restored = True
    return after, peer


def test_nobody_can_tell_an_end_that_was_not_restarted_that_it_forgot() -> None:
    session, peer = Session(), Session()
    for _ in range(3):
        peer.wrap(b"x")
    peer.taken = 7
    peer.ask()
    session.take(peer.replies.pop())
    assert not session.outdated


@examples(Path(__file__).with_name("session.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
