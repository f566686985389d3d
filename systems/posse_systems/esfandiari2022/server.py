"""The server of anonymous bandits (Esfandiari, Mirrokni and Schneider 2022).

The server never sees a single user's rewards: each observation is a sum over a group. This module
collects the estimates; `learners` learns from them.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import (
    Dismiss,
    Finish,
    GatheringMachine,
    Note,
    PeerFinished,
    PeerLost,
    Received,
    Send,
    ServerEffect,
    ServerEffects,
    ServerEvent,
    Started,
)
from posse.seam.masking import (
    SHARE_BYTES,
    TAG_BYTES,
    Answer,
    Covered,
    Keys,
    Masked,
    Orders,
    PublicKey,
    Words,
    check_key,
    unpack_words,
)
from posse.seam.messages import (
    BoolArray,
    FloatArray,
    IntArray,
    Message,
    RemoteProtocolError,
    Signer,
)
from posse.seam.results import Estimate, observed
from posse_systems.esfandiari2022.decomposition import Assignment
from posse_systems.esfandiari2022.groups import AssignmentRound, UserGroup, form_groups
from posse_systems.esfandiari2022.learners import AnonymousLearner
from posse_systems.esfandiari2022.messages import (
    Aggregation,
    Assign,
    Commit,
    CommitRow,
    ExpelledRow,
    Forwarded,
    GroupSizeRow,
    ImplausibleRow,
    LostRow,
    PlayedUngrouped,
    RepeatedRow,
    Sealed,
    Sums,
    VanishedRow,
    schedule_length,
)


@dataclass(slots=True)
class AnonymousServer(GatheringMachine):
    """Hands out assignments one by one, until the learner commits or T is used up.

    An assignment is over when every active user has answered and each group has its sums or is
    broken. A group breaks when more members than `dropouts` vanish (finish before they are told to
    commit, or are lost) or are expelled (their reports have a wrong length). Nobody is asked to
    unmask a broken group. `group_size` is C + `dropouts`, so that C users are left in each sum.

    The others play a broken group's assignment again, with new masks and new rewards, if at least C
    are left on the arm. More than C form a group; exactly C are joined by another user for whom the
    arm is alive. The run ends without an answer (`missing`) when losses leave too few users before
    anything was learned.
    """

    agents: int
    horizon: int
    group_size: int
    precision: int
    aggregation: Aggregation
    learner: AnonymousLearner
    left: int = 0
    number: int = 0
    keys: dict[int, bytes] = field(default_factory=dict)
    signer: Signer | None = None
    active: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    planned: deque[Assignment] = field(default_factory=deque)
    current: AssignmentRound | None = None
    committed: bool = False
    finished: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    group_sizes: Counter[int] = field(default_factory=Counter)
    used: int = 0
    dropouts: int = 0
    heard: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        # by arm, the sum of the rewards in all groups' sums, and how many these are
        self.heard = np.zeros((self.learner.arms, 2))

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        match event:
            case Started():
                self.left = self.horizon
                self.active = np.ones(self.agents, dtype=bool)
                return []
            case PeerFinished(sender):
                return self._part_with(sender, now)
            case PeerLost(peer):
                self.lost.add(peer)
                return self._part_with(peer, now)
            case Received(sender, PublicKey(key)):
                if sender in self.keys or not self.active[sender]:
                    raise RemoteProtocolError("duplicate-key", f"agent {sender}")
                return self._meet(sender, key, now)
            case Received(sender, message):
                return self._answer(sender, message)
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _meet(self, sender: int, key: bytes, now: float) -> ServerEffects:
        """Take a user's public key; dismiss the user if the key is invalid."""
        try:
            check_key(sender, key, self.signer)
        except RemoteProtocolError as error:
            return [Dismiss(sender, error.reason), *self._part_with(sender, now)]
        self.keys[sender] = key
        return self._begin()

    def missing(self) -> list[int]:
        if self.committed:
            return [n for n in range(self.agents) if n not in self.finished]
        current = self.current
        if current is None:
            return [int(n) for n in np.flatnonzero(self.active) if int(n) not in self.keys]
        late = set(current.unanswered)
        for group in current.groups:
            if group.open and self.aggregation == "masked":
                late.update(group.masked.missing())
            if self.aggregation == "sink" and group.open and late.isdisjoint(group.members):
                late.add(group.members[0])
        return sorted(late)

    # one assignment after the other

    def _begin(self) -> list[ServerEffect]:
        """Once every active user's key is here, send all keys and the first assignment."""
        active = [int(n) for n in np.flatnonzero(self.active)]
        if self.number or self.committed or any(user not in self.keys for user in active):
            return []
        keys = {user: self.keys[user] for user in active}
        return [*(Send(user, Keys(keys)) for user in active), *self.proceed()]

    def proceed(self) -> list[ServerEffect]:
        """Order the next assignment, or the commitment."""
        notes: list[ServerEffect] = []
        room = self.left // self._width
        while room and self.active.sum() > self.group_size:
            if self.planned:
                return [*notes, *self._assign(self.planned.popleft(), room)]
            plan = self.learner.plan(self.active)
            if plan is None:
                break
            self.planned.extend(plan[0])
            notes += plan[1]
        if self.lost and not self.used:
            return [*notes, Finish("missing")]
        return [*notes, *self._commit()]

    def _assign(self, assignment: Assignment, room: int) -> list[ServerEffect]:
        arms = np.where(self.active, assignment.arms, -1)
        copies = min(assignment.copies, room)
        self.number += 1
        groups = form_groups(
            arms, self.group_size, self.learner.generator, self.number, self.dropouts
        )
        users = [int(n) for n in np.flatnonzero(self.active)]
        self.left -= copies * self._width
        group_of = {user: group for group in groups for user in group.members}
        self.current = AssignmentRound(
            self.number, assignment, copies, groups, group_of, set(users)
        )
        self.group_sizes.update(len(group.members) for group in groups)
        orders: list[ServerEffect] = []
        for user in users:
            group = group_of[user].members if user in group_of else ()
            orders.append(Send(user, Assign(self.number, int(arms[user]), copies, group)))
        return orders

    def _commit(self) -> list[ServerEffect]:
        """Have every user play its best arm for the rest of T."""
        self.committed = True
        self.planned.clear()
        best = self.learner.best()
        return [
            *(Note(GroupSizeRow(*counted)) for counted in sorted(self.group_sizes.items())),
            Note(CommitRow(self.number, self.horizon - self.left, self.used)),
            *map(Note, self._estimates()),
            *(Send(int(n), Commit(int(best[n]), self.left)) for n in np.flatnonzero(self.active)),
        ]

    def _estimates(self) -> Iterator[Estimate]:
        """Each arm's mean over all groups on it, of C users at least, from their sums alone."""
        rounding = 2.0 ** -(self.precision + 1)
        for arm, (total, rewards) in enumerate(self.heard.tolist()):
            if rewards:
                known = observed(arm, total / rewards, int(rewards), self.learner.arms)
                yield Estimate(
                    arm, known.mean, known.low - rounding, known.high + rounding, known.rewards
                )

    # answers

    def summed(self, sums: Sequence[Words]) -> ServerEffects:
        """Take the sums of all groups of the assignment, which every user has answered."""
        current = self.current
        assert current is not None
        for group, words in zip(current.groups, sums, strict=True):
            group.sums = words
        current.unanswered.clear()
        return self._go_on(current, [])

    def _answer(self, sender: int, message: Message) -> ServerEffects:
        current = self.current
        if current is None or getattr(message, "number", None) != current.number:
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        if not self.active[sender]:
            raise RemoteProtocolError("out-of-turn", f"agent {sender} was expelled")
        group = current.group_of.get(sender)
        masked = self.aggregation == "masked"
        waiting = sender in current.unanswered
        collects = not masked and group is not None and group.members[0] == sender
        match message:
            case PlayedUngrouped() if waiting and (group is None or collects):
                current.unanswered.remove(sender)
                return self._go_on(current, [])
            case Masked(_, words) if waiting and masked and group and not self.dropouts:
                return self._take_masked(current, group, sender, words, b"")
            case Covered(_, words, points) if waiting and masked and group and self.dropouts:
                return self._take_masked(current, group, sender, words, points)
            case _ if isinstance(message, Answer) and group is not None and group.open:
                return self._order(current, group, group.masked.take(sender, message))
            case Sealed(_, box) if waiting and not masked and group is not None and not collects:
                return self._pass_sealed(current, group, sender, box)
            case Sums(_, words) if collects and group is not None and group.open:
                if len(words) != 8 * self._width:
                    return self._expel(current, sender)
                group.sums = unpack_words(words, self._width)
                return self._go_on(current, [])
            case _:
                raise RemoteProtocolError("out-of-turn", type(message).__name__)

    @property
    def _width(self) -> int:
        """The number of words in a report, and of rounds in one copy of an assignment."""
        return schedule_length(self.group_size)

    def _take_masked(
        self, current: AssignmentRound, group: UserGroup, sender: int, words: bytes, points: bytes
    ) -> ServerEffects:
        if len(words) != 8 * self._width or len(points) != SHARE_BYTES * self.dropouts:
            return self._expel(current, sender)
        current.unanswered.remove(sender)
        if group.broken:
            return self._go_on(current, [])
        orders = group.masked.report(sender, words, points, self._width)
        return self._order(current, group, orders)

    def _order(self, current: AssignmentRound, group: UserGroup, orders: Orders) -> ServerEffects:
        """Send a group's orders, and go on if its sums were the last that were missing."""
        group.add_up()
        return self._go_on(current, _make_sends(orders))

    def _pass_sealed(
        self, current: AssignmentRound, group: UserGroup, sender: int, box: bytes
    ) -> ServerEffects:
        if len(box) != 8 * self._width + TAG_BYTES:
            return self._expel(current, sender)
        current.unanswered.remove(sender)
        forwarded = Forwarded(current.number, sender, box)
        return self._go_on(current, [Send(group.members[0], forwarded)] if group.open else [])

    def _go_on(self, current: AssignmentRound, effects: list[ServerEffect]) -> ServerEffects:
        """If the assignment is over, learn from it and start the next."""
        if not current.over:
            return effects
        self.current = None
        for group in current.groups:
            sums = group.sums_per_copy(current.copies, self.precision)
            if sums is not None:
                # every member is left out once
                rewards = current.copies * len(group.users) * (self._width - 1)
                self.heard[group.arm] += current.copies * sums.sum(), rewards
                users = np.array(group.users)
                means = group.estimates(sums)
                self.used += self.learner.learn(users, group.arm, means, current.copies)
            elif not group.broken:
                effects.append(Note(ImplausibleRow(current.number, group.arm)))
        broken = {group.arm for group in current.groups if group.broken}
        if broken:
            repeated = self._repeat(current, broken)
            kind = RepeatedRow if repeated else LostRow
            effects.append(Note(kind(current.number, tuple(sorted(broken)))))
            if repeated:
                self.planned.appendleft(repeated)
        return [*effects, *self.proceed()]

    # drop-outs

    def _part_with(self, sender: int, now: float) -> ServerEffects:
        self.finished.add(sender)
        if len(self.finished) == self.agents:
            return [Finish("horizon" if self.committed else "exhausted")]
        if self.committed or not self.active[sender]:
            return []
        vanished = Note(VanishedRow(sender), time=now)
        orders = self._drop(self.current, sender)
        if self.current is None:
            return [vanished, *self._begin()]
        return self._go_on(self.current, [vanished, *orders])

    def _expel(self, current: AssignmentRound, sender: int) -> ServerEffects:
        """Exclude an agent whose report has a wrong length; it goes on to play its best arm."""
        orders = self._drop(current, sender)
        arm = int(self.learner.best()[sender])
        return self._go_on(
            current, [Note(ExpelledRow(sender)), Send(sender, Commit(arm, self.left)), *orders]
        )

    def _drop(self, current: AssignmentRound | None, user: int) -> list[ServerEffect]:
        """Go on without a user; what its group is then asked for."""
        self.active[user] = False
        if current is None:
            return []
        current.unanswered.discard(user)
        group = current.group_of.get(user)
        return [] if group is None else _make_sends(group.lose(user))

    def _repeat(self, current: AssignmentRound, broken: set[int]) -> Assignment | None:
        """The assignment for the users that are left; None if no broken arm can form a group."""
        arms = np.where(self.active, current.assignment.arms, -1)
        possible = False
        for arm in sorted(broken):
            users = int((arms == arm).sum())
            if users == self.group_size and (user := self._find_spare(arms, arm)) is not None:
                arms[user] = arm
                users += 1
            possible |= users > self.group_size
        return Assignment(arms, current.copies) if possible else None

    def _find_spare(self, arms: IntArray, arm: int) -> int | None:
        """A user that can move to `arm` without leaving another arm too few for a group."""
        others = self.active & (arms != arm) & self.learner.alive[:, arm]
        crowd = np.bincount(arms[arms >= 0], minlength=self.learner.arms)[arms]
        free = others & (crowd != self.group_size + 1)
        return int(free.argmax()) if free.any() else None


def _make_sends(orders: Orders) -> list[ServerEffect]:
    return [Send(user, message) for users, message in orders for user in sorted(users)]
