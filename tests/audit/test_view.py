"""What an adversary sees of a run, as numbers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.audit.neighbours import AuditedArms
from posse.audit.view import Adversary, EnoughSeen
from posse.engines import memory
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.protocol.privacy import Neighbours
from posse.protocol.wire import HEADER, encode
from posse.wire.sources import of_this_machine
from posse_systems.tossou2015.messages import Choice, Outcome
from tests.support.conversations import examples
from tests.support.planted import Told, planted
from tests.support.runfile import describe_run

COOPERATION = describe_run(
    "private-ucb",
    2,
    [0.9, 0.1],
    topology="path",
    parameters={"epsilon": 1.0, "horizon": 4},
    engine="memory",
)

PLAYERS = describe_run(
    "tdfs-private",
    3,
    [0.9, 0.1, 0.5, 0.2],
    parameters={"epsilon": 1.0, "horizon": 20},
    engine="memory",
)


def seen(raw, sees, agent=0, watched=1):
    plan = prepare(raw)
    watch = Adversary(plan, sees, agent, watched)
    world = AuditedArms(None, 0, sees == "pulls", horizon=True)
    if sees == "pulls":
        world.case = Neighbours(levels=(1.0, 0.0))
    memory.run(plan, 0, tap=watch, sources=replace(of_this_machine(lambda: 0), arms=world.arms))
    return watch.collect(world.pulls)


@pytest.mark.parametrize("sign", [False, True])
def test_a_bundle_is_read_as_its_senders_own_message(sign):
    found = seen({**COOPERATION, "engine": {"kind": "memory", "sign": sign}}, "messages")
    assert found["`number of items` of agent 0's second `Bundle`"] == 1
    assert found["`counts[0]` of agent 0's first `Bundle`"] == 1
    assert np.isfinite(found["`means[0]` of agent 0's second `Bundle`"])


def test_the_same_to_several_is_seen_once_and_there_is_an_end():
    watch = Adversary(prepare(planted("none")), "messages", 0)
    frame = encode(Told(1.5), 0, 0, 0, 1.0, 0)
    watch(0, COORDINATOR, frame)
    watch(0, 1, frame)
    assert watch.collect({})["number of `Told` of agent 0"] == 1
    watch(0, 2, encode(Told(1.5), 0, 0, 1, 1.0, 0))  # by itself, so it is another message
    assert watch.collect({})["number of `Told` of agent 0"] == 2

    def many():
        for _ in range(10_000):
            watch(0, COORDINATOR, frame)

    with pytest.raises(EnoughSeen):
        many()


def test_a_coordinator_numbers_each_link_by_itself():
    watch = Adversary(prepare(PLAYERS), "pulls", 0)
    for rank, collided in enumerate((False, True, True)):
        outcome = Outcome(0, 0.5, 0.5, collided)
        watch(COORDINATOR, rank, encode(outcome, 0, COORDINATOR, 0, 1.0, 0))
    found = watch.collect({})
    assert [
        found[f"`collided` of the coordinator's first `Outcome` to agent {rank}"]
        for rank in range(3)
    ] == [0, 1, 1]
    assert found["number of `Outcome` of the coordinator to agent 2"] == 1
    assert found["number of `Outcome` of the coordinator"] == 3


def test_whether_players_saw_equal_samples_is_not_in_the_places_of_what_follows():
    def places(samples):
        watch = Adversary(prepare(PLAYERS), "pulls", 0)
        for rank, sample in enumerate(samples):
            outcome = Outcome(1, sample, sample, False)
            watch(COORDINATOR, rank, encode(outcome, 0, COORDINATOR, 0, 1.0, 0))
        watch(0, COORDINATOR, encode(Choice(2, 0), 0, 0, 0, 2.0, 0))
        found = watch.collect({})
        return {name: value for name, value in found.items() if name.startswith("place")}

    assert places([0.0, 0.0, 0.0]) == places([0.0, 1.0, 0.0])
    assert places([0.0, 1.0, 0.0])["place of agent 0's first `Choice`"] == 2


PREPARED = prepare(COOPERATION)
FIELDS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.text(max_size=9) | st.binary(max_size=9)
)
FIELDS |= st.lists(st.text(max_size=2) | st.floats(-9, 9), max_size=3)


@given(FIELDS, FIELDS)
@example("yes", "no.")
@example(b"1234", b"1235")
@example(b"12345678a", b"12345678b")
@example(None, False)
@example([""], ["a"])
def test_whatever_a_field_has_is_in_the_numbers(one, other):
    def numbers(value):
        watch = Adversary(PREPARED, "messages", 0)
        payload = msgspec.msgpack.encode(["Bundle", value, b""])
        watch(0, 1, HEADER.pack(b"po", 1, 0, 0, 0, 0, 0.0, 0) + payload)
        return {name: n for name, n in watch.collect({}).items() if not name.startswith("size")}

    assert (numbers(one) == numbers(other)) == (repr(one) == repr(other))


@examples(Path(__file__).with_name("view.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
