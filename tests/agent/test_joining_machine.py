"""An agent's side of joining, over scripted time and without a socket."""

import contextlib
import logging
import math
from typing import Any

import msgspec
import pytest

from posse import __version__
from posse.agent.joining import Joining
from posse.agent.states import Closure, JoinState
from posse.arms.bernoulli import BernoulliArms
from posse.errors import PosseError
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import (
    BeginSession,
    ConnectNeighbours,
    DropHost,
    Fail,
    GiveUp,
    JoiningEffect,
    Leave,
    LogLine,
    MakeHost,
    OpenInbox,
    ResumeSession,
    SendResume,
    SendToCoordinator,
)
from posse.protocol import control
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.signing import nonce_of
from posse.protocol.wire import VERSION, encode
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
CONFIGURE = control.Configure(4, msgspec.msgpack.encode(SETUP))


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

    def synchronises(self, delays: list[float]) -> list[JoiningEffect]:
        """Answers to `Sync`, each under way so long, with equal ways there and back."""
        return self.answered(self.told(control.Welcome(4, "mase")), delays)

    def answered(self, effects: list[JoiningEffect], delays: list[float]) -> list[JoiningEffect]:
        for delay in delays:
            (ask,) = effects
            assert isinstance(ask, SendToCoordinator)
            assert isinstance(ask.message, control.Sync)
            clock = ask.message.sent + round(delay / 2 * 1e9) + AHEAD
            self.now += delay
            effects = self.told(control.Synced(ask.message.sent, clock))
        return effects

    def joins(self) -> list[JoiningEffect]:
        self.machine.connected(WALL, self.now)
        self.synchronises([0.01] * 8)
        return self.machine.inbox_open("tcp://a:2")

    def resume(self, connection: int) -> control.Resume:
        """The machine's half of it over this connection."""
        return control.Resume(self.machine.rank, "token", b"start-1", connection, 0, pid=7)

    def belongs(self) -> bool:
        return self.machine.belongs

    def is_linked(self) -> None:
        self.comes_to(JoinState.LINKED)

    def comes_to(self, state: JoinState) -> None:
        self.joins()
        if state is not JoinState.JOINED:
            self.told(CONFIGURE)
        if state is JoinState.LINKED:
            self.machine.not_listening(())
        assert self.machine.state is state


def framed(message: Message) -> bytes:
    return encode(message, run=0, source=COORDINATOR, sequence=0, now=0.0, sent=0)


def test_a_coordinator_of_another_protocol_is_left_in_a_sentence() -> None:
    script = Script(rank=3)
    other = b"po" + bytes([VERSION + 1]) + framed(control.Unknown())[3:]
    assert script.told(other) == []
    script.machine.connected(WALL, script.now)
    (failed,) = script.told(other)
    assert isinstance(failed, Fail)
    assert failed.reason == (
        f"the coordinator at tcp://c:1 speaks version {VERSION + 1} of the wire, and this agent "
        f"has posse {__version__} and speaks version {VERSION}; "
        "install the same version of posse for both"
    )
    refused = b"po" + bytes([VERSION + 1]) + framed(control.Refused("it has posse 0.1.0"))[3:]
    (failed,) = script.told(refused)
    assert isinstance(failed, Fail)
    assert failed.reason == "the coordinator refused this agent: it has posse 0.1.0"


def test_it_knows_the_coordinators_clock_before_it_arrives() -> None:
    script = Script()
    script.machine.connected(WALL, script.now)
    assert script.synchronises([0.01] * 8) == [OpenInbox("mase", 4)]
    assert script.machine.offset == AHEAD
    assert not script.belongs()
    assert script.machine.inbox_open("tcp://a:2") == [
        LogLine(logging.INFO, "joined tcp://c:1 as agent 4; round trip 10.0 ms"),
        SendToCoordinator(control.Arrived("tcp://a:2")),
    ]
    assert script.belongs()
    assert script.machine.timer == math.inf


