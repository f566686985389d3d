"""The medium: what it tells players that choose, collide, or do wrong."""

from collections import Counter

import numpy as np
import pytest

from coordinator.players import Medium
from protocol.errors import RemoteProtocolError
from protocol.machine import (
    Dismiss,
    Finish,
    Note,
    PeerFinished,
    Played,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
    Timer,
    TimerFired,
)
from protocol.players import Choice, DismissedRow, Outcome, RewardsRow


def medium(players=3, arms=4, horizon=10, collision=1, shared=True, on_missing="end", seed=0):
    machine = Medium(
        arms, players, horizon, collision, shared, 5.0, on_missing, np.random.default_rng(seed)
    )
    assert machine.handle(Started(), 0.0) == [Timer(5.0)]
    return machine


def choose(machine, *arms, slot=1):
    for player, arm in enumerate(arms):
        effects = machine.handle(Received(player, Choice(slot, arm)), 0.0)
        assert player == len(arms) - 1 or not effects
    return effects


def outcomes(effects):
    return {e.to: e.message for e in effects if isinstance(e, Send)}


def test_a_slot_without_collision():
    machine = medium()
    assert choose(machine, 2, 0, 3) == [Pull((0, 2, 3), 1)]
    effects = machine.handle(Pulled((0, 2, 3), 1, np.array([0.25, 0.5, 1.0])), 0.0)
    assert effects[0] == Played((2, 0, 3), (0.5, 0.25, 1.0))
    assert outcomes(effects) == {
        0: Outcome(1, 0.5, 0.5, False),
        1: Outcome(1, 0.25, 0.25, False),
        2: Outcome(1, 1.0, 1.0, False),
    }
    assert effects[-1] == Timer(5.0)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("collision", [1, 2])
def test_collisions(collision, shared):
    machine = medium(players=4, collision=collision, shared=shared)
    (order,) = choose(machine, 2, 1, 2, 2)
    if shared:
        assert order.arms == (1, 2)
        samples = {0: 0.75, 1: 0.5, 2: 0.75, 3: 0.75}
        pulled = Pulled(order.arms, 1, np.array([0.5, 0.75]))
    else:
        assert order.arms == (1, 2, 2, 2)
        samples = {0: 0.7, 1: 0.5, 2: 0.8, 3: 0.9}
        pulled = Pulled(order.arms, 1, np.array([0.5, 0.7, 0.8, 0.9]))
    told = outcomes(machine.handle(pulled, 0.0))
    assert {i: m.sample for i, m in told.items()} == samples
    assert [told[i].collided for i in range(4)] == [True, False, True, True]
    assert told[1].payoff == 0.5
    paid = [i for i in (0, 2, 3) if told[i].payoff]
    if collision == 2:
        assert paid == []
    else:
        (winner,) = paid
        assert told[winner].payoff == samples[winner]
    assert machine.collisions == [1, 0, 1, 1]


def test_the_winner_of_a_collision_is_uniform():
    """3,000 collisions of three; chi-square with 2 degrees stays below 18.4 but 1 time in 10^4."""
    machine = medium(players=3, horizon=4000)
    wins: Counter[int] = Counter()
    for slot in range(1, 3001):
        choose(machine, 1, 1, 1, slot=slot)
        told = outcomes(machine.handle(Pulled((1,), 1, np.array([1.0])), 0.0))
        wins.update(i for i, m in told.items() if m.payoff)
    assert wins.total() == 3000
    assert sum((wins[i] - 1000) ** 2 / 1000 for i in range(3)) < 18.4


def test_the_last_slot_ends_the_run():
    machine = medium(players=1, horizon=1)
    choose(machine, 0)
    effects = machine.handle(Pulled((0,), 1, np.array([1.0])), 0.0)
    assert effects[-1] == Finish("horizon")
    assert Note(RewardsRow((1.0,))) in effects


FAULTS = {
    "answered-twice": lambda m: m.handle(Received(0, Choice(1, 2)), 0.0),
    "no-such-arm": lambda m: m.handle(Received(1, Choice(1, 4)), 0.0),
    "silent": lambda m: m.handle(TimerFired(), 0.0),
    "left": lambda m: m.handle(PeerFinished(1), 0.0),
}


@pytest.mark.parametrize("reason", FAULTS)
@pytest.mark.parametrize("on_missing", ["end", "continue"])
def test_faults_are_named_and_decided_by_on_missing(reason, on_missing):
    machine = medium(players=2, on_missing=on_missing)
    machine.handle(Received(0, Choice(1, 3)), 0.0)
    effects = FAULTS[reason](machine)
    culprit = 0 if reason == "answered-twice" else 1
    assert effects[:2] == [Note(DismissedRow(culprit, 1)), Dismiss(culprit, reason)]
    if on_missing == "end":
        assert effects[2:] == [Finish("missing")]
    elif culprit == 1:  # the others have answered: the slot goes on at once
        assert effects[2:] == [Pull((3,), 1)]
        told = machine.handle(Pulled((3,), 1, np.array([1.0])), 0.0)
        assert set(outcomes(told)) == {0}
        assert told[0] == Played((3, -1), (1.0, 0.0))
    else:
        assert effects[2:] == []
        assert choose_alone(machine) == [Pull((2,), 1)]


def choose_alone(machine):
    return machine.handle(Received(1, Choice(1, 2)), 0.0)


def test_a_choice_ahead_of_time_is_refused_and_changes_nothing():
    machine = medium()
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        machine.handle(Received(0, Choice(2, 0)), 0.0)
    assert machine.waiting == {0, 1, 2}


def test_an_answer_to_a_slot_that_is_over_is_a_second_answer():
    machine = medium(players=1, on_missing="continue")
    choose(machine, 0)
    machine.handle(Pulled((0,), 1, np.array([1.0])), 0.0)
    effects = machine.handle(Received(0, Choice(1, 0)), 0.0)
    assert effects[1:] == [Dismiss(0, "answered-twice"), Finish("missing")]
