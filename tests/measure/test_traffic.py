"""Counting: every frame once, on its link, plane and kind; delays within their bucket."""

import math
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.measure.traffic import Meter, bucket, quantile
from posse.protocol.control import Due
from posse.protocol.message import Message
from posse.protocol.wire import HEADER, encode
from posse_systems.rio2023.messages import Sample, Vote
from posse_systems.tossou2015.messages import Choice, Outcome

SENT = st.lists(
    st.tuples(
        st.integers(-1, 3),
        st.integers(-1, 3),
        st.sampled_from([Vote, Due, Sample, Choice]),
        st.integers(0, 500),
    ),
    max_size=60,
)


@given(SENT)
def test_links_are_the_sums_of_what_was_sent(
    sent: list[tuple[int, int, type[Message], int]],
) -> None:
    meter = Meter()
    slow: dict[tuple[int, int, int, str], list[int]] = {}
    for source, target, kind, payload in sent:
        meter.count(source, target, kind, bytes(HEADER.size + payload))
        row = slow.setdefault((source, target, int(kind.plane), kind.__name__), [0, 0, 0])
        row[0] += 1
        row[1] += payload
        row[2] += payload + 32
    rows = {
        (r.source, r.target, r.plane, r.kind): [r.messages, r.payload_bytes, r.frame_bytes]
        for r in meter.links()
    }
    assert rows == slow
    assert list(rows) == sorted(rows)


@given(SENT, SENT)
def test_adding_meters_is_counting_in_one(
    one: list[tuple[int, int, type[Message], int]], other: list[tuple[int, int, type[Message], int]]
) -> None:
    together, first, second = Meter(), Meter(), Meter()
    for meter, sent in ((first, one), (second, other)):
        for source, target, kind, payload in sent:
            frame = bytes(HEADER.size + payload)
            meter.count(source, target, kind, frame)
            together.count(source, target, kind, frame)
    first.add(second.links())
    assert first.links() == together.links()


def test_what_the_codec_made_is_what_is_counted() -> None:
    meter = Meter()
    frame = encode(Vote((1, 2)), run=0, source=4, sequence=0, now=0.0, sent=0)
    meter.count(4, -1, Vote, frame)
    (row,) = meter.links()
    assert (row.payload_bytes, row.frame_bytes) == (9, 41)


def test_what_is_handed_over_is_counted_as_its_frames_would_be() -> None:
    handed, framed = Meter(), Meter()
    for slot in range(1, 1500):  # numbers of one byte, two and three; more than are kept at once
        for source, target, message in (
            (0, -1, Choice(slot, slot % 300)),
            (-1, 0, Outcome(slot, 0.5, 0.0, slot % 2 == 0)),
            (-1, 1, Outcome(slot, 0.5, 0.5, False)),
        ):
            frame = encode(message, run=0, source=source, sequence=slot, now=0.0, sent=0)
            handed.hand(source, target, message)
            framed.count(source, target, type(message), frame)
    assert list(handed.counted()) == list(framed.counted())
    assert handed.links() == framed.links()


@given(st.lists(st.tuples(st.sets(st.integers(0, 9), min_size=1), st.integers(32, 90)), max_size=9))
@example([({1, 2, 7}, 40), ({1, 2, 7}, 50), ({1}, 60)])
def test_a_frame_for_several_is_counted_on_each_of_their_links(
    sent: list[tuple[set[int], int]],
) -> None:
    together, each = Meter(), Meter()
    for targets, size in sent:
        together.count(4, tuple(sorted(targets)), Vote, bytes(size))
        for target in sorted(targets):
            each.count(4, target, Vote, bytes(size))
    assert together.links() == each.links()
    assert together.links() == together.links()


def histogram_of(nanoseconds: list[int]) -> Counter[int]:
    return Counter(map(bucket, nanoseconds))


@given(st.integers(1, 10**13))
def test_a_delay_is_known_within_its_bucket(nanoseconds: int) -> None:
    value = quantile(histogram_of([nanoseconds]), 1.0)
    assert value is not None
    # half a bucket is a sixteenth of an octave
    assert value * 1e9 / nanoseconds == pytest.approx(1.0, rel=2 ** (1 / 16) - 1 + 1e-9)


def test_clocks_that_disagree_do_not_break_the_histogram() -> None:
    assert histogram_of([0, -5]) == {0: 2}


@given(st.lists(st.integers(1, 10**12), max_size=60), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_quantiles_are_those_of_the_delays(taken: list[int], q: float) -> None:
    found = quantile(histogram_of(taken), q)
    if not taken:
        assert found is None
        return
    exact = sorted(taken)[max(0, math.ceil(q * len(taken) - 1e-9) - 1)] * 1e-9
    assert found == pytest.approx(exact, rel=0.05)