def test_the_quickest_round_trips_tell_the_time() -> None:
    """Four answers came late on the way back, by up to a second: they count for nothing."""
    script = Script()
    script.machine.connected(WALL, script.now)
    effects = script.told(control.Welcome(0, "mase"))
    for late in (0.0, 0.3, 0.0, 1.0, 0.0, 0.4, 0.0, 0.5):
        (ask,) = effects
        assert isinstance(ask, SendToCoordinator)
        assert isinstance(ask.message, control.Sync)
        clock = ask.message.sent + 5_000_000 + AHEAD
        script.now += 0.01 + late
        effects = script.told(control.Synced(ask.message.sent, clock))
    assert abs(script.machine.offset - AHEAD) < 1_000


def test_round_trips_over_one_connection_count_on_the_next() -> None:
    """Each connection here lasts for two of the eight, and one answer is lost with it."""
    script = Script()
    script.machine.connected(WALL, script.now)
    script.synchronises([0.01] * 2)
    for connection in (2, 3, 4):
        (said,) = script.machine.disconnected(script.now)
        assert isinstance(said, LogLine)
        asked = script.machine.connected(WALL, script.now)
        assert asked == [
            SendResume(script.resume(connection)),
            SendToCoordinator(control.Sync(round(script.now * 1e9))),
        ]
        assert script.told(control.Synced(0, 0)) == []  # it was asked over the one before
        assert script.told(control.Resumed(0))[0] == ResumeSession(0)
        assert script.machine.timer == script.now + 2.0  # it then asks again
        effects = script.answered(asked[1:], [0.01] * 2)
    assert effects == [OpenInbox("mase", 4)]
    assert script.machine.offset == AHEAD


def test_neighbours_that_do_not_listen_are_named_to_the_coordinator_which_decides() -> None:
    script = Script()
    script.joins()
    script.told(CONFIGURE)
    script.machine.not_listening((1, 2, 5))
    script.now += 4.0
    script.machine.not_listening((1, 5))
    assert script.machine.fire(script.now) == []
    script.now += 1.0
    assert script.machine.fire(script.now) == [
        LogLine(
            logging.WARNING,
            "no link yet to neighbours 1, 5; check the network to their inboxes",
        ),
        SendToCoordinator(control.Linked(1, up=False)),
        SendToCoordinator(control.Linked(5, up=False)),
    ]
    script.machine.not_listening((1, 2, 5))
    script.now += 5.0
    assert script.machine.fire(script.now)[1:] == [SendToCoordinator(control.Linked(2, up=False))]
    assert script.machine.not_listening((1,)) == [
        SendToCoordinator(control.Linked(2, up=True)),
        SendToCoordinator(control.Linked(5, up=True)),
    ]
    script.now += 1_000.0
    assert script.machine.fire(script.now) == []
    assert script.machine.not_listening(()) == [
        SendToCoordinator(control.Linked(1, up=True)),
        MakeHost(SETUP),
    ]
    assert script.machine.timer == math.inf


def test_a_coordinator_that_does_not_go_on_is_given_up_too() -> None:
    script = Script()
    script.now = 1200.0
    script.machine.connected(WALL, script.now)
    script.told(control.Welcome(0, "mase"))
    assert script.machine.fire(1499.0) == [SendToCoordinator(control.Sync(1499 * 10**9))]
    assert script.machine.fire(1500.0) == [GiveUp()]


@pytest.mark.parametrize("when", [JoinState.JOINED, JoinState.LINKING, JoinState.LINKED])
def test_after_a_lost_connection_it_goes_on_where_it_was(when: JoinState) -> None:
    script = Script()
    script.comes_to(when)
    script.now = 5000.0
    assert script.machine.disconnected(script.now) == [
        LogLine(logging.WARNING, "lost the coordinator at tcp://c:1; waiting up to 300 s for it"),
    ]
    assert script.machine.fire(5000.0 + WAIT - 1.0) == []
    assert script.machine.disconnected(script.now) == []
    assert script.machine.not_listening(()) == []
    assert script.machine.connected(WALL + 1, script.now) == [SendResume(script.resume(2))]
    assert script.told(control.Resumed(5)) == [
        ResumeSession(5),
        LogLine(logging.INFO, "reconnected to the coordinator at tcp://c:1"),
    ]
    assert script.machine.state is when
    assert script.machine.timer == (5005.0 if when is JoinState.LINKING else math.inf)
    assert script.told(control.Resumed(5)) == []


