"""An agent's side of joining, over scripted time and without a socket."""

import contextlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.agent.joining import Joining
from posse.agent.states import Closure, JoinState
from posse.arms.bernoulli import BernoulliArms
from posse.errors import PosseError
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import Fail, JoiningEffect, SendToCoordinator
from posse.protocol import control
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.signing import nonce_of
from posse.protocol.wire import encode
from tests.support import lobby
from tests.support.conversations import conversations
from tests.support.fuzz import HostileFields

WALL = 1e9
WAIT = 300.0
AHEAD = 7_000_000_000
"""What the coordinator's clock is ahead, in nanoseconds."""

SETUP = AgentSetup(
    system="mase",
    variant="printed",
    parameters={},
    agents=8,
    arms=BernoulliArms(means=[0.9, 0.5, 0.1]),
    rate=1.0,
    clock="wall",
    base="",
)
NEAR = msgspec.structs.replace(
    SETUP, neighbours=(1,), inboxes={1: "tcp://192.0.2.1:7"}, keys={1: "k1"}
)


class Script:
    """A machine and what happens to it; `now` is moved by hand."""

    def __init__(self, rank: int = -1, incarnation: bytes = b"start-1", **options: Any) -> None:
        self.now = 1000.0
        join = control.Join(rank, "token", "", 7, incarnation)
        options.setdefault("wait", WAIT)
        self.machine = Joining(join, self.now, endpoint="tcp://c:1", system="mase", **options)

    def told(self, message: Message | bytes) -> list[JoiningEffect]:
        frame = message if isinstance(message, bytes) else framed(message)
        return self.machine.receive(frame, self.now)

    def connected(self) -> list[JoiningEffect]:
        return self.machine.connected(WALL, self.now)

    def disconnected(self) -> list[JoiningEffect]:
        return self.machine.disconnected(self.now)

    def fire(self) -> list[JoiningEffect]:
        return self.machine.fire(self.now)

    def not_listening(self, *ranks: int) -> list[JoiningEffect]:
        return self.machine.not_listening(ranks)

    def inbox_open(self, address: str = "tcp://a:2") -> list[JoiningEffect]:
        return self.machine.inbox_open(address)

    def not_let_in(self, how: Closure, times: int = 1) -> list[JoiningEffect]:
        """What so many closed handshakes lead to, after each other."""
        return [e for _ in range(times) for e in self.machine.not_let_in(how, "why")]

    def answered(self, delays: list[float], late: float = 0.0) -> list[JoiningEffect]:
        """Each question is under way so long, of which `late` seconds on the way back alone."""
        effects: list[JoiningEffect] = []
        sent = round(self.now * 1e9)
        for delay in delays:
            clock = sent + round((delay - late) / 2 * 1e9) + AHEAD
            self.now += delay
            effects = self.told(control.Synced(sent, clock))
            sent = next_question(effects, sent)
        return effects

    def configured(self, setup: AgentSetup = SETUP, **changes: Any) -> list[JoiningEffect]:
        if changes:
            table = msgspec.to_builtins(setup, builtin_types=(bytes,))
            return self.told(control.Configure(4, msgspec.msgpack.encode({**table, **changes})))
        return self.told(control.Configure(4, msgspec.msgpack.encode(setup)))

    def joins(self) -> list[JoiningEffect]:
        self.connected()
        self.told(control.Welcome(4, "mase"))
        self.answered([0.01] * 8)
        return self.inbox_open()

    def comes_to(self, state: JoinState) -> None:
        self.joins()
        if state is not JoinState.JOINED:
            self.configured()
        if state is JoinState.LINKED:
            self.not_listening()
        assert self.machine.state is state

    def state(self) -> dict[str, object]:
        machine = self.machine
        return {
            "state": machine.state.name,
            "rank": machine.rank,
            "ahead": f"{machine.offset / 1e9:.6g}",
            "timer": f"{machine.timer:g}",
            "belongs": machine.belongs,
            "last_answer": machine.last_answer,
        }


def framed(message: Message) -> bytes:
    return encode(message, run=0, source=COORDINATOR, sequence=0, now=0.0, sent=0)


