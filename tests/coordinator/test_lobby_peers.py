"""What a lobby makes of agents that hold it up, or would lead others astray."""

import logging
from typing import Any

import pytest

from posse.coordinator.lobby import CATCH_UP, Lobby
from posse.coordinator.roster import RESUMES_AT_ONCE, RESUMES_PER_SECOND, Peer, Roster
from posse.hosts.effects import (
    Fail,
    LogLine,
    Reply,
    ResendFrames,
)
from posse.protocol import control
from posse.protocol.message import Message
from posse.security.keys import CoordinatorKeys, KeyPair
from tests.support.fuzz import HostileFields
from tests.support.lobby import (
    DEADLINE,
    ENGINE,
    TOKEN,
    WALL,
    Run,
    Script,
    carrying,
    configuring,
    failed,
    framed,
    joining,
    setup,
    warned,
)

HERE: dict[str, Message | bytes] = {
    "garbage": b"\x00" * 40,
    "arrived again": control.Arrived(""),
    "ready again": control.Ready(),
    "resumed": control.Resume(0, "", b"peer-0", 1, 0),
}


@pytest.mark.parametrize("said", HERE)
def test_an_agent_that_is_here_and_says_nothing_new_moves_no_deadline(said: str) -> None:
    script = Script(keys=("k", "l"))
    script.joins("peer-0", key="k")
    script.joins("peer-1", key="l")
    script.lobby.configure([setup(0), setup(1)], script.now)
    script.says("peer-0", control.Ready())
    deadline = script.lobby.timer
    for _ in range(20):
        script.now += 0.8
        script.says("peer-0", HERE[said])
    assert script.lobby.timer == deadline
    assert failed(script.lobby.fire(script.now)).endswith("waiting for agent 1 to be ready")


def test_an_agent_that_joins_and_leaves_again_and_again_moves_no_deadline() -> None:
    script = Script(keys=("k", "l"))
    script.joins("a", key="k")
    deadline = script.lobby.timer
    for peer in "bcdefghijklmnop":
        script.now += 0.8
        script.closes(chr(ord(peer) - 1))
        script.joins(peer, key="k")
    assert failed(script.lobby.fire(deadline)).endswith(
        "waiting for agent 1 to join; agent 0 joined anew again and again"
    )


@pytest.mark.parametrize("here", [True, False])
def test_who_only_asks_for_the_time_holds_off_no_start(here: bool) -> None:
    """It extends the wait for as long again as a wait may last, and then no more."""
    script = Script(keys=("k", "l"))
    script.joins("b", key="k")
    if here:
        script.joins("z", key="l")
        script.lobby.configure([setup(0), setup(1)], script.now)
        script.says("z", control.Ready())
    began = script.now
    while script.now < script.lobby.timer:
        script.now += DEADLINE - 1
        script.says("b", control.Sync(1))
        assert script.now - began < 4 * DEADLINE
    assert isinstance(script.lobby.fire(script.now)[-1], Fail)


@pytest.mark.parametrize("again", ["joins", "moves"])
def test_who_begins_anew_without_end_holds_off_no_run(again: str) -> None:
    """Each time all are configured anew; five times they wait as long again, and then no more."""
    script = Script(keys=("k", "l"))
    script.joins("b", key="k")
    script.joins("z", key="l")
    for number in range(40):
        script.lobby.configure([setup(0), setup(1)], script.now)
        script.says("z", control.Ready())
        script.now += DEADLINE - 1
        if script.now >= script.lobby.timer:
            break
        peer = "cb"[number % 2]
        if again == "joins":
            script.joins(peer, key="k", start=bytes([number]))
        else:
            inbox = f"tcp://192.0.2.9:{number + 1}"
            resume = control.Resume(0, "", b"b", number + 1, 0, inbox=inbox)
            script.lobby.roster.members[0].host = "192.0.2.9"
            at = Peer(f"moved-{peer}".encode(), "k", 99, "192.0.2.9")
            script.lobby.receive(at, framed(resume), script.now, WALL)
        assert script.lobby.changed
        script.lobby.gather(script.now)
    assert script.now - 100.0 <= 7 * DEADLINE
    assert failed(script.lobby.fire(script.now)) == (
        "nothing was heard for 10 s; waiting for agent 0 to be ready; agent 0 joined anew again "
        "and again"
    )


