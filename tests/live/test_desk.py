"""The desk: what is handed out is what was ordered, and each told reward has one place."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from posse.live.desk import Desk, DeskSettings, Memory, RewardRefusal, RunSoFar

NAMES = ("blue", "green", "red")


def desk(**settings) -> Desk:
    made = Desk(
        DeskSettings(**{"names": NAMES, "timeout": 10.0, **settings}), Memory(), random.Random(1)
    )
    made.begin(RunSoFar(run=1))
    return made


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 20), min_size=3, max_size=3), st.integers(0, 99))
def test_an_order_is_handed_out_whole_in_random_order_and_then_no_more(times, seed) -> None:
    made = desk()
    made._random.seed(seed)
    made.order((0, 1, 2), times)
    arms = [made.ask(0.0).arm for _ in range(sum(times))]
    assert [arms.count(k) for k in range(3)] == times
    assert made.ask(0.0).idle == "waits"


def test_the_order_within_an_order_is_uniform() -> None:
    """4 permutations' worth of places of one arm among four: a chi-square at 1e-4, seed fixed."""
    made, places = desk(), [0, 0, 0, 0]
    for turn in range(4_000):
        made.order((0, 1), (turn + 1, 3 * (turn + 1)))
        arms = []
        for _ in range(4):
            decision = made.ask(0.0)
            arms.append(decision.arm)
            made.tell(0.0, decision.id, 0.0)
        places[arms.index(0)] += 1
    assert sum((n - 1_000) ** 2 / 1_000 for n in places) < 21.1  # 3 degrees of freedom


def test_exploring_hands_out_whole_rounds_until_another_order() -> None:
    made = desk()
    made.explore((0, 2))
    arms = [made.ask(0.0).arm for _ in range(20)]
    assert all({*arms[n : n + 2]} == {0, 2} for n in range(0, 20, 2))
    assert arms[::2].count(0) not in (0, 10)
    made.order((1,), (1,))
    assert [made.ask(0.0).arm for _ in range(1)] == [1]
    assert made.ask(0.0).idle == "waits"


@pytest.mark.parametrize(
    ("reward", "kind"),
    [
        (1.5, "range"),
        (-0.1, "range"),
        (math.nan, "range"),
        (math.inf, "range"),
        ("1", "range"),
        (True, "range"),
    ],
)
def test_a_reward_that_is_none_is_refused_and_counted_and_can_still_be_told(reward, kind) -> None:
    made = desk()
    made.order((1,), (1,))
    decision = made.ask(0.0)
    with pytest.raises(RewardRefusal) as refused:
        made.tell(1.0, decision.id, reward)
    assert refused.value.kind == kind
    assert made.counts[f"refused, {kind}"] == 1
    assert made.tell(1.0, decision.id, 1.0) is True


@pytest.mark.parametrize(
    "id_", ["", "-", "x", "1-", "1-0", "ffffffffffffffffffffff-1", "é-1", "9-9"]
)
def test_an_id_that_nobody_was_given_is_refused(id_) -> None:
    made = desk()
    made.order((1,), (1,))
    made.ask(0.0)
    with pytest.raises(RewardRefusal) as refused:
        made.tell(1.0, id_, 1.0)
    assert refused.value.kind == "unknown"
    assert made.have(1) == 0


def test_clipped_rewards_are_those_of_logs() -> None:
    made = desk(clip=(0.0, 4.0))
    made.order((0,), (4,))
    for reward in (1.0, -3.0, math.inf, math.nan):
        made.tell(0.0, made.ask(0.0).id, reward)
    assert made.read(0, 0, 4) == [0.25, 0.0, 1.0, 0.0]


def test_told_again_is_no_second_reward_and_another_value_is_refused() -> None:
    made = desk()
    made.order((0,), (2,))
    decision = made.ask(0.0)
    assert made.tell(0.0, decision.id, 0.5) is True
    assert made.tell(0.0, decision.id, 0.5) is False
    with pytest.raises(RewardRefusal, match="another reward") as refused:
        made.tell(0.0, decision.id, 0.6)
    assert refused.value.kind == "twice"
    assert made.read(0, 0, 9) == [0.5]


@pytest.mark.parametrize(("on_timeout", "have"), [("again", 0), (0.25, 1), ("end", 0)])
def test_a_reward_that_does_not_come(on_timeout, have) -> None:
    made = desk(on_timeout=on_timeout)
    made.order((2,), (1,))
    decision = made.ask(0.0)
    made.expire(9.9)
    assert made.counts["timed out"] == 0
    made.expire(10.0)
    assert made.read(2, 0, 9) == [0.25] * have
    assert bool(made.trouble) is (on_timeout == "end")
    with pytest.raises(RewardRefusal) as refused:
        made.tell(10.0, decision.id, 1.0)
    assert refused.value.kind == "late"
    again = made.ask(10.0)
    assert (again.arm, again.idle) == (
        (2, "") if on_timeout == "again" else (again.arm, again.idle)
    )


