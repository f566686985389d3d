"""The coordinator's side of joining, over scripted time and without a socket."""

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.hosts.effects import Fail
from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.wire import kind_of
from tests.support import lobby
from tests.support.conversations import conversations
from tests.support.fuzz import HostileFields
from tests.support.lobby import DEADLINE, Run, Script, failed, framed, joining

NAMES = vars(control) | vars(lobby) | {
    "SETUP_0": msgspec.msgpack.encode(lobby.setup(0)),
    "SETUP_1": msgspec.msgpack.encode(lobby.setup(1)),
    "HEAD": control.LedgerHead(bytes(16), 1, bytes(16), bytes(64)),
}  # fmt: skip


@conversations(Path(__file__).with_name("lobby.txt"), NAMES)
def test_conversation(talk: Callable[[], None]) -> None:
    talk()


seconds = st.floats(0.1, 0.8)
NOTHING_NEW: list[Message | bytes] = [
    bytes(40),
    control.Arrived(""),
    control.Ready(0),
    control.Resume(0, "", b"peer-0", 1, 0),
    joining(incarnation=b"peer-0"),
]


@given(st.lists(st.tuples(st.sampled_from(NOTHING_NEW), seconds), min_size=20, max_size=40))
def test_an_agent_that_is_here_and_says_nothing_new_moves_no_deadline(
    words: list[tuple[Message | bytes, float]],
) -> None:
    script = Script(keys="kl")
    script.joins("peer-0", key="k")
    script.joins("peer-1", key="l")
    script.configure()
    script.says("peer-0", control.Ready(0))
    deadline = script.lobby.timer
    for message, passed in words:
        script.now += passed
        script.says("peer-0", message, "k")
        assert script.lobby.timer == deadline
    script.now = deadline
    assert failed(script.fire()).endswith("waiting for agent 1 to be ready")


@given(st.data(), st.booleans())
def test_whatever_one_agent_does_the_others_wait_a_few_deadlines_for_a_start(
    data: st.DataObject, here: bool
) -> None:
    """Each time it begins anew all are configured anew: five times all wait as long again."""
    script = Script(keys="kl")
    script.joins("b", key="k", start=b"start-0")
    if here:
        script.joins("z", key="l")
    start, number = b"start-0", 0
    while script.now < script.lobby.timer:
        if script.lobby.complete and script.lobby.changed:
            script.gather()
            script.configure()
            script.says("z", control.Ready(0))
        number += 1
        script.now += data.draw(st.sampled_from([DEADLINE - 1, 0.8]))
        peer = "cb"[number % 2]
        match data.draw(st.sampled_from(["asks the time", "joins anew", "moves", "closes"])):
            case "asks the time":
                script.says("bc"[number % 2], control.Sync(1))
            case "joins anew":
                start = b"start-%d" % number
                script.joins(peer, key="k", start=start)
            case "moves":
                inbox = f"tcp://192.0.2.{ord('b')}:{number + 1}"
                asked = control.Resume(0, "", start, number + 1, 0, inbox=inbox)
                script.says(peer, asked, "k", "192.0.2.98")
            case "closes":
                script.closes(peer)
        assert script.now - script.began <= 8 * DEADLINE
    assert isinstance(script.fire()[-1], Fail)


@given(st.lists(st.floats(0.1, 1.5), max_size=15), seconds)
def test_only_while_a_connection_is_away_a_run_waits_longer(
    away: list[float], passed: float
) -> None:
    script = Script(keys="kl")
    script.joins("a", key="k", start=b"x")
    script.joins("z", key="l", start=b"y")
    script.carries(Run())
    for number, gone in enumerate(away, start=1):
        script.closes("ba"[number % 2])
        script.now += gone
        script.says("ab"[number % 2], control.Resume(0, "", b"x", number, 0), "k")
        script.now += passed
    assert script.lobby.timer == pytest.approx(script.began + DEADLINE + sum(away))


@pytest.mark.parametrize(("running", "most"), [(True, 0), (False, 4)])
@given(arrives=st.lists(st.booleans(), min_size=20, max_size=40))
def test_who_joins_without_end_moves_a_deadline_as_often_as_one_that_joins_once(
    running: bool, most: int, arrives: list[bool]
) -> None:
    """It is another process each time, and may have an inbox that is not its own."""
    script = Script(keys="kl")
    script.joins("a", key="k")
    if running:
        script.joins("z", key="l")
        script.carries(Run(outlives=True))
    moved, deadline = 0, script.lobby.timer
    for number, arrived in enumerate(arrives):
        script.now += 0.1
        peer = "bc"[number % 2]
        script.says(peer, joining(incarnation=bytes([number])), "k")
        script.says(peer, control.Sync(number))
        if arrived:
            script.says(peer, control.Arrived("tcp://198.51.100.1:1"))
        moved += script.lobby.timer != deadline
        deadline = script.lobby.timer
    assert moved == most


@settings(max_examples=40)
@given(st.integers(0), st.sampled_from([(), ("key-0", "key-1")]), st.data())
def test_whatever_is_said_to_it_raises_nothing_and_ends_no_run_but_by_who_fails(
    seed: int, keys: tuple[str, ...], data: st.DataObject
) -> None:
    """Strangers, and agents that joined, say every kind with hostile fields."""
    chance = random.Random(seed)
    hostile = HostileFields(chance)
    spoken: list[type[Message]] = [*control.TO_LOBBY, control.Goodbye, *control.TO_COORDINATOR]
    kinds = [kind for kind in dict.fromkeys(spoken) if kind is not control.Failed]
    script = Script(keys=keys)
    run = data.draw(st.sampled_from([None, False, True]))
    if run is not None:
        for rank in range(2):
            script.joins(f"peer-{rank}", rank, key=keys[rank] if keys else "")
        script.begin(outlives=run)
    for _ in range(60):
        peer = chance.choice(["peer-0", "peer-1", "new-7", "new-8"])
        key = chance.choice([*keys, "stranger"]) if keys else ""
        effects = script.says(peer, hostile.frame(kinds), key)
        assert not any(isinstance(effect, Fail) for effect in effects)
        script.now += chance.choice([0.0, 0.01])


@given(st.integers(1, 1 << 20))
def test_what_was_heard_last_is_kept_only_as_far_as_its_kind_is_read(more: int) -> None:
    script = Script()
    script.all_join()
    script.member(0).note(framed(control.Finished(1)) + bytes(more), 0.0)
    assert kind_of(script.member(0).last) == "Finished"
    assert len(script.member(0).last) < 100