def test_of_an_agents_replaced_processes_a_few_are_remembered() -> None:
    script = Script(keys=("k", "l"))
    for number in range(1_000):
        script.joins("bc"[number % 2], key="k", start=number.to_bytes(2, "little"))
    (remembered,) = script.lobby.roster._superseded.values()
    assert len(remembered) == 16


def test_an_agent_with_a_new_key_takes_the_place_of_who_has_the_old_one() -> None:
    script = Script(keys=("k", "l"))
    script.joins("peer-0", key="k")
    script.lobby.roster._keys.agents = ("new", "l")
    assert warned(script.lobby.revoke(0, script.now, replaced=True)) == [
        "the key of agent 0 was replaced; waiting for it with the new one"
    ]
    assert "its key is not an agent's" in warned(script.joins("peer-0", key="k"))[0]
    script.joins("peer-2", key="new")
    assert script.lobby.missing() == [1]
    assert script.says("b", control.Resume(0, "", b"peer-2", 1, 0), "k") == [
        Reply(b"b", control.Unknown())
    ]


def test_while_the_allowlist_cannot_be_read_agents_stay_and_nobody_new_comes() -> None:
    script = Script(keys=("k", "l"))
    script.joins("peer-0", key="k")
    script.lobby.roster._keys.trouble = "allowlist.toml is not an allowlist"
    assert script.joins("peer-1", key="l") == []  # it asks again
    back = script.says("b", control.Resume(0, "", b"peer-0", 1, 0), "k")
    assert any(isinstance(effect, ResendFrames) for effect in back)
    script.lobby.roster._keys.trouble = ""
    assert script.joins("peer-1", key="l")
    assert script.lobby.missing() == []


def test_a_connection_that_comes_and_goes_does_not_hold_up_the_deadline_of_a_run() -> None:
    """Only while it is away somebody is waited for."""
    script = Script(keys=("k", "l"))
    script.joins("a", key="k", start=b"x")
    script.joins("z", key="l", start=b"y")
    script.carries(Run())
    for number, peer in enumerate("bcdefghijklmnop", start=1):
        script.closes(chr(ord(peer) - 1))
        script.now += 1.0
        script.says(peer, control.Resume(0, "", b"x", number, 0), "k")
        script.now += 1.0
    assert script.lobby.timer == 100.0 + DEADLINE + 15.0  # away for 15 s
    assert "waiting for agent 1 to act" in failed(script.lobby.fire(script.now))


@pytest.mark.parametrize(("running", "most"), [(True, 0), (False, 4)])
def test_who_joins_without_end_moves_a_deadline_as_often_as_one_that_joins_once(
    running: bool, most: int
) -> None:
    """It is another process each time, and now and then has an inbox that is not its own.

    Its first `Join` was one of five.
    """
    script = Script(keys=("k", "l"))
    script.joins("a", key="k")
    if running:
        script.joins("z", key="l")
        script.carries(Run(outlives=True))
    moved, deadline = 0, script.lobby.timer
    for number in range(40):
        script.now += 0.1
        peer = "bc"[number % 2]
        script.says(peer, joining(incarnation=bytes([number])), "k")
        script.says(peer, control.Sync(number))
        if number % 3 == 0:
            script.says(peer, control.Arrived("tcp://198.51.100.1:1"))
        moved += script.lobby.timer != deadline
        deadline = script.lobby.timer
    assert moved == most


def test_an_agent_that_resumes_without_end_is_answered_a_few_times_a_second() -> None:
    """Each time costs us all that it has not confirmed, and it a frame."""
    script = Script(keys=("k", "l"))
    script.joins("a", key="k", start=b"x")
    script.joins("z", key="l", start=b"y")
    script.carries(Run())
    deadline, sent = script.lobby.timer, 0
    for number in range(1, 3_000):
        script.now += 0.001
        asked = control.Resume(0, "", b"x", number, 0)
        sent += ResendFrames(0, 0) in script.says("bc"[number % 2], asked, "k")
    assert RESUMES_AT_ONCE <= sent <= RESUMES_AT_ONCE + 3 * RESUMES_PER_SECOND
    assert script.lobby.timer == deadline
    script.now += 5.0
    back = script.says("d", control.Resume(0, "", b"x", 10_000, 0), "k")
    assert back[-1] == ResendFrames(0, 0)


