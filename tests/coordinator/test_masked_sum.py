"""Sums over groups of the anonymous family that do without lost members."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.agent.masking import Masker, public_key
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.masking import pack_words
from posse_systems.esfandiari2022.groups import UserGroup
from posse_systems.esfandiari2022.messages import removed_in, schedule_length

C, DROPOUTS, NUMBER = 2, 2, 4
GROUP = (6, 1, 0, 3, 5, 2, 4)
WIDTH = schedule_length(C + DROPOUTS)


class Round:
    """A group's round in which members answer in any order, and some are lost."""

    def __init__(self, losses: dict[int, int], seed: int) -> None:
        self.maskers = [Masker(n, C + DROPOUTS, bytes([n + 1] * 32), None, DROPOUTS) for n in GROUP]
        keys = {one.rank: public_key(one.private) for one in self.maskers}
        self.chance, self.losses = random.Random(seed), dict(losses)
        self.group = UserGroup(0, GROUP, NUMBER, DROPOUTS)
        self.words = {n: np.full(WIDTH, 1000 + n, dtype=np.uint64) for n in GROUP}
        self.agents = {one.rank: one for one in self.maskers}
        self.waiting: list[tuple[int, Any]] = [(n, None) for n in GROUP]
        self.count = 0
        for n, one in self.agents.items():
            one.keys = dict(keys)
            one.begin(NUMBER, GROUP)
            self.words[n][1 + GROUP.index(n)] = 0

    def play(self) -> None:
        while self.waiting and self.group.open:
            for n in [n for n, at in self.losses.items() if at <= self.count]:
                del self.losses[n]
                self.waiting = [(user, order) for user, order in self.waiting if user != n]
                self._take(self.group.lose(n))
            if not self.waiting or not self.group.open:
                break
            first = {user: number for number, (user, _) in reversed([*enumerate(self.waiting)])}
            user, order = self.waiting.pop(self.chance.choice(list(first.values())))
            self.count += 1
            self._answer(user, order)

    def _answer(self, user: int, order: Any) -> None:
        one, masked = self.agents[user], self.group.masked
        match order:
            case None:
                words = one.mask(NUMBER, GROUP, self.words[user])
                points = one.points(NUMBER, GROUP)
                self._take(masked.report(user, pack_words(words), points, WIDTH))
            case _:
                self._take(masked.take(user, one.answer(order, WIDTH)))
        self.group.add_up()

    def _take(self, orders) -> None:
        self.waiting += [(user, message) for users, message in orders for user in users]


@settings(max_examples=80)
@given(st.integers(0))
def test_the_sums_are_exactly_those_of_the_members_that_are_left(seed: int) -> None:
    chance = random.Random(seed)
    lost = {n: chance.randrange(40) for n in chance.sample(GROUP, 2)}
    one = Round(lost, seed)
    one.play()
    users = one.group.users
    assert len(users) >= len(GROUP) - DROPOUTS >= C + 1
    assert one.group.sums is not None
    expected = [
        sum(int(one.words[n][step]) for n in users if removed_in(step, GROUP) != n)
        for step in range(WIDTH)
    ]
    assert one.group.sums.tolist() == expected
    means = one.group.estimates(one.group.sums.astype(float))
    assert means.tolist() == [1000.0 + n for n in users]


@settings(max_examples=20)
@given(st.integers(0))
def test_one_more_breaks_the_group(seed: int) -> None:
    chance = random.Random(seed)
    one = Round({n: chance.randrange(len(GROUP)) for n in chance.sample(GROUP, 3)}, seed)
    one.play()
    assert (one.group.broken, one.group.sums) == (True, None)


def test_survivors_of_whom_a_sum_would_cover_too_few_are_refused() -> None:
    one = Round({}, 0)
    one.play()
    agent = Round({}, 0).agents[6]
    agent.mask(NUMBER, GROUP, one.words[6])
    with pytest.raises(RemoteProtocolError, match="small-roster"):
        agent.rest(NUMBER, GROUP, (6, 1, 0, 3), WIDTH)
    assert agent.rest(NUMBER, GROUP, (6, 1, 0, 3, 5), WIDTH)[1] == 0