def next_question(effects: list[JoiningEffect], sent: int) -> int:
    """When the question for the time was sent that these effects are, else `sent`."""
    match effects:
        case [SendToCoordinator(control.Sync(again))]:
            return again
    return sent


FIELD = {"mode": "field", "name": b"run"}
NAMES = vars(control) | vars(lobby) | globals() | {
    **Closure.__members__,
    **JoinState.__members__,
    "DEEP": b"\x81\xa9knowledge\x81\xa1x" + b"\x91" * 200_000 + b"\x90",
    "SETUP_7": msgspec.msgpack.encode(SETUP),
    "inf": math.inf,
    "MOST_AGENTS": MOST_AGENTS,
    "OWN": nonce_of(b"start-1"),
    "OTHER": nonce_of(b"start-9"),
}  # fmt: skip


@conversations(Path(__file__).with_name("joining.txt"), NAMES)
def test_conversation(talk: Callable[[], None]) -> None:
    talk()


delays = st.floats(0.001, 0.05)


@given(st.lists(delays, min_size=8, max_size=8), st.sets(st.integers(0, 7), max_size=4), delays)
def test_the_quickest_round_trips_tell_the_time(
    ways: list[float], slow: set[int], late: float
) -> None:
    """Half of the answers may come late on the way back by any time: they count for nothing."""
    script = Script()
    script.connected()
    script.told(control.Welcome(0, "mase"))
    sent = round(script.now * 1e9)
    for number, way in enumerate(ways):
        clock = sent + round(way * 1e9) + AHEAD
        script.now += 2 * way + (1.0 + late) * (number in slow)
        sent = next_question(script.told(control.Synced(sent, clock)), sent)
    assert abs(script.machine.offset - AHEAD) < 1_000


@given(
    st.sampled_from([*Closure]), st.booleans(), st.lists(st.integers(1, 5), min_size=1, max_size=5)
)
def test_who_was_let_in_once_tries_again_whatever_answers(
    how: Closure, keys: bool, failures: list[int]
) -> None:
    """Only its own key that is refused six times in a row ends its part."""
    script = Script(key="K" if keys else "")
    script.connected()
    for count in failures:
        ended = script.not_let_in(how, count)
        assert not any(isinstance(effect, Fail) for effect in ended)
        script.connected()
    ended = script.not_let_in(how, 12)
    assert any(isinstance(e, Fail) for e in ended) is (how is Closure.UNKNOWN_KEY)


@given(st.integers(0), st.sampled_from([None, *JoinState]))
def test_whatever_a_coordinator_says_ends_it_by_a_sentence_at_most(
    seed: int, stage: JoinState | None
) -> None:
    """Every kind with hostile fields, at every stage."""
    hostile = HostileFields(str(seed))
    script = Script()
    if stage in (JoinState.JOINED, JoinState.LINKING, JoinState.LINKED):
        script.comes_to(stage)
    with contextlib.suppress(PosseError):
        for _ in range(30):
            script.told(hostile.frame([*control.TO_JOINING, *control.TO_AGENT]))
            script.now += 0.01


@pytest.mark.parametrize("stage", [JoinState.JOINED, JoinState.LINKING, JoinState.LINKED])
@given(away=st.lists(st.floats(0.0, WAIT - 1.0), min_size=1, max_size=4))
def test_after_each_lost_connection_it_goes_on_where_it_was(
    stage: JoinState, away: list[float]
) -> None:
    script = Script()
    script.comes_to(stage)
    for number, gone in enumerate(away, start=2):
        assert len(script.disconnected()) == 1
        script.now += gone
        assert script.fire() == script.disconnected() == script.not_listening() == []
        (asked,) = script.connected()
        assert asked.resume == control.Resume(4, "token", b"start-1", number, 0, pid=7)
        script.told(control.Resumed(5))
        assert script.machine.state is stage
        link_check = script.now + 5.0
        assert script.machine.timer == (link_check if stage is JoinState.LINKING else math.inf)
        assert script.told(control.Resumed(5)) == []