def test_a_new_connection_whose_loss_was_not_seen_is_resumed_on_too() -> None:
    script = Script()
    script.is_linked()
    assert script.machine.connected(WALL, script.now) == [SendResume(script.resume(2))]
    assert script.machine.state is JoinState.RESUMING
    assert script.machine.fire(script.now + WAIT) == [GiveUp()]


def test_it_resumes_when_the_coordinator_asks_whose_frames_these_are_and_asks_once() -> None:
    script = Script()
    script.is_linked()
    assert script.told(control.Whose()) == [SendResume(script.resume(2))]
    assert script.told(control.Whose()) == []


def test_who_is_refused_ends_with_the_reason() -> None:
    script = Script()
    script.machine.connected(WALL, script.now)
    assert script.told(control.Refused("its clock is 60 s behind")) == [
        Fail("the coordinator refused this agent: its clock is 60 s behind", PosseError)
    ]


@pytest.mark.parametrize(
    ("how", "key", "times", "sentence"),
    [
        (Closure.UNKNOWN_KEY, "K", 1, "does not know this agent's key; on its machine run: posse"),
        (Closure.NOT_UNDERSTOOD, "", 6, "failed: why"),
        (Closure.WITHOUT_A_WORD, "K", 6, "does not have the key that this agent's coordinator.key"),
    ],
)
def test_who_is_not_let_in_says_what_is_wrong_with_the_keys(
    how: Closure, key: str, times: int, sentence: str
) -> None:
    script = Script(key=key)
    for _ in range(times - 1):
        effects = script.machine.not_let_in(how, "why")
        assert not any(isinstance(effect, Fail) for effect in effects)
    (failure,) = script.machine.not_let_in(how, "why")
    assert isinstance(failure, Fail)
    assert f"the coordinator at tcp://c:1 {sentence}" in failure.reason.replace(
        "the handshake with ", ""
    )
    assert failure.kind is PosseError


@pytest.mark.parametrize(
    ("how", "key", "most"),
    [
        (Closure.WITHOUT_A_WORD, "", None),
        (Closure.WITHOUT_A_WORD, "K", None),
        (Closure.NOT_UNDERSTOOD, "K", None),
        (Closure.UNKNOWN_KEY, "K", 5),
    ],
)
def test_who_was_let_in_once_tries_again_whatever_answers(
    how: Closure, key: str, most: int | None
) -> None:
    """Only its own key that is refused six times in a row ends its part."""
    script = Script(key=key)
    script.machine.connected(WALL, script.now)
    for _ in range(2):
        for _ in range(most or 12):
            effects = script.machine.not_let_in(how, "why")
            assert not any(isinstance(effect, Fail) for effect in effects)
        if most is not None:
            (failure,) = script.machine.not_let_in(how, "why")
            assert isinstance(failure, Fail)
        script.machine.connected(WALL, script.now)


@pytest.mark.parametrize(
    "message",
    [
        b"\x00" * 60,
        b"po",
        framed(control.Ready()),
        control.Synced(0, 0),
        control.Welcome(0, "mase"),
    ],
)
def test_what_is_out_of_turn_changes_nothing(message: Message | bytes) -> None:
    script = Script()
    script.joins()
    assert script.told(message) == []
    assert (script.machine.state, script.machine.rank) == (JoinState.JOINED, 4)
    assert script.machine.offset == AHEAD


def test_a_configuration_before_it_joined_is_not_followed() -> None:
    script = Script()
    script.machine.connected(WALL, script.now)
    assert script.told(CONFIGURE) == []


