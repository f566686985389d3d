"""The coordinator's host without sockets: turns, ends, losses and hostile agents."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse.coordinator.assembly import no_report
from posse.coordinator.host import CoordinatorHost
from posse.errors import RunFailed
from posse.hosts.effects import AgentLeft, HostEffect, LinkChanged, MadeProgress, SendFrame
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.masking import PublicKey
from posse.protocol.message import Message
from posse.protocol.wire import NO_RUN, kind_of
from posse.results.vouched import KIND, last_word
from posse_systems.rio2023.messages import Eliminated, Vote
from posse_systems.tossou2015.messages import Choice
from tests.support import anonymous
from tests.support.field import field
from tests.support.hosts import frame, sources
from tests.support.players import spec as players
from tests.support.runs import spec
from tests.support.signing import signers


class Told:
    """A coordinator's host, and agents whose frames are written here by hand."""

    def __init__(self, run: Plan, clock: Any = lambda: 0) -> None:
        network = run.network(0)
        self.host = CoordinatorHost(run, network, 0, sources(clock))
        self._numbers: dict[int, int] = {}
        self._sent: list[tuple[int, str]] = []
        self.host.begin()

    def say(self, rank: int, message: Message, now: float = 0.0) -> Sequence[HostEffect]:
        """What follows besides frames."""
        number = self._numbers[rank] = self._numbers.get(rank, -1) + 1
        return self.carry(self.host.receive(rank, frame(message, rank, number, now=now)))

    def carry(self, effects: Sequence[HostEffect]) -> Sequence[HostEffect]:
        frames = [effect for effect in effects if isinstance(effect, SendFrame)]
        self._sent += [(effect.target, kind_of(effect.frame)) for effect in frames]
        return tuple(effect for effect in effects if not isinstance(effect, SendFrame))

    def fall_silent(self, mute: Sequence[int] = ()) -> bool:
        effects = self.host.fall_silent(mute)
        self.carry(effects or ())
        return effects is not None

    def sent(self) -> list[tuple[int, str]]:
        sent, self._sent = self._sent, []
        return sent


def report(arms: int = 10, **changes: Any) -> control.Report:
    """Of an agent that did nothing."""
    measured = {"regret": {"regret": 0.0}, "curve": {"regret": bytes(24)}}
    return msgspec.structs.replace(no_report(arms), **(measured | changes))


def test_the_earliest_acts_when_all_have_said_when() -> None:
    told = Told(spec("mase", agents=8))
    for rank in range(8):
        assert told.sent() == []
        assert told.host.waiting_for() == list(range(rank, 8))
        told.say(rank, control.Due(10.0 - rank))
    assert told.sent() == [(7, "Advance")]
    assert told.host.now == 3.0
    assert told.host.waiting_for() == [7]
    told.say(7, control.Due(math.inf), now=3.0)
    assert told.sent() == [(6, "Advance")]


def test_whoever_was_told_something_says_anew_when_it_acts() -> None:
    """Five votes eliminate an arm of `mase` here; then nobody's turn is known any more."""
    told = Told(spec("mase", agents=8))
    for rank in range(8):
        told.say(rank, control.Due(rank + 1.0))
    for rank in range(4):
        assert told.sent() == [(rank, "Advance")]
        told.say(rank, Vote((1,)), now=rank + 1.0)
        told.say(rank, control.Due(math.inf), now=rank + 1.0)
    told.sent()
    told.say(4, Vote((1,)), now=5.0)
    assert told.sent() == [(n, "Eliminated") for n in range(8)]
    assert told.host.log["eliminations"] == [[5.0, 1]]
    told.say(4, control.Due(math.inf), now=5.0)
    assert told.sent() == []
    assert told.host.waiting_for() == list(range(8))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (control.Due(1.0), "out-of-turn"),  # it was not asked again
        (control.Stopped(), "out-of-turn"),  # the run goes on
        (report(), "out-of-turn"),
        (control.Finished(0), "out-of-turn"),  # it said so before
        (Vote((99,)), "no-such-arm"),
        (Eliminated((1,)), "unknown-kind"),
        (control.Begin(0, 0), "unknown-kind"),
    ],
)
def test_what_an_agent_says_out_of_turn_is_refused_and_named(message: Any, reason: str) -> None:
    told = Told(spec("mase", agents=8))
    told.say(2, control.Due(1.0))
    told.say(2, control.Finished(None))
    waiting = told.host.waiting_for()
    told.say(2, message)
    assert told.host.refused == {reason: 1}
    said = f"; the coordinator refused what agent 2 sent: {reason}: "
    assert told.host.trouble.startswith(said)
    assert told.sent() == []
    assert told.host.waiting_for() == waiting


