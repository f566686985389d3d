"""The player of anonymous bandits, and UCB1 alone (Esfandiari et al. 2022)."""

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    COORDINATOR,
    Finish,
    Pull,
    Pulled,
    Send,
    Started,
)
from posse.protocol.masking import Unmask, unpack_words
from posse.protocol.message import Message
from posse_systems.esfandiari2022 import agent as agent_module
from posse_systems.esfandiari2022.agent import AnonymousPlayer, Earnings, ParallelUcb
from posse_systems.esfandiari2022.groups import UserGroup
from posse_systems.esfandiari2022.messages import (
    Assign,
    Commit,
    Forwarded,
    PlayedUngrouped,
    Sealed,
    Sums,
    from_words,
)
from tests.support.anonymous import ready, report, told


def refusal(agent: AnonymousPlayer, message: Message, sender: int = COORDINATOR) -> str:
    """Why the agent refuses a message; its state must not change."""
    before = repr(dataclasses.replace(agent))
    with pytest.raises(RemoteProtocolError) as caught:
        told(agent, message, sender)
    assert repr(dataclasses.replace(agent)) == before
    return caught.value.reason


def test_a_report_adds_up_the_copies_round_by_round() -> None:
    agents = ready(4)
    group = (3, 1, 0, 2)
    rewards = np.arange(16).reshape(2, 8) / 32
    sums = UserGroup(0, group, number=1)
    for agent in agents:
        told(agent, Assign(1, 0, 2, group))
        *_, send = report(agent, rewards)
        sums.masked.report(agent.rank, send.message.words, b"", 8)
    for agent in agents:
        (revealed,) = told(agent, Unmask(1))
        sums.masked.unmasked(agent.rank, revealed.message.seed)
    sums.add_up()
    per_copy = sums.sums_per_copy(2, 8)
    assert per_copy is not None
    expected = rewards.mean(axis=0) * np.array([4, 3, 3, 3, 3, 4, 4, 4])
    assert per_copy == pytest.approx(expected, abs=1e-12)


def test_any_number_of_copies_is_drawn_in_pieces_and_reported_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group, rewards = (3, 1, 0, 2), np.arange(40).reshape(5, 8) / 64
    whole, parted = ready(4)[1], ready(4)[1]
    told(whole, Assign(1, 0, 5, group))
    expected = report(whole, rewards)[-1]
    monkeypatch.setattr(agent_module, "AT_ONCE", 17)  # two copies
    assert told(parted, Assign(1, 0, 5, group)) == [Pull((0,), 16, each=True)]
    assert report(parted, rewards[:2])[-1] == Pull((0,), 16, each=True)
    assert refusal(parted, Assign(2, 0, 1, group)) == "out-of-turn"
    assert report(parted, rewards[2:4])[-1] == Pull((0,), 8, each=True)
    assert report(parted, rewards[4:])[-1] == expected
    (order,) = told(ready(4)[1], Assign(1, 0, 1_000, ()))
    assert order == Pull((0,), 16, each=True)


def test_the_sink_passes_on_sums_and_refuses_strangers() -> None:
    agents = ready(6, aggregation="sink")
    group = (2, 0, 1, 3)
    boxes = {}
    for rank in group:
        told(agents[rank], Assign(1, 0, 1, group))
    sink = agents[2]
    for rank in (0, 1, 3):
        *_, send = report(agents[rank], np.full(8, 0.5))
        assert isinstance(send.message, Sealed)
        boxes[rank] = send.message.box
    assert told(sink, Forwarded(1, 0, boxes[0])) == []
    assert refusal(sink, Forwarded(1, 0, boxes[0])) == "wrong-member"  # twice
    assert refusal(sink, Forwarded(1, 5, boxes[1])) == "wrong-member"
    assert refusal(sink, Forwarded(1, 1, boxes[3])) == "bad-seal"
    assert refusal(sink, Forwarded(2, 1, boxes[1])) == "out-of-turn"
    assert refusal(agents[0], Forwarded(1, 1, boxes[1])) == "out-of-turn"  # not the first member
    assert told(sink, Forwarded(1, 1, boxes[1])) == []
    *_, played = report(sink, np.full(8, 0.25))
    assert played == Send(COORDINATOR, PlayedUngrouped(1))
    (send,) = told(sink, Forwarded(1, 3, boxes[3]))
    assert isinstance(send.message, Sums)
    sums = from_words(unpack_words(send.message.words, 8), 8)
    assert sums.tolist() == [1.75, 1.5, 1.25, 1.25, 1.25, 1.75, 1.75, 1.75]


@given(st.integers(0, 2), st.integers(0, 100))
@example(2, 100)
@example(1, 0)
def test_commitment_plays_what_is_left(arm: int, left: int) -> None:
    agent = ready()[0]
    effects = told(agent, Commit(arm, left))
    if left:
        assert effects == [Pull((arm,), left)]
        effects = agent.handle(Pulled((arm,), left, np.array([0.4 * left])), 100.0)
    assert effects[-1] == Finish("done", arm)


def ucb_arms(tapes: np.ndarray, horizon: int) -> list[int]:
    """UCB1 pull by pull, as printed; `tapes` has each arm's rewards."""
    arms = len(tapes)
    sums, counts = np.zeros(arms), np.zeros(arms, dtype=int)
    pulled = []
    for t in range(1, horizon + 1):
        if t <= arms:
            k = t - 1
        else:
            k = int((sums / counts + np.sqrt(2 * np.log(t - 1) / counts)).argmax())
        sums[k] += tapes[k][counts[k]]
        counts[k] += 1
        pulled.append(k)
    return pulled


@settings(max_examples=8)
@given(st.integers(0), st.integers(1, 5), st.integers(1, 400))
@example(3, 3, 400)
def test_a_user_alone_pulls_by_ucb1(seed: int, arms: int, horizon: int) -> None:
    tapes = np.random.default_rng(seed).random((arms, horizon))  # no ties
    machine = ParallelUcb(arms, horizon, np.random.default_rng(0), Earnings(horizon))
    (effect,), pulled = machine.handle(Started(), 0.0), list[int]()
    while isinstance(effect, Pull):
        (arm,), used = effect.arms, pulled.count(effect.arms[0])
        pulled.append(arm)
        *_, effect = machine.handle(Pulled((arm,), 1, tapes[arm, used : used + 1]), 0.0)
    assert isinstance(effect, Finish)
    assert pulled == ucb_arms(tapes, horizon)