@pytest.mark.parametrize(
    ("code", "level", "said"),
    [
        (0, logging.INFO, "the coordinator has finished and let this agent go"),
        (3, logging.WARNING, "the coordinator gave up (exit code 3) and let this agent go"),
    ],
)
def test_goodbye_is_said_and_obeyed_with_the_exit_code_of_the_runs(
    code: int, level: int, said: str
) -> None:
    script = Script()
    script.is_linked()
    log, leave = script.told(control.Goodbye(code))
    assert isinstance(log, LogLine)
    assert (log.level, log.text.split(";")[0], leave) == (level, said, Leave(code))


def setup(**changes: str) -> bytes:
    return msgspec.msgpack.encode({**msgspec.to_builtins(SETUP, builtin_types=(bytes,)), **changes})


NOT_DECODED = "the coordinator's configuration cannot be decoded: "
NO_SETUPS = {
    "no table": (b"\x93\x01\x02\x03", NOT_DECODED),
    "nested 200,000 deep": (
        b"\x81\xa9knowledge\x81\xa1x" + b"\x91" * 200_000 + b"\x90",
        NOT_DECODED,
    ),
    "attack a17: neither the lab nor the field": (setup(mode="x"), "Invalid enum value 'x'"),
    "a clock that nobody knows": (setup(clock="moon"), "Invalid enum value 'moon'"),
    "a variant that nobody knows": (setup(variant="new"), "Invalid enum value 'new'"),
    "the field by a clock that raw rewards decide": (
        setup(mode="field", clock="virtual"),
        "uses clock = 'virtual', which is for the lab only",
    ),
    "the field in slots": (setup(mode="field", clock="slots"), "uses clock = 'slots', which is"),
}


@pytest.mark.parametrize("name", NO_SETUPS)
def test_a_configuration_that_is_none_ends_it_with_a_sentence(name: str) -> None:
    configuration, said = NO_SETUPS[name]
    script = Script()
    script.joins()
    (failure,) = script.told(control.Configure(4, configuration))
    assert isinstance(failure, Fail)
    assert said in failure.reason
    assert failure.kind is PosseError
    assert script.machine.state is JoinState.JOINED


def test_in_the_field_the_walls_clock_is_followed() -> None:
    script = Script()
    script.joins()
    (_, connect) = script.told(control.Configure(4, setup(mode="field", clock="wall")))
    assert isinstance(connect, ConnectNeighbours)


def test_beside_its_coordinator_an_agent_opens_its_inbox_joins_and_waits_without_end() -> None:
    script = Script(rank=4, incarnation=b"", wait=math.inf)
    assert script.belongs()
    assert script.machine.connected(WALL, script.now) == [
        BeginSession(),
        DropHost(),
        OpenInbox("mase", 4),
    ]
    assert script.machine.inbox_open("ipc://4") == [
        SendToCoordinator(control.Join(4, "token", "ipc://4", 7))
    ]
    assert script.machine.timer == math.inf
    assert script.told(CONFIGURE) == [DropHost(), ConnectNeighbours(SETUP)]
    assert script.machine.not_listening(()) == [MakeHost(SETUP)]
    assert script.told(control.Goodbye()) == [Leave()]


def test_a_run_whose_name_lacks_the_agents_random_number_is_left() -> None:
    """Else a coordinator could name a run as an earlier one, and let its messages live again."""
    nonces = tuple(nonce_of(b"start-%d" % start) for start in (9, 9, 9, 9, 1))
    for given, fits in ((nonces, True), (nonces[:4], False), (nonces[::-1], False), ((), False)):
        script = Script(key="KEY")
        script.joins()
        setup = msgspec.structs.replace(SETUP, mode="field", name=b"run", nonces=given)
        effects = script.told(control.Configure(4, msgspec.msgpack.encode(setup)))
        assert isinstance(effects[0], Fail) is not fits
        if not fits:
            assert "lacks this agent's random number" in effects[0].reason


