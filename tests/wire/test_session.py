"""Sessions over a link that loses, repeats, reorders and breaks, all of it scripted."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.wire.session import (
    ENVELOPE_BYTES,
    Session,
)
from tests.support.conversations import conversations
from tests.support.sessions import Network, Pair

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


@conversations(Path(__file__).with_name("session.txt"), {"Pair": Pair, "Session": Session})
def test_conversation(talk: Callable[[], None]) -> None:
    talk()
