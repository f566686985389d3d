"""Arms of which one reward is another."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from posse.arms import ArmsContext
from posse.audit.neighbours import AuditedArms
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.protocol.privacy import Neighbours
from posse.protocol.wire import encode
from posse.system import get_system
from posse_systems.esfandiari2022.messages import Assign
from tests.support.conversations import examples
from tests.support.planted import planted


def arms(side, rank=0, watched=False, run=0, horizon=True, **case):
    world = AuditedArms(Neighbours(**case) if case else None, side, watched, horizon)
    return arms_of(world, rank, run), world


def arms_of(world, rank, run=0):
    plan = prepare(planted("none"))
    drawn = np.random.default_rng(run)
    context = ArmsContext(
        rank=rank, agents=4, run=run, seed=3, base=".", rewards=drawn, instance=lambda: drawn
    )
    return world.arms(plan.spec.arms, context)


CALLS = st.lists(st.tuples(st.booleans(), st.sampled_from([(0,), (1,), (0, 1), (1, 0)]),
                           st.integers(1, 4)), max_size=8)  # fmt: skip


@given(st.integers(0, 1), st.integers(0, 5), st.integers(0, 1), CALLS)
@example(0, 2, 0, [(True, (0, 1), 2), (True, (1, 0), 3), (True, (0,), 2)])
@example(1, 2, 0, [(False, (0,), 1)] * 4)
def test_one_reward_differs_however_rewards_are_used(side, place, rank, calls):
    """Arm 0 gives a half and arm 1 a quarter; at `place` arm 0 of agent 0 gives 1 or 0."""
    made, _ = arms(side, rank=rank, levels=(0.5, 0.25), arm=0, place=place)
    plain = [[0.5] * 40, [0.25] * 40]
    if rank == 0:
        plain[0][place] = (1.0, 0.0)[side]
    used = [0, 0]
    for summed, pulled, times in calls:
        rows = []
        for arm in pulled if summed else pulled[:1]:
            rows.append(plain[arm][used[arm] : used[arm] + times])
            used[arm] += times
        if summed:
            assert made.totals(pulled, times).tolist() == [sum(row) for row in rows]
        else:
            assert made.draw(pulled[0], times).tolist() == rows[0]
    everybody, _ = arms(side, rank=COORDINATOR, levels=(0.5, 0.25), arm=0, place=2)
    assert everybody.draw(0, 3)[2] == (1.0, 0.0)[side]


def run_on_level_arms(draw, horizon):
    own, _ = arms(0, levels=(0.5,), horizon=horizon)
    return sum(len(draw(own)) for _ in range(5_001))


def test_two_of_one_group_exchange_the_first_rewards_of_its_first_round():
    drawn = []
    for side in (0, 1):
        own, world = arms(side, rank=0, levels=(0.5,), grouped=True)
        world.reader = get_system("anonymous").make_reader(None, None)
        others = {rank: arms_of(world, rank) for rank in (2, 3)}
        # alone at first, then with 3 and 2: what comes after it in the group is 2
        world.hear(encode(Assign(1, 0, 1, ()), 0, COORDINATOR, 0, 1.0, 0))
        assert own.draw(0, 2).tolist() == [0.5, 0.5]
        world.hear(encode(Assign(2, 1, 1, (3, 0, 2)), 0, COORDINATOR, 1, 1.0, 0))
        world.hear(encode(Assign(3, 1, 1, (0, 3, 2)), 0, COORDINATOR, 2, 1.0, 0))
        drawn.append([a.draw(1, 3).tolist() for a in (own, others[2], others[3])])
        assert own.draw(1, 1).tolist() == [0.5]
    assert drawn[0] == [[1, 0.5, 0.5], [0, 0.5, 0.5], [0.5] * 3]
    assert drawn[1] == [[0, 0.5, 0.5], [1, 0.5, 0.5], [0.5] * 3]


@examples(Path(__file__).with_name("neighbours.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