def test_frames_of_another_run_or_in_anothers_name_are_refused() -> None:
    host = Told(spec("mase", agents=8)).host
    host.receive(2, frame(control.Due(1.0), 3, 0))
    host.receive(2, frame(control.Due(1.0), 2, 0, run=1))
    host.receive(2, frame(control.Due(1.0), 2, 0))
    host.receive(2, frame(control.Due(1.0), 2, 0))
    assert host.refused == {"wrong-source": 1, "stale-run": 1, "replayed": 1}
    assert host.waiting_for() == [0, 1, 3, 4, 5, 6, 7]


def test_a_link_that_changes_before_the_run_is_heard_of_takes_no_later_frames_place() -> None:
    told = Told(spec("mase", agents=8))
    for up, number, run in ((False, 1, NO_RUN), (True, 7, 6)):
        linked = frame(control.Linked(3, up=up), 2, number, run=run)
        assert told.host.receive(2, linked) == (LinkChanged(2, 3, up),)
    told.host.receive(2, frame(control.Due(1.0), 2, 0))
    assert told.host.refused == {}
    assert 2 not in told.host.waiting_for()


def test_nothing_more_is_taken_from_whoever_was_dismissed() -> None:
    told = Told(players(players=3))
    assert told.host.outlives_agents
    told.carry(told.host.lose(1))
    told.carry(told.host.lose(1))
    told.say(1, Choice(1, 0))
    assert told.host.refused["dismissed"] == 1
    assert told.sent() == [(0, "Stop"), (2, "Stop")]  # by default players do not go on
    for rank in (0, 2):
        told.say(rank, report(regret={}, curve={}))
    assert told.host.record is not None
    assert told.host.record.dismissed == {1: "lost"}


def test_neighbours_that_go_on_hear_that_one_was_lost_after_it_was_done() -> None:
    """Its last messages may have been lost with it, and they would wait for ever."""
    graph = {"topology": {"kind": "ring"}, "parameters": {"horizon": 500}}
    told = Told(spec("cooperative-ucb", 4, **graph))
    assert told.host.outlives_agents
    for rank in (1, 2):
        told.say(rank, control.Finished(0), now=9.0)
    told.sent()
    told.carry(told.host.lose(1))
    assert told.sent() == [(0, "Gone")]


def test_a_timer_is_set_by_the_clock_that_was_handed_in() -> None:
    seconds = [1_000.0]
    run = players(players=2, deadline=7.0)
    told = Told(run, lambda: int(seconds[0] * 1e9))
    assert told.host.timer == 1_007.0
    seconds[0] = 1_003.0
    for rank in range(2):
        told.say(rank, Choice(1, rank))
    assert told.host.timer == 1_010.0
    told.sent()
    told.say(0, Choice(2, 0))
    told.carry(told.host.fire())
    assert told.host.refused == {"silent": 1}
    assert told.host.timer == math.inf
    assert told.sent() == [(0, "Stop")]


def test_who_fails_ends_its_own_part_with_its_sentence_and_what_was_refused() -> None:
    told = Told(spec("mase", agents=8))
    told.say(3, control.Complaint(4, "mal\x1bformed"))
    left = told.say(5, control.Failed("no way on\x1b[2J\nagent 1 did it"))
    trouble = "; the coordinator refused what agent 3 sent: no-neighbour: 4"
    said = r"agent 5 cannot go on: no way on\x1b[2J"
    assert left == (AgentLeft(5, f"{said}{trouble}\nagent 1 did it"),)


def test_what_brings_a_run_on_is_told_from_what_does_not() -> None:
    told = Told(spec("independent", agents=3, engine={"clock": "wall"}))

    def moved(message: Message, now: float = 0.0) -> bool:
        return MadeProgress() in told.say(1, message, now)

    assert not moved(control.SlotReached())  # it has not begun
    assert moved(control.SlotReached(), now=5.0)
    assert not moved(control.SlotReached(), now=5.0)
    assert not moved(control.Complaint(2, "malformed"))
    assert not moved(control.Complaint(7, "malformed"))
    assert not moved(Vote((1,)))
    assert not moved(control.Attested(1, b""))
    assert not moved(control.Failed(""))
    assert moved(control.Finished(0))
    assert not moved(control.Finished(0))
    assert not moved(control.SlotReached(), now=9.0)
    assert [told.host.expects(rank) for rank in range(3)] == [True, False, True]
    for rank in (0, 2):
        told.say(rank, control.Finished(0))
    assert [told.host.expects(rank) for rank in range(3)] == [True] * 3  # for their reports
    assert told.host.refused == {
        "out-of-turn": 4,
        "no-such-agent": 1,
        "no-neighbour": 1,
        "unknown-kind": 1,
    }