BAD_INBOXES = {
    "nonsense": "is not tcp://ADDRESS:PORT with an IPv4 address",
    "inproc://zeromq.zap.01": "is not tcp://ADDRESS:PORT",
    "ipc:///tmp/of-another-program": "is not tcp://ADDRESS:PORT",
    "tcp://name.example:7000": "is not tcp://ADDRESS:PORT",
    "tcp://192.0.2.1:0": "is not tcp://ADDRESS:PORT",
    "tcp://192.0.2.1:70000": "is not tcp://ADDRESS:PORT",
    "tcp://198.51.100.7:7000": "is not on its own host 192.0.2.1",
    "tcp://192.0.2.9:1": "is already agent 0's",
    "tcp://[2001:db8::7]:7000": "add 2001:db8::7/128 to engine.inboxes",
    "tcp://2001:db8::7:7000": "is not tcp://ADDRESS:PORT with an IPv4 address, or an IPv6",
    "tcp://[192.0.2.1]:7000": "is not tcp://ADDRESS:PORT",
    "tcp://[fe80::1%eth0]:7000": "is not tcp://ADDRESS:PORT",
    "tcp://[name]:7000": "is not tcp://ADDRESS:PORT",
    "tcp://192.0.2.1:7\x1b[2J": r"7\x1b[2J is not tcp://ADDRESS:PORT",
}


@pytest.mark.parametrize("inbox", BAD_INBOXES)
def test_nobody_is_sent_to_an_inbox_that_is_not_the_agents_own(inbox: str) -> None:
    script = Script()
    script.says("a", joining(0, b"a"))
    script.says("a", control.Arrived("tcp://192.0.2.9:1"))
    at = Peer(b"b", "", 99, host="192.0.2.1")
    script.lobby.receive(at, framed(joining(1, b"b")), script.now, WALL)
    log, answer = script.lobby.receive(at, framed(control.Arrived(inbox)), script.now, WALL)
    assert isinstance(answer, Reply)
    assert isinstance(answer.message, control.Refused)
    assert BAD_INBOXES[inbox] in answer.message.reason
    assert log == LogLine(logging.WARNING, f"refused agent 1 at 192.0.2.1: {answer.message.reason}")
    assert script.lobby.refused == {"bad-inbox": 1}
    assert script.lobby.missing() == [1]
    assert script.lobby.roster.inboxes == {0: "tcp://192.0.2.9:1"}


@pytest.mark.parametrize(("system", "here"), [("mase", [0]), ("ddp-mab", [])])
def test_whom_neighbours_cannot_reach_is_let_in_where_there_are_none(
    system: str, here: list[int]
) -> None:
    """Its neighbours would refuse the coordinator that sent them nowhere, and end the run."""
    lobby = Lobby(Roster(2, TOKEN), ENGINE, system)
    at = Peer(b"b", "", 99, host="192.0.2.1")
    lobby.receive(at, framed(joining(0, b"b")), 0.0, WALL)
    lobby.receive(at, framed(control.Arrived("")), 0.0, WALL)
    assert sorted(lobby.roster.members) == here


def test_an_inbox_elsewhere_is_the_operators_to_allow() -> None:
    roster = Roster(1, TOKEN, inboxes=("198.51.100.0/24",))
    lobby = Lobby(roster, ENGINE, "mase")
    at = Peer(b"b", "", 99, host="192.0.2.1")
    lobby.receive(at, framed(joining(0, b"b")), 0.0, WALL)
    lobby.receive(at, framed(control.Arrived("tcp://198.51.100.7:7000")), 0.0, WALL)
    assert lobby.missing() == []


@pytest.mark.parametrize("first", [0, 1])
def test_an_inbox_on_loopback_is_refused_by_name_when_another_agent_is_elsewhere(
    first: int,
) -> None:
    """Whichever of them comes first; but beside its coordinator an agent may name its network's."""
    owned = "192.0.2.1"
    roster = Roster(2, TOKEN, owns=lambda host: host == owned)
    lobby = Lobby(roster, ENGINE, "mase")
    hosts = {0: "127.0.0.1", 1: "192.0.2.2"}
    inboxes = {0: "tcp://127.0.0.1:7001", 1: "tcp://192.0.2.2:7001"}

    def arrives(rank: int, inbox: str) -> list[str]:
        name = b"%d" % rank
        at = Peer(name, "", 90 + rank, host=hosts[rank])
        lobby.receive(at, framed(joining(rank, name)), 0.0, WALL)
        effects = lobby.receive(at, framed(control.Arrived(inbox)), 0.0, WALL)
        answers = [effect.message for effect in effects if isinstance(effect, Reply)]
        return [answer.reason for answer in answers if isinstance(answer, control.Refused)]

    said = []
    for rank in (first, 1 - first):
        said += arrives(rank, inboxes[rank])
    (reason,) = said
    assert reason.startswith(
        "its inbox tcp://127.0.0.1:7001 is on loopback, where agent 1 at 192.0.2.2"
    )
    assert lobby.refused == {"bad-inbox": 1}
    assert sorted(roster.inboxes) == [1]
    assert arrives(0, f"tcp://{owned}:7001") == []
    assert lobby.missing() == []


