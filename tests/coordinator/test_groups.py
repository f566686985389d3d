"""Groups of an assignment: who is in one, what it waits for, and the sums it adds up to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.coordinator.decomposition import Assignment
from posse.coordinator.groups import AssignmentRound, UserGroup, form_groups
from posse.protocol.anonymous import schedule_length, to_words
from posse.protocol.masking import Unmask, keystream, pack_words


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_groups_are_of_one_arm_and_of_c_plus_1_to_2c_plus_1(
    arms: list[int], c: int, seed: int
) -> None:
    groups = form_groups(np.array(arms), c, np.random.default_rng(seed))
    placed = [user for group in groups for user in group.members]
    assert len(placed) == len(set(placed))
    for group in groups:
        assert {arms[user] for user in group.members} == {group.arm}
        assert c + 1 <= len(group.members) <= 2 * c + 1
    # on an arm with more than C users nobody is left out, on any other everybody is
    left_out = [arm for user, arm in enumerate(arms) if user not in placed and arm >= 0]
    assert all(arms.count(arm) <= c for arm in left_out)


def test_groups_have_c_plus_1_to_2c_plus_1_users() -> None:
    def sizes(users: int, c: int) -> list[int]:
        groups = form_groups(np.zeros(users, dtype=np.int64), c, np.random.default_rng(0))
        return [len(group.members) for group in groups]

    for c in range(2, 8):
        for users in range(c + 1, 100):
            found = sizes(users, c)
            assert sum(found) == users
            assert c + 1 <= min(found) <= max(found) <= 2 * c + 1
    assert sizes(5, 5) == []
    assert sizes(13, 5) == [7, 6]


def test_who_is_with_whom_is_drawn_at_random() -> None:
    arms = np.zeros(12, dtype=np.int64)
    drawn = {form_groups(arms, 3, np.random.default_rng(seed))[0].members for seed in range(20)}
    assert len(drawn) == 20


def test_a_group_asks_for_self_masks_when_all_reports_are_there() -> None:
    group = UserGroup(0, (4, 7), number=3)
    assert group.masked.report(4, bytes(64), b"", 8) == []
    assert (group.open, group.masked.missing()) == (True, [7])
    assert group.masked.report(7, bytes(64), b"", 8) == [((4, 7), Unmask(3))]
    assert group.masked.missing() == [4, 7]
    group.masked.unmasked(4, bytes(32))
    assert group.masked.missing() == [7]
    assert group.lose(7) == []
    assert (group.open, group.broken) == (False, True)


def test_sums_by_hand_and_self_masks_off() -> None:
    """C = 2, three users of rewards 1/4, 1/2 and 1: user n is out in round n + 1 of six."""
    group = UserGroup(0, (5, 2, 9), number=3)
    seeds = {}
    for user, reward in zip(group.members, (0.25, 0.5, 1.0), strict=True):
        seed = bytes([user] * 32)
        words = np.full(schedule_length(2), to_words(np.array([reward]), 8)[0])
        mask = keystream(seed, 3, len(words))
        position = 1 + group.members.index(user)
        words[position] = mask[position] = 0
        group.masked.report(user, pack_words(words + mask), b"", len(words))
        seeds[user] = seed
    for user, seed in seeds.items():
        group.masked.unmasked(user, seed)
    group.add_up()
    found = group.sums_per_copy(1, 8)
    assert found is not None
    assert found.tolist() == [1.75, 1.5, 1.25, 0.75, 1.75, 1.75]


@pytest.mark.parametrize(("word", "there"), [(3 << 8, True), ((3 << 8) + 1, False)])
def test_sums_that_no_rewards_add_up_to_are_none(word: int, there: bool) -> None:
    group = UserGroup(0, (0, 1, 2))
    assert group.sums_per_copy(1, 8) is None
    group.sums = np.zeros(6, dtype=np.uint64)
    group.sums[0] = word
    assert (group.sums_per_copy(1, 8) is not None) == there


def test_a_round_is_over_when_all_have_played_and_every_group_is_settled() -> None:
    groups = [UserGroup(0, (0, 1)), UserGroup(1, (2, 3))]
    one = AssignmentRound(1, Assignment(np.array([0, 0, 1, 1]), 1), 1, groups, {}, {3})
    assert not one.over
    one.unanswered.clear()
    assert not one.over
    groups[0].broken = True
    groups[1].sums = np.zeros(6, dtype=np.uint64)
    assert one.over