def test_what_is_open_when_its_run_ends_is_late() -> None:
    made = desk()
    made.order((0,), (1,))
    decision = made.ask(0.0)
    made.begin(RunSoFar(run=2))
    with pytest.raises(RewardRefusal) as refused:
        made.tell(0.0, decision.id, 1.0)
    assert refused.value.kind == "late"
    assert made.have(0) == 0


def test_idle_requests_get_what_is_asked_for_and_the_answer_when_the_run_is_over() -> None:
    best, fixed = desk(), desk(idle="fixed", fixed=2)
    for made in (best, fixed):
        made.order((0, 1), (1, 1))
        for _ in range(2):
            decision = made.ask(0.0)
            made.tell(0.0, decision.id, float(decision.arm == 1))
    assert [best.ask(0.0).arm, fixed.ask(0.0).arm] == [1, 2]
    assert best.tell(0.0, best.ask(0.0).id, 0.0) is False
    fixed.finish(0)
    best.finish(None)
    assert (fixed.ask(0.0).arm, fixed.ask(0.0).idle) == (0, "over")
    assert (best.ask(0.0).name, best.ask(0.0).idle) == ("green", "over")
    uniform = desk(idle="uniform")
    assert {uniform.ask(0.0).arm for _ in range(50)} == {0, 1, 2}
    assert len({uniform.ask(0.0, "ann").arm for _ in range(50)}) == 1


def test_a_person_has_one_open_decision_and_gives_no_more_than_is_allowed() -> None:
    made = desk(most_of_person=2)
    made.order((0, 1), (5, 5))
    first = made.ask(0.0, "ann")
    assert made.ask(1.0, "ann") == first
    made.tell(1.0, first.id, 1.0)
    second = made.ask(1.0, "ann")
    made.expire(11.0)  # what timed out counts: it was shown
    assert second.id != first.id
    assert made.ask(11.0, "ann").idle == "person"
    assert made.ask(11.0).idle == "person"
    assert made.ask(11.0, "bob").idle == ""
    made.admit = lambda names: [False]
    assert made.ask(11.0, "cid").idle == "person"


def test_open_decisions_are_bounded() -> None:
    made = desk(open=2)
    made.order((0,), (5,))
    assert [made.ask(0.0).idle for _ in range(3)] == ["", "", "crowded"]


class DeskAgainstAList(RuleBasedStateMachine):
    """A desk and a list of what was told, under any order of what applications do."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = desk()
        self.now = 0.0
        self.open: dict[str, tuple[int, float]] = {}
        self.gone: dict[str, float | None] = {}
        self.told: list[list[float]] = [[], [], []]
        self.wanted = [0, 0, 0]

    @rule(times=st.lists(st.integers(0, 4), min_size=3, max_size=3))
    def order(self, times) -> None:
        self.wanted = [len(t) + n for t, n in zip(self.told, times, strict=True)]
        self.desk.order((0, 1, 2), self.wanted)

    @rule()
    def ask(self) -> None:
        self.forget()
        decision = self.desk.ask(self.now)
        out = [arm for arm, _ in self.open.values()]
        missing = [
            w - len(t) - out.count(k)
            for k, (w, t) in enumerate(zip(self.wanted, self.told, strict=True))
        ]
        if decision.idle:
            assert max(missing) <= 0
        else:
            assert missing[decision.arm] > 0
            self.open[decision.id] = decision.arm, self.now

    @precondition(lambda self: self.open)
    @rule(data=st.data(), reward=st.sampled_from([0.0, 0.5, 1.0]))
    def tell(self, data, reward) -> None:
        self.forget()
        if self.open:
            id_ = data.draw(st.sampled_from(sorted(self.open)))
            assert self.desk.tell(self.now, id_, reward) is True
            arm, _ = self.open.pop(id_)
            self.told[arm].append(reward)
            self.gone[id_] = reward

    @precondition(lambda self: self.gone)
    @rule(data=st.data(), reward=st.sampled_from([0.0, 0.5, 1.0]))
    def tell_again(self, data, reward) -> None:
        self.forget()
        id_ = data.draw(st.sampled_from(sorted(self.gone)))
        try:
            assert self.desk.tell(self.now, id_, reward) is False
            assert self.gone[id_] == reward
        except RewardRefusal as refused:
            assert refused.kind == ("late" if self.gone[id_] is None else "twice")

    @rule(seconds=st.sampled_from([1.0, 9.0]))
    def wait(self, seconds) -> None:
        self.now += seconds

    def forget(self) -> None:
        for id_, (_, asked) in list(self.open.items()):
            if asked <= self.now - 10.0:
                del self.open[id_]
                self.gone[id_] = None

    @invariant()
    def has_what_was_told(self) -> None:
        assert [self.desk.read(k, 0, 10**6) for k in range(3)] == self.told


TestDeskAgainstAList = DeskAgainstAList.TestCase
