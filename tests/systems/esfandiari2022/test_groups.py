"""Groups of an assignment: who is in one, what it waits for, and the sums it adds up to."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posse.protocol.masking import Unmask
from posse_systems.esfandiari2022.decomposition import Assignment
from posse_systems.esfandiari2022.groups import AssignmentRound, UserGroup, form_groups


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


def test_a_round_is_over_when_all_have_played_and_every_group_is_settled() -> None:
    groups = [UserGroup(0, (0, 1)), UserGroup(1, (2, 3))]
    one = AssignmentRound(1, Assignment(np.array([0, 0, 1, 1]), 1), 1, groups, {}, {3})
    assert not one.over
    one.unanswered.clear()
    assert not one.over
    groups[0].broken = True
    groups[1].sums = np.zeros(6, dtype=np.uint64)
    assert one.over


@given(
    st.integers(2, 7), st.integers(1, 5), st.integers(1, 20), st.integers(-3, 3), st.integers(0, 9)
)
def test_sums_that_no_rewards_add_up_to_are_none(
    size: int, copies: int, precision: int, beyond: int, word: int
) -> None:
    """Of `size` rewards in [0, 1] in each round, `copies` times over; word 1 + s lacks the s-th."""
    group = UserGroup(0, tuple(range(size)))
    assert group.sums_per_copy(copies, precision) is None
    group.sums = np.zeros(10, dtype=np.uint64)
    most = (size - (1 <= word <= size)) * copies << precision
    group.sums[word] = most + beyond
    assert (group.sums_per_copy(copies, precision) is not None) == (beyond <= 0)
    group.sums[word] = 2**64 - 1  # one below nothing, modulo 2^64
    assert group.sums_per_copy(copies, precision) is None
