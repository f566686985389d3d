"""Orders that are carried out at once, by the clocks `slots` and `wall`."""

import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.clocks.immediate import SAY_EVERY, ImmediatePace, SlotPace, WallPace
from posse.protocol.control import SlotReached
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    Explore,
    Finish,
    Observed,
    Pull,
    Pulled,
    Received,
)
from posse_systems.rio2023.messages import Eliminated
from tests.support.paced import Run, buffer, script

NEWS = Received(1, Eliminated((1,)))


class Clock:
    """Nanoseconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> int:
        return round(self.seconds * 1e9)


def pace(kind: str, run: Run, limit: int | None = None) -> ImmediatePace:
    if kind == "slots":
        return SlotPace(run, buffer(limit))
    return WallPace(run, buffer(limit), Clock(), says=False)


BOTH = pytest.mark.parametrize("kind", ["slots", "wall"])


@BOTH
@given(st.sampled_from([(0,), (1,), (0, 1), (1, 0)]), st.integers(1, 50))
@example((0, 1), 3)
def test_a_pull_is_one_step_and_one_event(kind: str, arms: tuple[int, ...], times: int) -> None:
    run = Run(script(Pull(arms, times), Finish("done")))
    paced = pace(kind, run)
    paced.start()
    paced.step()
    (_, (event, now)) = run.told
    assert isinstance(event, Pulled)
    assert event.sums.tolist() == [sum(range(arm, arm + times)) for arm in arms]
    assert now == (len(arms) * times if kind == "slots" else 0.0)
    assert run.account.pulls.tolist() == [times * (arm in arms) for arm in (0, 1)]
    assert not paced.order
    assert not paced.under_way
    paced.message(NEWS, 0.0)
    assert run.kinds == ["Started", "Pulled"]


@BOTH
@given(st.integers(1, 300))
@example(100)
def test_an_explorer_observes_up_to_where_it_acts(kind: str, at: int) -> None:
    run = Run(script(Explore((0, 1)), *[None] * 9), acts_at=at)
    paced = pace(kind, run)
    paced.start()
    while run.account.activations < at:
        paced.step()
    seen = [event.rewards.shape[1] for event, _ in run.told[1:] if isinstance(event, Observed)]
    assert seen == [64] * (at // 64) + [at % 64] * (at % 64 > 0)
    if kind == "slots":
        assert paced.now == 2 * at  # of either arm


@BOTH
def test_a_new_order_replaces_the_one_under_way(kind: str) -> None:
    run = Run(script(Explore((0, 1)), Explore((0,)), None))
    paced = pace(kind, run)
    paced.start()
    paced.message(NEWS, 0.0)
    paced.step()
    (event, _) = run.told[-1]
    assert isinstance(event, Observed)
    assert event.arms == (0,)


@BOTH
@pytest.mark.parametrize("order", [Pull((0, 1), 6), Explore((0, 1))])
def test_rewards_that_are_used_up_end_the_agent(kind: str, order: Any) -> None:
    run = Run(script(order))
    paced = pace(kind, run, limit=5)
    paced.start()
    for _ in range(3):
        paced.step()
    assert run.shortage == (
        "arm 0 has 5 rewards left and 6 are needed"
        if isinstance(order, Pull)
        else "arm 0 has 0 rewards left and 1 are needed"
    )
    assert not paced.order
    assert not paced.under_way


@BOTH
def test_nobody_advances_these_clocks_from_outside(kind: str) -> None:
    paced = pace(kind, Run(script()))
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        paced.advance(1.0)


@BOTH
def test_nothing_happens_after_the_end(kind: str) -> None:
    run = Run(script(Pull((0,), 1)))
    paced = pace(kind, run)
    paced.start()
    paced.stop(9.0)
    paced.step()
    assert run.kinds == ["Started"]
    assert run.account.activations == 0


@given(st.integers(0, 3 * SAY_EVERY))
@example(2 * SAY_EVERY + 3)
def test_a_pull_is_a_slot_and_a_sign_of_life_is_given_now_and_then(steps: int) -> None:
    run = Run(lambda event: Pull((0,), 1))
    paced = SlotPace(run, buffer())
    paced.start()
    for _ in range(steps):
        paced.step()
    assert paced.now == steps
    assert run.said == [SlotReached()] * (steps // SAY_EVERY)


@given(st.lists(st.integers(0, 80), max_size=12))
@example([15, 34, 1, 40, 15])
def test_seconds_are_the_clocks_that_was_handed_in(tenths: list[int]) -> None:
    """It says so after five seconds, and again five seconds after it said so."""
    clock = Clock()
    run = Run(lambda event: Pull((0,), 1))
    paced = WallPace(run, buffer(), clock, says=True)
    paced.start()
    times, said, last = [], 0, 0
    for time in itertools.accumulate(tenths):
        clock.seconds = 100.0 + time / 10
        paced.step()
        times.append(time / 10)
        if time - last >= 50:
            said, last = said + 1, time
    assert [now for _, now in run.told[1:]] == pytest.approx(times)
    assert len(run.said) == said
    quiet = WallPace(run, buffer(), clock, says=False)
    clock.seconds = 1e6
    quiet.message(NEWS, 0.0)
    assert len(run.said) == said
