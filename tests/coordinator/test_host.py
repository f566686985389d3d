"""The coordinator's host without sockets: turns, ends, losses and hostile agents."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse.coordinator.assembly import no_report
from posse.coordinator.host import CoordinatorHost
from posse.hosts.effects import AgentLeft, HostEffect, LinkChanged, MadeProgress, SendFrame
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.wire import NO_RUN, kind_of
from posse.results.vouched import KIND, last_word
from posse_systems.rio2023.messages import Eliminated, Vote
from tests.support import anonymous
from tests.support.conversations import examples
from tests.support.field import field
from tests.support.hosts import frame, sources
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


def test_a_link_that_changes_before_the_run_is_heard_of_takes_no_later_frames_place() -> None:
    told = Told(spec("mase", agents=8))
    for up, number, run in ((False, 1, NO_RUN), (True, 7, 6)):
        linked = frame(control.Linked(3, up=up), 2, number, run=run)
        assert told.host.receive(2, linked) == (LinkChanged(2, 3, up),)
    told.host.receive(2, frame(control.Due(1.0), 2, 0))
    assert told.host.refused == {}
    assert 2 not in told.host.waiting_for()


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


@examples(Path(__file__).with_name("host.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()


def test_frames_of_another_run_or_in_anothers_name_are_refused() -> None:
    host = Told(spec("mase", agents=8)).host
    host.receive(2, frame(control.Due(1.0), 3, 0))
    host.receive(2, frame(control.Due(1.0), 2, 0, run=1))
    host.receive(2, frame(control.Due(1.0), 2, 0))
    host.receive(2, frame(control.Due(1.0), 2, 0))
    assert host.refused == {"wrong-source": 1, "stale-run": 1, "replayed": 1}
    assert host.waiting_for() == [0, 1, 3, 4, 5, 6, 7]


def test_a_report_that_cannot_be_true_ends_its_agents_part_at_once() -> None:
    told = Told(spec("independent", agents=2))
    for rank in range(2):
        told.say(rank, control.Finished(rank))
    assert told.say(1, report(pulls=b"abc")) == (
        AgentLeft(1, "agent 1 sent a report that cannot be true: bad-report: pulls"),
    )
    assert told.host.refused == {"bad-report": 1}
