"""One assignment under way: its groups and their members' answers."""

from dataclasses import dataclass, field

import numpy as np

from posse.seam.masking import MaskedSum, Orders, Words
from posse.seam.messages import FloatArray, IntArray
from posse_systems.esfandiari2022.decomposition import Assignment
from posse_systems.esfandiari2022.messages import estimates, from_words, removed_in


@dataclass(slots=True)
class UserGroup:
    """Users on one arm whose rewards are added up; `members` in the order of removal.

    `masked` collects masked reports. `sums` is set when the group is complete, and never if it is
    broken; it covers `users`, the members without those that were lost.
    """

    arm: int
    members: tuple[int, ...]
    number: int = 0
    dropouts: int = 0
    sums: Words | None = None
    broken: bool = False
    masked: MaskedSum = field(init=False)

    def __post_init__(self) -> None:
        self.masked = MaskedSum(self.number, self.members, self.dropouts, leaves_out=True)

    @property
    def open(self) -> bool:
        """Whether the group still waits for its sums."""
        return self.sums is None and not self.broken

    @property
    def users(self) -> tuple[int, ...]:
        """The members that the sums cover."""
        return self.masked.group or self.members

    def add_up(self) -> None:
        """Read the sums, if all is there that it takes."""
        if self.open and self.masked.complete:
            self.sums = self.masked.total()

    def lose(self, user: int) -> Orders:
        """Go on without a member, or break."""
        if not self.open:
            return []
        if len(self.masked.lost) >= self.dropouts:
            self.broken = True
            return []
        orders = self.masked.lose(user)
        self.add_up()
        return orders

    def estimates(self, sums: FloatArray) -> FloatArray:
        """An estimate of the mean of each of `users`."""
        places = [self.members.index(user) for user in self.users]
        means: FloatArray = estimates(sums, len(self.members))[places]
        return means

    def sums_per_copy(self, copies: int, precision: int) -> FloatArray | None:
        """The rounds' sums per copy; None if there are none that rewards in [0, 1] can give."""
        if self.sums is None:
            return None
        largest = copies << precision
        users = self.users
        for step, total in enumerate(self.sums.tolist()):
            if total > largest * (len(users) - (removed_in(step, self.members) in users)):
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


def form_groups(
    arms: IntArray,
    group_size: int,
    generator: np.random.Generator,
    number: int = 0,
    dropouts: int = 0,
) -> list[UserGroup]:
    """Random groups of C + 1 to 2C + 1 on every arm with more than C users; -1 plays nothing.

    The n users of an arm form ⌊n / (C+1)⌋ groups of sizes that differ by at most 1. They are for
    assignment `number`, and can do without `dropouts` members each.
    """
    groups: list[UserGroup] = []
    for arm in np.unique(arms[arms >= 0]):
        users = generator.permutation(np.flatnonzero(arms == arm))
        if count := len(users) // (group_size + 1):
            parts = np.array_split(users, count)
            groups += [
                UserGroup(int(arm), tuple(members.tolist()), number, dropouts) for members in parts
            ]
    return groups