def test_a_report_that_cannot_be_true_ends_its_agents_part_at_once() -> None:
    told = Told(spec("independent", agents=2))
    for rank in range(2):
        told.say(rank, control.Finished(rank))
    assert told.say(1, report(pulls=b"abc")) == (
        AgentLeft(1, "agent 1 sent a report that cannot be true: bad-report: pulls"),
    )
    assert told.host.refused == {"bad-report": 1}


def test_a_run_of_which_no_report_can_be_used_measured_nothing_and_failed() -> None:
    told = Told(spec("independent", agents=2))
    for rank in range(2):
        told.say(rank, control.Finished(rank))
    for rank in range(2):
        told.say(rank, report(pulls=b"abc"))
    told.carry(told.host.lose(0, "lost"))
    why = (
        r"1 measured nothing, .*: refused were 2 bad-report; .* agent 0 \(lost\), agent 1 \(lost\)$"
    )
    with pytest.raises(RunFailed, match=why):
        told.carry(told.host.lose(1, "lost"))


def test_whoever_is_waited_for_in_vain_is_lost_where_the_run_can_do_without() -> None:
    told = Told(anonymous.spec("anonymous", 6))
    assert told.host.fall_silent() is None  # all of them: that is no run any more
    one = Told(anonymous.spec("anonymous", 6))
    assert one.fall_silent([5])  # who does not answer holds up the others
    assert one.host.waiting_for() == [0, 1, 2, 3, 4]
    for rank in range(5):
        told.say(rank, PublicKey(bytes([rank + 1] * 32)))
    assert told.host.waiting_for() == [5]
    told.sent()
    assert told.fall_silent()
    assert {kind for _, kind in told.sent()} == {"Keys", "Assign"}
    assert told.host.waiting_for() == [0, 1, 2, 3, 4]
    assert told.host.fall_silent() is None


@pytest.mark.inside
def test_who_is_gone_is_not_waited_for_whatever_the_machine_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told(anonymous.spec("anonymous", 6))
    assert told.fall_silent([5])
    # as one that does not heed `PeerLost`
    monkeypatch.setattr(told.host._server, "missing", lambda: [5])
    assert told.host.waiting_for() == [0, 1, 2, 3, 4]
    assert told.host.fall_silent() is None


def test_of_neighbours_that_wait_for_each_other_who_does_not_answer_is_lost() -> None:
    graph = {"topology": {"kind": "ring"}, "parameters": {"horizon": 500}}
    told = Told(spec("cooperative-ucb", 5, **graph))
    for rank in (0, 1, 2, 4):
        told.say(rank, control.SlotReached(), now=50.0)
    told.say(4, control.SlotReached(), now=100.0)
    told.say(3, control.SlotReached(), now=50.0)
    assert told.host.suspects() == [0, 1, 2, 3, 4]
    assert told.host.fall_silent([]) is None
    assert told.fall_silent([2])
    assert told.host.dismissed == {2: "silent"}
    assert told.sent() == [(1, "Gone"), (3, "Gone")]


def test_agents_that_hold_different_results_end_the_run() -> None:
    told = Told(spec("mase", agents=8))
    told.say(3, control.Attested(1, b"x"))
    with pytest.raises(RunFailed, match="agents 3 and 4 hold different results after step 1"):
        told.say(4, control.Attested(1, b"y"))


def test_an_answer_that_its_agent_signed_otherwise_is_refused(tmp_path: Path) -> None:
    """Of another arm, run or agent; and what came is kept only if it is of the answer."""
    run = field("private-ucb", tmp_path)
    agents = run.spec.agents.count
    own = signers(agents)
    given = replace(sources(), signer=lambda agents, name: own[0])
    host = CoordinatorHost(run, run.network(0), 0, given)
    host.begin()
    number = 0

    def answers(signature: bytes, arm: int = 1) -> Counter[str]:
        nonlocal number
        for said in (control.Vouched(signature), control.Finished(arm)):
            host.receive(0, frame(said, 0, number))
            number += 1
        return Counter(host.refused)

    def said(arm: int) -> bytes:
        return last_word("private-ucb", run.spec.variant, agents, run.spec.parameters, arm)

    wrong = [
        own[0].sign(KIND, said(0)),
        own[1].sign(KIND, said(1)),
        signers(agents, b"another run")[0].sign(KIND, said(1)),
        own[0].sign(b"another kind", said(1)),
    ]
    for count, signature in enumerate(wrong, 1):
        assert answers(signature)["bad-signature"] == count
        assert 0 not in host.attendance.finished
        assert host.attendance.vouched == {}
    right = own[0].sign(KIND, said(1))
    assert answers(right)["bad-signature"] == len(wrong)
    assert host.attendance.vouched == {0: right}