def test_an_agent_that_has_a_rank_is_no_other() -> None:
    """Attack: its own arms were used again under rank 7, whose ledger knew of no run."""
    given = Script(rank=3)
    given.machine.connected(WALL, given.now)
    with pytest.raises(PosseError, match="for agent 4, but it is agent 3;"):
        given.told(control.Welcome(4, "mase"))
    beside, chosen = Script(rank=3, incarnation=b""), Script()
    beside.machine.connected(WALL, beside.now)
    chosen.joins()
    for script in (beside, chosen):
        with pytest.raises(PosseError, match="for agent 7, but it is agent"):
            script.told(control.Configure(7, msgspec.msgpack.encode(SETUP)))
    chosen.machine.disconnected(chosen.now)
    chosen.machine.connected(WALL, chosen.now)
    chosen.told(control.Unknown())
    with pytest.raises(PosseError, match="for agent 0, but it is agent 4;"):
        chosen.told(control.Welcome(0, "mase"))


@pytest.mark.parametrize("rank", [-1, MOST_AGENTS, 2**40])
def test_a_rank_that_no_agent_has_is_not_taken(rank: int) -> None:
    script = Script()
    script.machine.connected(WALL, script.now)
    assert script.told(control.Welcome(rank, "mase")) == []
    assert script.machine.rank == -1


def test_what_nothing_else_repeats_is_said_again_until_it_is_answered() -> None:
    script = Script()
    (*_, join) = script.machine.connected(WALL, script.now)
    for now in (1002.0, 1004.0):
        assert script.machine.timer == now
        later = msgspec.structs.replace(join.message, wall=WALL + now - 1000.0)
        assert script.machine.fire(now) == [SendToCoordinator(later)]
    script.machine.disconnected(1004.5)
    assert script.machine.fire(1006.0) == []  # no connection: ZeroMQ would keep it for the next
    script.machine.connected(WALL, 1007.0)
    script.now = 1008.0
    script.synchronises([0.01] * 4)
    now, effects = script.machine.timer, []
    for lost in range(4):
        effects = script.machine.fire(now + 2.0 * lost)
        if lost < 3:
            (ask,) = effects
            assert isinstance(ask, SendToCoordinator)
    assert effects == [OpenInbox("mase", 4)]  # four round trips, as four were lost


def test_whatever_a_coordinator_says_ends_it_by_a_sentence_at_most() -> None:
    """Every kind with hostile fields, at every stage."""
    hostile = HostileFields("joining")
    ended = 0
    for trial in range(40):
        script = Script()
        stage = [JoinState.JOINED, JoinState.LINKING, JoinState.LINKED][trial % 3]
        if trial % 4:
            script.comes_to(stage)
        with contextlib.suppress(PosseError):
            ended += 1
            for _ in range(30):
                script.told(hostile.frame([*control.TO_JOINING, *control.TO_AGENT]))
                script.now += 0.01
            ended -= 1
    assert ended


@pytest.mark.parametrize(
    ("listed", "named", "said"),
    [
        ({1: "k1"}, {1: "k1"}, ""),
        ({1: "k1"}, {1: "strange"}, "the coordinator names another key for agent 1"),
        ({1: "k1"}, {}, "the coordinator names another key for agent 1"),
        ({}, {1: "k1"}, "this agent's allowlist has no key of its neighbour 1"),
        (None, {1: "k1"}, ""),  # the coordinator itself made the keys
    ],
)
def test_neighbours_have_the_keys_of_the_agents_own_allowlist(
    listed: dict[int, str] | None, named: dict[int, str], said: str
) -> None:
    """Else a coordinator could stand between two agents, and read what they say."""
    script = Script(key="own", listed=listed)
    script.joins()
    near = msgspec.structs.replace(
        SETUP, neighbours=(1,), inboxes={1: "tcp://192.0.2.1:7"}, keys=named
    )
    effects = script.told(control.Configure(4, msgspec.msgpack.encode(near)))
    reasons = [effect.reason for effect in effects if isinstance(effect, Fail)]
    assert reasons[0].startswith(said) if said else not reasons
    assert any(isinstance(effect, ConnectNeighbours) for effect in effects) is not bool(said)
