"""The medium: what it tells players that choose, collide, or do wrong."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
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
from posse_systems.tossou2015.messages import Choice, DismissedRow
from posse_systems.tossou2015.server import Medium


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
    else:  # where the other has answered the slot goes on at once
        assert effects[2:] == ([Pull((3,), 1)] if culprit == 1 else [])


def test_an_answer_to_a_slot_that_is_over_is_a_second_answer():
    machine = medium(players=1, on_missing="continue")
    choose(machine, 0)
    machine.handle(Pulled((0,), 1, np.array([1.0])), 0.0)
    effects = machine.handle(Received(0, Choice(1, 0)), 0.0)
    assert effects[1:] == [Dismiss(0, "answered-twice"), Finish("missing")]


class Slots(RuleBasedStateMachine):
    """Players that choose, fall silent, leave and cheat, in any order, against a plain account."""

    @initialize(shared=st.booleans(), collision=st.sampled_from([1, 2]), seed=st.integers(0, 1000))
    def begin(self, shared: bool, collision: int, seed: int) -> None:
        self.machine = medium(
            players=4,
            horizon=6,
            collision=collision,
            shared=shared,
            on_missing="continue",
            seed=seed,
        )
        self.shared, self.collision = shared, collision
        self.chosen: dict[int, int] = {}
        self.here = {0, 1, 2, 3}
        self.slot = 1
        self.earned = [0.0] * 4
        self.collisions: Counter[int] = Counter()
        self.over = False

    @precondition(lambda self: self.over)
    @rule(shared=st.booleans(), seed=st.integers(0, 1000))
    def begin_again(self, shared: bool, seed: int) -> None:
        self.begin(shared, self.collision, seed)

    def take(self, effects) -> None:
        """What the medium asks for, carried out; the rewards of arm a are (a + 1) / 8, and more."""
        dismissed = {e.agent for e in effects if isinstance(e, Dismiss)}
        self.here -= dismissed
        for player in dismissed:
            self.chosen.pop(player, None)
        pulls = [e for e in effects if isinstance(e, Pull)]
        self.over = any(isinstance(e, Finish) for e in effects)
        if not self.here:
            assert self.over
            assert not pulls
            return
        # the arms are pulled exactly when everybody who is here has chosen
        assert bool(pulls) == (self.chosen.keys() == self.here)
        if pulls:
            self.resolve(pulls[0])

    def resolve(self, pull) -> None:
        expected = sorted(self.chosen.values())
        assert list(pull.arms) == (sorted(set(expected)) if self.shared else expected)
        sums = np.array([(arm + 1) / 8 + n / 64 for n, arm in enumerate(pull.arms)])
        effects = self.machine.handle(Pulled(pull.arms, 1, sums), 0.0)
        told = outcomes(effects)
        assert told.keys() == self.here
        for player, outcome in told.items():
            arm = self.chosen[player]
            others = [p for p in self.here if p != player and self.chosen[p] == arm]
            assert outcome.slot == self.slot
            assert outcome.collided == bool(others)
            assert outcome.payoff in (0.0, outcome.sample)
            assert outcome.payoff == outcome.sample or others
            assert outcome.sample in sums[[a == arm for a in pull.arms]]
            self.earned[player] += outcome.payoff
        paid: Counter = Counter(self.chosen[p] for p, o in told.items() if o.payoff)
        for arm, players in Counter(self.chosen.values()).items():
            assert paid[arm] == (1 if players == 1 or self.collision == 1 else 0)
        if not self.shared:  # each sees a sample of its own
            assert sorted(o.sample for o in told.values()) == sums.tolist()
        (played,) = [e for e in effects if isinstance(e, Played)]
        assert list(played.arms) == [self.chosen.get(p, -1) for p in range(4)]
        assert set(played.winners) == {p for p, o in told.items() if o.collided and o.payoff}
        self.collisions += Counter(p for p, o in told.items() if o.collided)
        assert self.machine.collisions == [self.collisions[p] for p in range(4)]
        assert self.machine.rewards == self.earned
        self.over = any(isinstance(e, Finish) for e in effects)
        assert self.over == (self.slot == 6)
        self.slot += 1
        self.chosen = {}

    def someone(self, data, among) -> int:
        return data.draw(st.sampled_from(sorted(among)))

    @precondition(lambda self: not self.over)
    @rule(data=st.data(), arm=st.integers(0, 3))
    def choose(self, data, arm) -> None:
        player = self.someone(data, self.here - self.chosen.keys())
        self.chosen[player] = arm
        self.take(self.machine.handle(Received(player, Choice(self.slot, arm)), 0.0))

    @precondition(lambda self: not self.over)
    @rule(data=st.data(), arms=st.lists(st.integers(0, 4), min_size=4, max_size=4))
    def choose_together(self, data, arms) -> None:
        players = data.draw(st.permutations(sorted(self.here - self.chosen.keys())))
        received = [Received(player, Choice(self.slot, arms[player])) for player in players]
        before = repr(self.machine)
        assert self.machine.awaited == len(received)
        assert not self.machine.keep(received)  # the last makes the medium act
        assert not self.machine.keep([Received(players[0], Choice(self.slot + 1, 0))])
        for twice in self.chosen:
            assert not self.machine.keep([Received(twice, Choice(self.slot, 0))])
        assert repr(self.machine) == before
        kept = self.machine.keep(received[:-1])
        assert kept == all(arms[player] < 4 for player in players[:-1])
        if kept:
            self.chosen |= {player: arms[player] for player in players[:-1]}
        else:
            assert repr(self.machine) == before

    @precondition(lambda self: not self.over and self.chosen)
    @rule(data=st.data())
    def answer_twice(self, data) -> None:
        player = self.someone(data, self.chosen)
        self.take(self.machine.handle(Received(player, Choice(self.slot, 0)), 0.0))

    @precondition(lambda self: not self.over)
    @rule(data=st.data())
    def name_no_arm(self, data) -> None:
        player = self.someone(data, self.here - self.chosen.keys())
        self.take(self.machine.handle(Received(player, Choice(self.slot, 4)), 0.0))

    @precondition(lambda self: not self.over)
    @rule(data=st.data())
    def leave(self, data) -> None:
        self.take(self.machine.handle(PeerFinished(self.someone(data, self.here)), 0.0))

    @precondition(lambda self: not self.over)
    @rule()
    def fall_silent(self) -> None:
        silent = self.here - self.chosen.keys()
        effects = self.machine.handle(TimerFired(), 0.0)
        assert {e.agent for e in effects if isinstance(e, Dismiss)} == silent
        self.take(effects)

    @precondition(lambda self: not self.over)
    @rule(data=st.data(), ahead=st.integers(1, 3))
    def choose_ahead(self, data, ahead) -> None:
        before = repr(self.machine)
        with pytest.raises(RemoteProtocolError, match="out-of-turn"):
            self.machine.handle(
                Received(self.someone(data, self.here), Choice(self.slot + ahead, 0)), 0.0
            )
        assert repr(self.machine) == before


TestSlots = Slots.TestCase
