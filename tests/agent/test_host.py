"""An agent's host: between runs, in a run, and what strangers and neighbours do to it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse.coordinator.setups import agent_setups
from posse.hosts.sources import Sources
from posse.plan import prepare
from posse.protocol import control
from posse.protocol.errors import LocalProtocolError
from posse.protocol.machine import COORDINATOR, Explore, Send
from posse.protocol.wire import HEADER, kind_of
from posse_systems.dubey2020.messages import Bundle
from posse_systems.rio2023.messages import Eliminated, Vote
from tests.support.conversations import examples
from tests.support.hosts import Recorded, begin, frame, sources
from tests.support.runs import spec, with_machines


def voter(system: str = "mase", given: Sources | None = None, **changes: Any) -> Recorded:
    run = spec(system, agents=12, **changes)
    setup = agent_setups(run, run.network(0))[0]
    host = Recorded(setup, 0, sources() if given is None else given)
    host.ready()
    assert [kind_of(data) for _, data in host.sent] == ["Ready"]
    host.sent.clear()
    return host


def neighbour(rank: int = 0, given: Sources | None = None) -> Recorded:
    """An agent of three that all are neighbours."""
    run = prepare(
        {
            "system": "cooperative-ucb",
            "agents": {"count": 3},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
            "topology": {"kind": "complete"},
            "parameters": {"horizon": 5, "gamma": 1},
        }
    )
    return Recorded(agent_setups(run, run.network(0))[rank], rank, given or sources())


def bundle(rank: int) -> bytes:
    """What an agent says in the first slot, by its own host."""
    host = neighbour(rank)
    host.receive(COORDINATOR, begin())
    host.step()
    return next(data for _, data in host.sent if kind_of(data) == "Bundle")


def kinds(host: Recorded) -> list[str]:
    return [kind_of(data) for _, data in host.sent]


@pytest.mark.parametrize(
    ("message", "run", "sequence", "reason"),
    [
        (control.Advance(), 0, 1, "out-of-turn"),  # before its time
        (control.Begin(0, 0), 0, 1, "out-of-turn"),  # a run begins once
        (control.Advance(), 0, 0, "out-of-turn"),
        (control.Stop(), 1, 0, "out-of-turn"),  # of a run that has not begun
        (Eliminated((99,)), 0, 1, "no-such-arm"),
        (Vote((1,)), 0, 1, "unknown-kind"),
    ],
)
def test_what_a_coordinator_says_out_of_turn_is_refused_and_changes_nothing(
    message: Any, run: int, sequence: int, reason: str
) -> None:
    host, undisturbed = voter(), voter()
    for one in (host, undisturbed):
        one.receive(COORDINATOR, begin())
        one.sent.clear()
    host.receive(COORDINATOR, frame(message, COORDINATOR, sequence, run))
    assert host.refused == {reason: 1}
    host.sent.clear()
    for one in (host, undisturbed):
        one.receive(COORDINATOR, frame(control.Advance(), COORDINATOR, 7, now=1e9))
    votes = [[data[32:] for _, data in one.sent] for one in (host, undisturbed)]
    assert votes[0] == votes[1]


def test_what_a_neighbour_sends_before_the_run_is_kept_for_it() -> None:
    host, punctual = neighbour(), neighbour()
    host.receive(None, bundle(1))
    assert not host.refused
    assert host.sent == []
    for one in (host, punctual):
        one.receive(COORDINATOR, begin())
    punctual.receive(None, bundle(1))
    for one in (host, punctual):
        one.step()
        one.receive(None, bundle(2))
        assert one.busy  # both neighbours' first slot is here
        one.step()
    assert host.sent == punctual.sent


class Asks:
    """A machine without types and without `lookahead`."""

    def __init__(self, effect: Any) -> None:
        self.effect = effect

    def handle(self, event: Any, now: float) -> Any:
        return [self.effect]


@pytest.mark.parametrize(
    ("host", "effect", "words"),
    [
        (neighbour, Send(1, Bundle(1, b"")), "cooperative-ucb sends to all neighbours at once"),
        (voter, Send(1, Eliminated((0,))), "agent 0 has no link to 1"),
        (voter, Explore((0, 1)), "Asks orders Explore, so it must have a method `lookahead`"),
    ],
)
def test_a_machine_that_asks_for_what_cannot_be_is_told_so(
    host: Any, effect: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = host()
    own = with_machines(made._system, agent=lambda context: Asks(effect))
    monkeypatch.setattr(made, "_system", own)
    with pytest.raises(LocalProtocolError, match=words):
        made.receive(COORDINATOR, begin())


@pytest.mark.parametrize("which", ["12", "121", "21x", "c12", "1o2", "x", "1"])
def test_frames_that_are_taken_together_are_taken_as_one_after_the_other(which: str) -> None:
    frames = {
        "1": bundle(1),
        "2": bundle(2),
        "x": b"no frame of ours",
        "c": frame(control.Stop(), 1, 0),
        "o": frame(control.Stop(), 2, 0, run=7),
    }
    one, other = neighbour(), neighbour()
    for host in (one, other):
        host.receive(COORDINATOR, begin())
        host.step()
        host.sent.clear()
    for name in which:
        one.receive(None, frames[name])
    other.receive_all([(None, frames[name], 0) for name in which])
    assert (one.awaited, one.busy, one.refused) == (other.awaited, other.busy, other.refused)
    assert one.delays.total() == other.delays.total()
    for host in (one, other):
        host.step()
    said = [[data[HEADER.size :] for _, data in host.sent] for host in (one, other)]
    assert said[0] == said[1]


def test_a_journal_hears_of_each_step_and_arrival_of_frames_taken_together_too() -> None:
    heard: list[object] = []

    def arrived(at: int) -> int:
        heard.append(at)
        return at

    told = dataclasses.replace(sources(), stepped=lambda: heard.append("step"), arrived=arrived)
    host = neighbour(given=told)
    host.receive(COORDINATOR, begin(), 5)
    host.step()
    host.receive_all([(None, bundle(1), 6), (None, bundle(2), 7)])
    host.step()
    assert heard == [5, "step", 6, 7, "step"]


@examples(Path(__file__).with_name("host.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()


def test_who_fills_its_own_share_takes_no_other_neighbours_and_is_named() -> None:
    """Agent 1 floods the agent with frames of the last run that there can be."""
    host = neighbour()
    for sequence in range(40):
        host.receive(None, frame(Bundle(1, bytes(1 << 19)), 1, sequence, run=2**32 - 2))
    host.receive(2, bundle(2))
    host.receive(COORDINATOR, begin())
    assert host._early == []
    assert host.refused == {"too-early": 40}
    host.receive(2, bundle(2))
    assert host.refused == {"too-early": 40, "replayed": 1}
    said, _ = [data for _, data in host.sent if kind_of(data) == "Complaint"]
    assert msgspec.msgpack.decode(said[HEADER.size :])[:2] == ["Complaint", 1]


def test_who_lies_about_its_name_is_named_itself() -> None:
    """Agent 2 sends in agent 1's name over its own link; agent 1 is not to blame."""
    host = neighbour()
    host.receive(COORDINATOR, begin())
    host.receive(2, bundle(1))
    assert host.refused == {"wrong-source": 1}
    (said,) = [data for _, data in host.sent if kind_of(data) == "Complaint"]
    assert msgspec.msgpack.decode(said[HEADER.size :]) == [
        "Complaint",
        2,
        "wrong-source: 1 on the link of 2",
    ]


def test_a_neighbour_does_not_speak_for_the_coordinator() -> None:
    host = neighbour()
    host.receive(COORDINATOR, begin())
    host.receive(1, frame(control.Stop(), 1, 0))
    host.receive(None, frame(control.Stop(), 2, 0))
    host.receive(2, frame(control.Stop(), COORDINATOR, 5))
    assert host.refused == {"control-from-agent": 2, "wrong-source": 1}
    assert host.busy