def test_nobody_says_that_it_was_started_here_who_was_not() -> None:
    """Such an agent would have no clock to compare, and its loss would be somebody else's."""
    for token, keys in (("", ()), (TOKEN, ("k", "l"))):
        lobby = Lobby(Roster(2, token, None), ENGINE, "mase")
        if keys:
            lobby = Lobby(Roster(2, "", CoordinatorKeys(KeyPair("o", ""), keys)), ENGINE, "mase")
        frame = framed(control.Join(0, token, "", 0))
        effects = lobby.receive(Peer(b"a", "k", 1), frame, 0.0, WALL)
        assert [type(effect) for effect in effects] == [LogLine, Reply]
        assert lobby.refused == {"join": 1}


def test_over_each_connection_the_time_may_be_asked_for_again() -> None:
    script = Script()
    script.says("a", joining(0))
    for peer in "bcd":
        said = [script.says(peer, control.Resume(0, TOKEN, b"a", ord(peer), 0))]
        said += [script.says(peer, control.Sync(n)) for n in range(20)]
        assert len([effects for effects in said if effects]) == 1 + 16


def test_who_comes_back_has_a_moment_for_what_it_sends_again() -> None:
    script, run = carrying()
    script.closes("peer-1")
    run.timer = script.now + 0.1
    script.now += CATCH_UP / 2
    script.says("z", control.Resume(1, TOKEN, b"peer-1", 2, 7))
    assert run.timer == script.now + CATCH_UP


def test_who_dies_while_another_is_waited_for_ends_no_wait_and_is_known_to_be_gone() -> None:
    script = Script(3)
    for rank in range(3):
        script.says(f"peer-{rank}", control.Join(rank, TOKEN, f"ipc://{rank}", 7 + rank))
    script.lobby.replace(1)
    script.lobby.gather(script.now, [1])
    for rank in (1, 2):
        why = f"agent {rank} was killed by SIGKILL"
        assert script.lobby.died(rank, why, script.now, killed=True) == []
    assert script.lobby.missing() == [1]
    before = script.lobby.complete
    script.says("peer-9", control.Join(1, TOKEN, "ipc://1", 17))
    assert (before, script.lobby.complete) == (False, True)
    assert script.lobby.roster.dead() == [2]


def moving(inbox: str, rank: int = 1, connection: int = 2) -> control.Resume:
    start = f"peer-{rank}".encode()
    return control.Resume(rank, TOKEN, start, connection, 7, inbox=f"tcp://192.0.2.{inbox}:1")


def test_an_agent_that_is_back_with_another_inbox_is_told_to_its_neighbours_that_are_here() -> None:
    script, _ = carrying(3)
    script.closes("peer-2")
    assert Reply(b"peer-0", control.Moved(1, "tcp://192.0.2.77:1")) in script.says(
        "z", moving("77")
    )
    assert script.lobby.roster.members[1].inbox == "tcp://192.0.2.77:1"
    back = script.says("y", moving(f"{ord('2')}", rank=2))
    assert [effect for effect in back if isinstance(effect, Reply)] == [
        Reply(b"y", control.Moved(1, "tcp://192.0.2.77:1"))
    ]


def test_before_a_run_all_are_configured_again_for_an_inbox_that_moved() -> None:
    script = configuring()
    script.says("z", moving("77"))
    assert script.lobby.changed


def test_where_an_agent_moved_before_its_arrival_was_read_is_newer_than_what_that_says() -> None:
    script = Script()
    script.says("a", control.Join(1, TOKEN, "", 17, incarnation=b"x", wall=WALL))
    script.closes("a")
    script.says("b", control.Resume(1, TOKEN, b"x", 1, 0, inbox="tcp://192.0.2.98:1"))
    script.says("b", control.Arrived("tcp://192.0.2.97:1"))
    assert script.lobby.roster.members[1].inbox == "tcp://192.0.2.98:1"


