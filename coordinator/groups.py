"""One assignment under way: its groups and their members' answers."""

from dataclasses import dataclass, field

import numpy as np

from posse.coordinator.decomposition import Assignment
from posse.protocol.anonymous import from_words, removed_in
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.masking import Words, keystream


@dataclass(slots=True)
class UserGroup:
    """Users on one arm whose rewards are added up; `members` in the order of removal.

    `reports` and `seeds` hold what members sent in the two phases of masking. `sums` is set when
    the group is complete, and never if it is broken.
    """

    arm: int
    members: tuple[int, ...]
    reports: dict[int, Words] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    sums: Words | None = None
    broken: bool = False

    @property
    def open(self) -> bool:
        """Whether the group still waits for its sums."""
        return self.sums is None and not self.broken

    def asks(self, user: int) -> bool:
        """Whether the group waits for this user's self-mask."""
        return self.open and len(self.reports) == len(self.members) and user not in self.seeds

    def add_up(self, number: int) -> None:
        """Add up the masked reports and remove the self-masks; the pairwise masks cancel."""
        total = np.zeros_like(self.reports[self.members[0]])
        for position, user in enumerate(self.members, start=1):
            own = keystream(self.seeds[user], number, len(total))
            own[position] = 0
            total += self.reports[user] - own
        self.sums = total

    def sums_per_copy(self, copies: int, precision: int) -> FloatArray | None:
        """The rounds' sums per copy; None if there are none that rewards in [0, 1] can give."""
        if self.sums is None:
            return None
        largest = copies << precision
        group = self.members
        for step, total in enumerate(self.sums.tolist()):
            if total > largest * (len(group) - (removed_in(step, group) is not None)):
                return None
        return from_words(self.sums, precision) / copies


@dataclass(slots=True)
class AssignmentRound:
    """An assignment under way: its groups and the users that must answer."""

    number: int
    assignment: Assignment
    copies: int
    groups: list[UserGroup]
    group_of: dict[int, UserGroup]
    unanswered: set[int]

    @property
    def over(self) -> bool:
        """Whether every user has answered and every group has its sums or is broken."""
        return not self.unanswered and not any(group.open for group in self.groups)


def form_groups(arms: IntArray, group_size: int, generator: np.random.Generator) -> list[UserGroup]:
    """Random groups of C + 1 to 2C + 1 on every arm with more than C users; -1 plays nothing.

    The n users of an arm form ⌊n / (C+1)⌋ groups of sizes that differ by at most 1.
    """
    groups: list[UserGroup] = []
    for arm in np.unique(arms[arms >= 0]):
        users = generator.permutation(np.flatnonzero(arms == arm))
        if count := len(users) // (group_size + 1):
            parts = np.array_split(users, count)
            groups += [UserGroup(int(arm), tuple(members.tolist())) for members in parts]
    return groups
