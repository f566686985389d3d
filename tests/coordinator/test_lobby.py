"""The coordinator's side of joining, over scripted time and without a socket."""

import logging
from typing import Any

import msgspec
import pytest

from posse.coordinator.roster import SUPERSEDED
from posse.hosts.effects import (
    AskAgent,
    Joined,
    LogLine,
    Reply,
    ResendFrames,
    SendToAgent,
    ShowStatus,
)
from posse.protocol import control
from posse.protocol.wire import kind_of
from tests.support.lobby import (
    ABSENCE,
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


def test_an_agent_of_another_machine_is_welcomed_and_told_the_time_before_it_arrives() -> None:
    script = Script()
    assert script.says("a", joining()) == [Reply(b"a", control.Welcome(0, "mase"))]
    assert script.lobby.missing() == [0, 1]
    script.now = 100.25
    assert script.says("a", control.Sync(7)) == [Reply(b"a", control.Synced(7, 100_250_000_000))]
    arrived = script.says("a", control.Arrived("tcp://192.0.2.1:1"))
    assert arrived == [LogLine(logging.INFO, "agent 0 joined (1 of 2)"), Joined(1)]
    assert script.lobby.missing() == [1]


@pytest.mark.parametrize(
    ("join", "key", "kind", "reason"),
    [
        (joining(1), "k", "wrong-rank", "the key of agent 0 cannot join as agent 1; use --rank"),
        (joining(), "other", "join", "its key is not an agent's"),
        (joining(wall=WALL - 60.0), "k", "clock", "its clock is 60 s behind; set it (NTP)"),
        (
            joining(configuration={"repeat": "2"}),
            "k",
            "configuration",
            "its run file differs from the coordinator's in repeat; give both the same",
        ),
    ],
)
def test_who_is_not_let_in_is_told_why_and_so_is_the_log(
    join: control.Join, key: str, kind: str, reason: str
) -> None:
    script = Script(keys=("k", "l"))
    log, answer = script.says("a", join, key)
    assert isinstance(log, LogLine)
    assert isinstance(answer, Reply)
    assert isinstance(answer.message, control.Refused)
    assert answer.message.reason.startswith(reason)
    asked = "1" if join.rank == 1 else "(no rank given)"
    assert log == LogLine(logging.WARNING, f"refused agent {asked}: {answer.message.reason}")
    assert script.lobby.refused == {kind: 1}
    assert script.lobby.roster.members == {}


def test_of_one_key_twice_the_newer_wins_and_the_older_is_told() -> None:
    script = Script(keys=("k", "l"))
    script.joins("a", key="k", start=b"old")
    effects = script.says("b", joining(incarnation=b"new"), "k")
    assert effects == [
        LogLine(logging.WARNING, "agent 0 was started again; the older process is told to stop"),
        Reply(b"a", control.Refused(SUPERSEDED)),
        Reply(b"b", control.Welcome(0, "mase")),
    ]
    assert script.says("a", joining(incarnation=b"old"), "k")[-1] == Reply(
        b"a", control.Refused(SUPERSEDED)
    )


def test_without_keys_a_rank_is_taken_as_long_as_who_has_it_answers() -> None:
    """Else the one that asks may be its successor, at another address."""
    script = Script(agents=1)
    script.joins("a", 0, start=b"old")
    script.now += 1
    ask = joining(0, b"new")
    assert script.says("b", ask) == [AskAgent(0)]
    script.now += 2
    assert script.says("b", ask) == [AskAgent(0)]
    script.lobby.roster.members[0].answered = script.now
    script.now += 2
    taken = control.Refused("rank 0 is taken; leave out --rank, or use another")
    assert script.says("b", ask)[-1] == Reply(b"b", taken)
    script.now += 60
    assert script.says("c", ask) == [AskAgent(0)]
    script.now += 5
    script.closes("a")
    assert script.says("c", ask) == [Reply(b"c", control.Welcome(0, "mase"))]


def test_who_has_a_rank_and_neither_answers_nor_goes_keeps_it() -> None:
    script = Script(agents=1)
    script.joins("a", 0, start=b"old")
    for passed in (1, 9):
        script.now += passed
        assert script.says("b", joining(0, b"new")) == [AskAgent(0)]
    script.now += 1
    assert isinstance(script.says("b", joining(0, b"new"))[-1], Reply)


BAD = {
    "garbage": b"\x00" * 40,
    "short": b"po",
    "never-joined": framed(control.Ready()),
    "unknown-kind": framed(control.Goodbye()),
}


@pytest.mark.parametrize("reason", BAD)
def test_what_a_stranger_should_not_say_changes_nothing_and_moves_no_deadline(reason: str) -> None:
    script = Script()
    deadline = script.lobby.timer
    script.now += 5
    assert script.says("x", BAD[reason]) == []
    assert script.lobby.refused == {reason: 1}
    assert script.lobby.roster.members == {}
    assert script.lobby.timer == deadline


def test_a_member_that_joins_again_on_its_connection_is_out_of_turn() -> None:
    script = Script()
    script.joins("a")
    deadline = script.lobby.timer
    script.now += 1
    assert script.says("a", joining()) == []
    assert script.lobby.refused == {"out-of-turn": 1}
    assert script.lobby.timer == deadline


def test_who_asks_to_join_again_as_no_answer_came_is_welcomed_again() -> None:
    script = Script()
    first = script.says("a", joining())
    assert script.says("a", joining())[-1] == first[-1]
    script.says("a", control.Sync(1))
    assert script.says("a", joining()) == []
    assert script.lobby.refused == {"out-of-turn": 1}


def test_an_agent_that_was_started_here_and_is_replaced_is_nobodys_loss() -> None:
    script = Script(1)
    script.says("a", control.Join(0, TOKEN, "ipc://0", 7))
    script.lobby.replace(0)
    assert script.lobby.missing() == [0]
    assert script.lobby.died(0, "agent 0 was killed by SIGKILL", 0.0) == []
    assert script.says("b", control.Join(0, TOKEN, "ipc://0", 8)) == [Joined(1)]
    died = script.lobby.died(0, "agent 0 was killed by SIGKILL", 0.0)
    assert failed(died) == "agent 0 was killed by SIGKILL"


# --- deadlines ------------------------------------------------------------------------------------


def test_who_does_not_join_is_named_at_the_deadline() -> None:
    script = Script(3)
    assert script.lobby.timer == 110.0
    script.now = 105.0
    script.joins("a", rank=1)
    assert script.lobby.timer == 115.0
    assert script.lobby.fire(114.9) == []
    said = failed(script.lobby.fire(115.0))
    assert said == "no agent joined for 10 s; waiting for agents 0, 2 to join"


def test_all_are_configured_and_who_is_not_ready_is_named() -> None:
    script = Script()
    script.all_join()
    script.now = 200.0
    effects = script.lobby.configure([setup(0), setup(1)], script.now)
    assert effects == [
        SendToAgent(rank, control.Configure(rank, msgspec.msgpack.encode(setup(rank))))
        for rank in (0, 1)
    ]
    assert not script.lobby.changed
    script.now = 203.0
    script.says("peer-0", control.Ready())
    assert not script.lobby.complete
    said = failed(script.lobby.fire(213.0))
    assert said == "nothing was heard for 10 s; waiting for agent 1 to be ready"
    script.says("peer-1", control.Ready())
    assert script.lobby.complete


def test_before_a_run_a_lost_connection_has_the_time_for_joining_however_often_it_is_lost() -> None:
    script = Script(joining=40.0)
    script.all_join()
    script.lobby.configure([setup(0), setup(1)], script.now)
    assert script.lobby.timer == 110.0
    script.now = 109.0
    script.says("peer-0", control.Ready())
    script.closes("peer-1")
    assert script.lobby.timer == 149.0
    script.now = 140.0
    script.says("again", control.Resume(1, TOKEN, b"peer-1", 2, 0))
    script.closes("again")
    assert script.lobby.timer == 149.0
    said = failed(script.lobby.fire(149.0))
    assert said == "nothing was heard for 40 s; waiting for agent 1 to be ready"


def test_a_link_that_does_not_come_up_is_waited_for_as_one_that_is_down_and_named() -> None:
    script = configuring()
    script.now = 105.0
    assert warned(script.says("peer-0", control.Linked(1, up=False))) == [
        "link 0–1 is down, as agent 0 reports"
    ]
    assert script.lobby.timer == 110.0  # whose word alone extends no wait
    script.says("peer-1", control.Linked(0, up=False))
    assert script.lobby.timer == 105.0 + ABSENCE
    said = failed(script.lobby.fire(130.0))
    assert said == (
        "nothing was heard for 30 s while link 0–1 was down; check the network between these agents"
    )
    for peer, about in (("peer-0", 1), ("peer-1", 0)):
        script.says(peer, control.Linked(about, up=True))
        script.says(peer, control.Ready())
    assert script.lobby.complete


def test_nobody_waits_for_the_goodbye_of_who_cannot_go_on_or_stays_away() -> None:
    script = Script()
    script.all_join()
    members = script.lobby.roster.members
    for member in members.values():
        member.session.wrap(b"you may go")
    assert members[0].to_see_off
    assert members[1].to_see_off
    said = failed(script.says("peer-1", control.Failed("no such file")))
    assert said == "agent 1 cannot go on: no such file"
    assert not members[1].to_see_off
    script.carries(Run())
    script.closes("peer-0")
    failed(script.lobby.fire(script.lobby.timer))
    assert not members[0].to_see_off


def test_a_run_that_falls_silent_ends_by_name_unless_silence_is_its_result() -> None:
    script = Script()
    run = script.carries(Run())
    run.trouble = "; agent 0 refused what agent 1 sent: malformed"
    said = failed(script.lobby.fire(110.0))
    assert said == f"nothing was heard for 10 s; waiting for agent 1 to act{run.trouble}"
    script.carries(Run(silence_ends=True))
    assert script.lobby.fire(110.0) == []
    assert script.lobby.timer == 120.0


def test_what_was_heard_last_is_kept_only_as_far_as_its_kind_is_read() -> None:
    script = Script()
    script.all_join()
    member = script.lobby.roster.members[0]
    member.note(framed(control.Finished(1)) + bytes(1 << 20), 0.0)
    assert kind_of(member.last) == "Finished"
    assert len(member.last) < 100


# --- losses ---------------------------------------------------------------------------------------


def test_who_is_lost_before_a_run_is_waited_for_and_configured_anew() -> None:
    script = Script(keys=("k", "l"))
    script.joins("a", key="k")
    script.joins("b", key="l")
    script.lobby.configure([setup(0), setup(1)], script.now)
    script.says("a", control.Ready())
    effects = script.closes("b")
    assert warned(effects) == [
        "the connection of agent 1 was lost; waiting for it to join again",
    ]
    assert script.lobby.refused == {"connection-dropped": 1}
    assert script.lobby.roster.missing() == [1]
    assert script.joins("c", key="l", start=b"b")[-1] == SendToAgent(
        1, control.Configure(1, msgspec.msgpack.encode(setup(1)))
    )
    script.says("c", control.Ready())
    assert script.lobby.complete
    assert script.lobby.changed  # all are told anew before the next run


def test_all_need_not_have_a_connection_at_the_same_time() -> None:
    """Connections that flap, each by itself, would let a gathering wait for ever."""
    script = Script(joining=600.0)
    script.joins("a", 0)
    script.closes("a")
    assert script.lobby.missing() == [0, 1]
    script.joins("b", 1)
    assert script.lobby.complete
    script.lobby.configure([setup(0), setup(1)], script.now)
    script.says("b", control.Ready())
    assert script.lobby.missing() == [0]
    assert script.lobby.timer == script.now + 600.0
    assert script.says("c", resuming(0, b"a"))[-1] == ResendFrames(0, 7)
    script.says("c", control.Ready())
    assert script.lobby.complete
    assert not script.lobby.changed


def test_who_was_here_before_the_wait_began_or_is_another_now_is_waited_for() -> None:
    script = Script()
    script.all_join()
    script.closes("peer-0")
    script.lobby.gather(script.now)
    assert script.lobby.missing() == [0]
    script.says("z", resuming(0, b"peer-0"))
    assert script.lobby.complete
    script.says("y", joining(1, b"peer-1"))  # it knows of no connection before
    assert script.lobby.missing() == [1]
    script.says("y", control.Arrived("tcp://192.0.2.7:1"))
    assert script.lobby.complete


def test_a_lost_agent_that_stays_away_ends_a_run_that_needs_it() -> None:
    script, run = carrying()
    assert warned(script.closes("peer-1")) == [
        "the connection of agent 1 was lost; waiting 25 s for it to come back"
    ]
    assert script.lobby.timer == 125.0  # not the deadline: who is away explains the silence
    assert script.lobby.fire(124.9) == []
    assert failed(script.lobby.fire(125.0)) == (
        "agent 1 lost its connection and did not come back within 25 s: its process ended, "
        "or the network between it and the coordinator failed; start the run again"
    )
    assert run.lost == []


def test_a_runs_own_timer_stands_still_while_somebody_is_away() -> None:
    """Who has no connection cannot answer in its slot; how long that may be is `engine.absence`."""
    script, run = carrying(outlives=True)
    run.timer = 104.0
    script.now = 103.0
    script.closes("peer-1")
    assert script.lobby.timer == 103.0 + ABSENCE
    assert script.lobby.fire(105.0) == []
    assert run.fired == 0
    script.now = 113.0
    script.says("z", resuming())
    assert script.lobby.timer == 114.0
    script.lobby.fire(114.0)
    assert run.fired == 1


def resuming(rank: int = 1, start: bytes = b"peer-1", connection: int = 2, taken: int = 7) -> Any:
    return control.Resume(rank, TOKEN, start, connection, taken)


@pytest.mark.parametrize("seen", [True, False])
def test_a_lost_agent_that_comes_back_goes_on_whether_or_not_its_loss_was_seen(seen: bool) -> None:
    script, run = carrying()
    if seen:
        script.closes("peer-1")
        assert script.lobby.roster.missing() == [1]
    script.now = 104.0
    back = LogLine(logging.INFO, "agent 1 is back over a new connection")
    assert script.says("z", resuming()) == [back, ResendFrames(1, 7)]
    assert script.lobby.roster.missing() == []
    assert script.lobby.timer == (114.0 if seen else 110.0)  # only what was seen is made up for
    assert script.lobby.roster.members[1].identity == b"z"
    assert script.closes("peer-1") == []  # the loss of the old connection is none of its any more
    assert run.lost == []


def test_what_was_said_over_an_older_connection_does_not_lead_back_to_it() -> None:
    script, _ = carrying()
    script.says("z", resuming(connection=3))
    assert script.says("y", resuming(connection=2)) == []
    assert script.lobby.roster.members[1].identity == b"z"


@pytest.mark.parametrize(
    "asked", [resuming(rank=0), resuming(start=b"older"), resuming(rank=5), resuming(rank=-1)]
)
def test_who_was_never_here_is_told_so_and_joins(asked: control.Resume) -> None:
    script = Script()
    script.all_join()
    assert script.says("z", asked) == [Reply(b"z", control.Unknown())]
    assert script.lobby.roster.members[1].identity == b"peer-1"


def test_another_key_does_not_go_on_in_an_agents_place() -> None:
    script = Script(keys=("k", "l"))
    script.joins("a", key="k")
    asked = resuming(rank=0, start=b"a")
    assert script.says("z", asked, "l") == [Reply(b"z", control.Unknown())]
    assert script.says("z", asked, "k")[-1] == ResendFrames(0, 7)


def test_a_run_that_can_do_without_goes_on_and_the_agent_may_come_back_for_the_next() -> None:
    script, run = carrying(outlives=True)
    script.closes("peer-1")
    assert run.lost == []
    assert warned(script.lobby.fire(125.0)) == [
        "agent 1 was away for 25 s; the run goes on without it"
    ]
    assert run.lost == [1]
    effects = script.joins("c", rank=1)
    assert effects[0] == Reply(b"c", control.Welcome(1, "mase"))
    assert script.lobby.complete
    assert not [effect for effect in effects if isinstance(effect, SendToAgent)]


@pytest.mark.parametrize(
    ("start", "what"), [(b"a", "lost its connection"), (b"new", "was started again")]
)
def test_an_agent_that_comes_anew_in_a_run_that_needs_it_ends_the_run(
    start: bytes, what: str
) -> None:
    """Its new connection may be seen before the loss of the old one is."""
    script = Script(1, keys=("k",))
    script.joins("a", key="k", start=b"a")
    script.carries(Run())
    effects = script.says("b", joining(incarnation=start), "k")
    assert failed(effects) == (
        f"agent 0 {what} in the middle of a run, and what it sent may be lost; start the run again"
    )
    assert not [e for e in effects if isinstance(e, Reply) and e.peer == b"b"]


@pytest.mark.parametrize("rank", [1, None])
def test_a_process_of_this_machine_that_dies_ends_a_run_that_needs_it(rank: int | None) -> None:
    script = Script()
    script.all_join()
    why = "agent 1 was killed by SIGKILL"
    for run in (None, Run(), Run(outlives=rank is None)):
        if run is not None:
            script.carries(run)
        assert failed(script.lobby.died(rank, why, script.now)) == why


def test_who_ends_its_own_part_ends_no_run_unless_it_was_started_here() -> None:
    """What our own process cannot do is a mistake of ours, and nothing to go on without."""
    script = Script()
    script.joins("peer-0", 0)
    script.says("here-1", control.Join(1, TOKEN, "", 77))
    run = script.carries(Run(outlives=True))
    effects = script.lobby.quit(0, "agent 0 cannot go on", script.now)
    assert warned(effects) == ["agent 0 cannot go on; the run goes on without it"]
    assert run.lost == [0]
    script.lobby.roster.members[0].session.wrap(b"goodbye")
    assert not script.lobby.roster.members[0].to_see_off
    assert script.closes("peer-0") == []  # nobody waits for it
    assert failed(script.lobby.quit(1, "no such file", script.now)) == "no such file"
    assert run.lost == [0]


def test_a_run_that_is_to_wait_waits_and_says_for_whom() -> None:
    script, run = carrying(waits=True)
    script.closes("peer-1")
    for now in (125.0, 150.0):
        script.now = now
        assert script.lobby.timer == now
        assert warned(script.lobby.fire(now)) == [
            "agent 1 is away; the run waits until it comes back"
        ]
    effects = script.says("c", resuming())
    assert ResendFrames(1, 7) in effects
    assert run.lost == []
    assert script.lobby.timer > 150.0


# --- the operator ---------------------------------------------------------------------------------


def test_only_the_operators_key_may_ask() -> None:
    script = Script(keys=("k", "l"))
    assert script.says("o", control.Ask(), "operator") == [ShowStatus(b"o")]
    assert script.says("a", control.Ask(), "k") == []
    assert script.lobby.refused == {"never-joined": 1}


def test_without_keys_anybody_may_ask_and_goes_without_a_word() -> None:
    script = Script()
    assert script.says("o", control.Ask()) == [ShowStatus(b"o")]
    assert script.closes("o") == []
    assert script.lobby.refused == {}
