"""The server of anonymous bandits with its players over a fake link."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.protocol.estimates import Estimate, observed
from posse.protocol.machine import Finish, PeerLost, Received, Send, Started
from posse.protocol.masking import Masked, PublicKey, Unmasked
from posse.protocol.message import Message
from posse_systems.esfandiari2022.messages import Sealed, Sums
from tests.support.anonymous import FIVE_FIVE, FOUR_SIX, Link, assign


@pytest.mark.parametrize("aggregation", ["masked", "sink"])
def test_constant_rewards_are_estimated_exactly(aggregation: str) -> None:
    link = Link([FIVE_FIVE, assign(0, 1, 2, 2, 2, 2, 2, 2, 2, 2)], aggregation=aggregation).run()
    assert link.status == "horizon"
    expected = {(user, user // 5): [(Link.reward(user, user // 5), 2)] for user in range(10)}
    expected |= {(user, 2): [(Link.reward(user, 2), 1)] for user in range(2, 10)}
    assert link.learner.learned == expected
    assert (link.pulls.sum(axis=1) == link.horizon).all()
    assert link.pulls[0].tolist() == [400, 0, 0]  # 16 + 8 rounds assigned, then the commitment
    assert link.pulls[1].tolist() == [392, 8, 0]
    seen = link.verdict()
    assert not seen.violations
    assert seen.smallest == 3  # eight users on arm 2 are two groups of C + 1


@pytest.mark.parametrize("aggregation", ["masked", "sink"])
def test_an_arm_is_told_by_its_groups_sums_alone(aggregation: str) -> None:
    """C = 3: a member's reward is in 7 of 8 sums, twice for FIVE_FIVE; 2^-9 is the rounding's."""
    link = Link([FIVE_FIVE, assign(0, 1, 2, 2, 2, 2, 2, 2, 2, 2)], aggregation=aggregation).run()
    told = [note.row for note in link.notes if isinstance(note.row, Estimate)]
    users = {0: range(5), 1: range(5, 10), 2: range(2, 10)}
    for arm, copies in ((0, 2), (1, 2), (2, 1)):
        mean = float(np.mean([Link.reward(user, arm) for user in users[arm]]))
        whole = observed(arm, mean, 7 * copies * len(users[arm]), 3)
        assert told[arm].rewards == whole.rewards
        assert told[arm].mean == pytest.approx(mean)
        assert told[arm].high == pytest.approx(whole.high + 2**-9)
        assert told[arm].low == pytest.approx(whole.low - 2**-9)


@pytest.mark.parametrize("learned", [False, True])
def test_too_few_that_are_left_by_losses_have_an_answer_only_if_something_was_learned(
    learned: bool,
) -> None:
    """Ten users, C = 2: two are left, before the first assignment or after one."""
    link = Link([FIVE_FIVE, FIVE_FIVE])
    server = link.server
    server.handle(Started(), 0.0)
    for user in range(2, 9):
        server.handle(PeerLost(user), 0.0)
    server.used = int(learned)
    for user in (0, 1):
        server.handle(Received(user, PublicKey(bytes([user + 1] * 32))), 0.0)
    effects = server.handle(PeerLost(9), 0.0)
    if learned:
        told = [effect.to for effect in effects if isinstance(effect, Send)]
        assert told[-2:] == [0, 1]
        assert server.committed
    else:
        assert effects[-1] == Finish("missing")


@pytest.mark.parametrize("aggregation", ["masked", "sink"])
@pytest.mark.parametrize("phase", [Masked, Unmasked, Sealed, Sums])
def test_a_member_that_vanishes_is_done_without(phase: type[Message], aggregation: str) -> None:
    if (phase in (Masked, Unmasked)) != (aggregation == "masked"):
        return
    first: list[int] = []

    def lost(user: int, message: Message) -> bool:
        if isinstance(message, phase) and user < 5 and not first:
            first.append(user)
            return True
        return False

    link = Link([FIVE_FIVE], aggregation=aggregation, lost=lost).run()
    (gone,) = first
    assert link.status == "horizon"
    assert link.named("vanished") == [(gone,)]
    assert link.named("repeated") == [(1, 0)]
    # the others' group was repeated without it: fresh rewards, and every estimate is exact
    for user in set(range(10)) - set(first):
        assert {mean for mean, _ in link.learner.learned[user, user // 5]} == {
            Link.reward(user, user // 5)
        }
    assert (gone, 0) not in link.learner.learned
    assert not link.verdict().violations
    # nothing of the broken group was learned: assignment 1 gave arm 1 only
    assert all(len(link.learner.learned[user, 0]) == 1 for user in range(5) if user != gone)
    assert all(len(link.learner.learned[user, 1]) == 2 for user in range(5, 10))


def test_with_c_left_another_user_fills_the_group() -> None:
    link = Link(
        [FOUR_SIX], lost=lambda user, message: user == 2 and isinstance(message, Masked)
    ).run()
    assert link.named("repeated") == [(1, 0)]
    again = {user for user, arm in link.learner.learned if arm == 0}
    assert again == {0, 1, 3, 4}  # agent 4 came over from the arm with six users
    assert not link.verdict().violations


def test_with_fewer_than_c_left_the_arm_is_given_up() -> None:
    link = Link(
        [FOUR_SIX], lost=lambda user, message: user in (1, 2) and isinstance(message, Masked)
    ).run()
    assert link.named("lost") == [(1, 0)]
    assert all(arm == 1 for _, arm in link.learner.learned)
    assert link.status == "horizon"


@pytest.mark.parametrize("aggregation", ["masked", "sink"])
def test_a_wrong_length_expels_by_name_and_the_run_goes_on(aggregation: str) -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 7 and isinstance(message, Masked):
            return Masked(message.number, message.words[:-8])
        if user == 7 and isinstance(message, Sealed):
            return Sealed(message.number, message.box + b"x")
        if user == 7 and isinstance(message, Sums):
            return Sums(message.number, b"")
        return message

    link = Link([FIVE_FIVE], aggregation=aggregation, altered=altered).run()
    assert link.named("expelled") == [(7,)]
    assert (7, 1) not in link.learner.learned
    assert {user for user, _ in link.learner.learned} == set(range(10)) - {7}
    assert link.status == "horizon"
    assert (link.pulls.sum(axis=1) == link.horizon).all()  # it plays on, alone


def test_sums_that_rewards_cannot_give_are_not_learned() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 2 and isinstance(message, Masked):
            return Masked(message.number, bytes(len(message.words)))
        return message

    link = Link([FIVE_FIVE], altered=altered).run()
    assert link.named("implausible") == [(1, 0)]
    assert all(arm == 1 for _, arm in link.learner.learned)


@settings(max_examples=60)
@given(
    st.sampled_from(["masked", "sink"]),
    st.lists(st.lists(st.integers(0, 2), min_size=10, max_size=10), min_size=1, max_size=3),
    st.dictionaries(st.integers(0, 9), st.integers(0, 8), max_size=7),
    st.integers(0, 10_000),
)
def test_whoever_vanishes_whenever_no_sum_covers_fewer_than_c_and_all_that_is_learned_is_right(
    aggregation: str, plan: list[list[int]], vanish: dict[int, int], order: int
) -> None:
    """Ten users on random arms; user n vanishes instead of its message number `vanish[n]`."""
    said: Counter[int] = Counter()

    def lost(user: int, message: Message) -> bool:
        said[user] += 1
        return said[user] > vanish.get(user, 1_000)

    link = Link(
        [assign(*arms) for arms in plan],
        aggregation=aggregation,
        lost=lost,
        order=np.random.default_rng(order),
    ).run()
    assert link.status
    # what was under way to a group when it was given up
    assert set(link.refused) <= ({"out-of-turn"} if link.gone else set())
    seen = link.verdict()
    assert not seen.violations
    assert seen.smallest is None or seen.smallest >= 3
    for (user, arm), found in link.learner.learned.items():
        assert {mean for mean, _ in found} == {Link.reward(user, arm)}
    for user in set(range(10)) - link.gone:
        assert link.pulls[user].sum() == link.horizon