def test_a_coordinator_that_was_started_again_tells_where_each_agent_is() -> None:
    """One may have moved, and back, since what its journal has; neighbours then know neither."""
    script, _ = carrying(3)
    script.lobby.went_on = True
    now = script.lobby.roster.members[1].inbox
    script.closes("peer-1")
    back = control.Resume(1, TOKEN, b"peer-1", 2, 7, inbox=now)
    assert Reply(b"peer-0", control.Moved(1, now)) in script.says("z", back)


def test_an_inbox_on_another_host_than_its_agents_is_not_believed_later_either() -> None:
    script, _ = carrying(3)
    before = script.lobby.roster.members[1].inbox
    said = script.says("z", control.Resume(1, TOKEN, b"peer-1", 2, 7, inbox="tcp://name:1"))
    assert "agent 1: its inbox tcp://name:1 is not tcp://ADDRESS:PORT" in warned(said)[0]
    assert script.lobby.roster.members[1].inbox == before
    assert script.lobby.refused["bad-inbox"] == 1


def test_an_agent_whose_key_was_revoked_is_told_so_and_the_run_goes_on_without_it() -> None:
    script, run = carrying(3, outlives=True)
    told = script.lobby.revoke(1, script.now)
    assert told[0] == Reply(b"peer-1", control.Refused("its key was revoked"))
    assert warned(told) == ["the key of agent 1 was revoked; the run goes on without it"]
    assert run.lost == [1]
    assert script.says("peer-1", control.Ready()) == []
    assert script.lobby.refused["never-joined"] == 1


def resumes(script: Script, peer: str, taken: int, sent: int = -1) -> list[Any]:
    script.closes("a")
    return script.says(peer, control.Resume(0, "", b"x", 1, taken, sent=sent), "k")


@pytest.mark.parametrize(("taken", "sent"), [(1, -1), (2, 4)])
def test_an_agent_whose_journal_is_older_than_what_it_said_is_lost_and_named(
    taken: int, sent: int
) -> None:
    script = Script(keys=("k", "l"))
    script.joins("a", key="k", start=b"x")
    script.joins("z", key="l", start=b"y")
    run = script.carries(Run(outlives=True))
    session = script.lobby.roster.members[0].session
    session.sent, session.confirmed, session.taken = 3, 2, 5
    effects = resumes(script, "b", taken, sent)
    (text,) = warned(effects)
    assert text.startswith("agent 0 went back to before what it had said: its journal is torn")
    assert isinstance(effects[0].message, control.Refused)
    assert list(run.dismissed) == [0]


def test_a_coordinator_whose_journal_is_older_than_its_run_says_so_and_ends_if_most_agents_do() -> (
    None
):
    script = Script(keys=("k", "l"))
    script.joins("a", key="k", start=b"x")
    script.joins("z", key="l", start=b"y")
    script.carries(Run(outlives=True))
    script.lobby.went_on = True
    for member in script.lobby.roster.members.values():
        member.session.sent = 3
    (text,) = warned(resumes(script, "b", 4))
    older = "the coordinator's journal is a copy of an earlier one, or torn"
    assert text == f"{older}: agent 0 took frames that it does not have"
    script.closes("z")
    effects = script.says("y", control.Resume(1, "", b"y", 1, 9), "l")
    assert failed(effects).startswith(f"{older}: agents 0, 1 took frames that it does not have")


@pytest.mark.parametrize("keys", [(), ("key-0", "key-1")])
def test_whatever_is_said_to_it_raises_nothing_and_ends_no_run_but_by_who_fails(
    keys: tuple[str, ...],
) -> None:
    """Strangers, and agents that joined, say every kind with hostile fields."""
    hostile = HostileFields(f"lobby {keys}")
    kinds: set[type[Message]] = {*control.TO_LOBBY, control.Goodbye, *control.TO_COORDINATOR}
    kinds -= {control.Failed}
    for trial in range(20):
        script = Script(keys=keys)
        if trial % 2:
            for rank in range(2):
                script.joins(f"peer-{rank}", rank, key=keys[rank] if keys else "")
            script.carries(Run(outlives=trial % 4 == 1))
        for _ in range(60):
            peer = hostile.random.choice(["peer-0", "peer-1", "new-7", "new-8"])
            key = hostile.random.choice([*keys, "stranger"]) if keys else ""
            effects = script.says(peer, hostile.frame(sorted(kinds, key=str)), key)
            assert not any(isinstance(effect, Fail) for effect in effects)
            script.now += hostile.random.choice([0.0, 0.01])
