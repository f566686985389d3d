"""The virtual clock at an agent: it says when it will act, and acts when it is told to."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.clocks.virtual import Activity, VirtualPace
from posse.protocol.control import Due
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import Explore, Finish, Observed, Pull, Pulled, Received
from posse_systems.rio2023.messages import Eliminated
from tests.support.paced import Run, buffer, script

NEWS = Received(-1, Eliminated((1,)))


def pace(run: Run, limit: int | None = None, seed: int = 1) -> VirtualPace:
    made = VirtualPace(run, buffer(limit), Activity(0.5, np.random.default_rng(seed)))
    made.start()
    return made


def due(run: Run) -> float:
    """When the agent said last that it will act."""
    message = run.said[-1]
    assert isinstance(message, Due)
    return message.time


@given(st.integers(0, 99), st.sampled_from([(0,), (1,), (0, 1), (1, 0)]), st.integers(1, 40))
@example(1, (0, 1), 3)
def test_a_pull_is_told_when_its_last_activation_is_due(
    seed: int, arms: tuple[int, ...], times: int
) -> None:
    run = Run(script(Pull(arms, times), Finish("done")))
    paced = pace(run, seed=seed)
    when = due(run)
    paced.advance(when)
    event, now = run.told[-1]
    assert isinstance(event, Pulled)
    assert (now, event.sums.tolist()) == (when, [sum(range(k, k + times)) for k in arms])
    assert run.account.pulls.tolist() == [times * (arm in arms) for arm in (0, 1)]
    assert due(run) == math.inf
    assert not paced.under_way


def test_an_explorer_is_due_when_it_will_act() -> None:
    run = Run(script(Explore((0, 1)), Explore((0,))), acts_at=700)
    paced = pace(run)
    paced.advance(due(run))
    event, _ = run.told[-1]
    assert isinstance(event, Observed)
    assert event.rewards.shape == (2, 700)
    # 700 activations at rate 1/2, within five standard deviations
    assert paced.now == pytest.approx(1400, abs=5 * 2 * math.sqrt(700))


@settings(max_examples=15)
@given(st.integers(0, 99), st.integers(1, 300), st.lists(st.floats(0, 1), max_size=5))
@example(1, 1_000, [0.5])
def test_a_message_cuts_what_was_planned_and_nothing_is_lost(
    seed: int, acts_at: int, cuts: list[float]
) -> None:
    run = Run(script(Explore((0, 1)), *[None] * 20), acts_at=acts_at)
    paced = pace(run, seed=seed)
    when = due(run)
    for cut in sorted(cuts):
        paced.message(NEWS, cut * when)
        if cut < 1:
            assert due(run) == when  # what it goes on with is the same plan
        assert run.kinds[-1] == "Received"
    paced.advance(when)
    assert run.account.activations == acts_at
    observed = [event.rewards for event, _ in run.told if isinstance(event, Observed)]
    assert np.hstack(observed)[0].tolist() == list(range(acts_at))
    if (seed, acts_at, cuts) == (1, 1_000, [0.5]):
        assert 400 < observed[0].shape[1] < 600


@given(st.floats(-1e6, -1e-3) | st.floats(1.001, 1e6))
def test_a_clock_that_leaps_over_an_agent_is_the_coordinators_fault(at: float) -> None:
    """A message from before, or from after the time at which the agent was to act."""
    run = Run(script(Pull((0, 1), 3)))
    paced = pace(run)
    when = due(run)
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        paced.message(NEWS, at * when)
    assert run.kinds == ["Started"]
    assert [type(said) for said in run.said] == [Due, Due]  # it was asked, and answers
    assert due(run) == when
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        paced.advance(0.5 * when)
    paced.advance(when)
    assert run.kinds == ["Started", "Pulled"]


def test_a_pull_that_was_begun_is_not_replaced() -> None:
    run = Run(script(Pull((0, 1), 1_000), Pull((0,), 1)))
    paced = pace(run)
    with pytest.raises(LocalProtocolError, match="must not be replaced"):
        paced.message(NEWS, due(run) * 0.9)


@given(st.integers(0, 99), st.floats(0, 0.9), st.floats(0, 0.9))
@example(1, 0.5, 0.0)
@example(1, 0.0, 0.25)
def test_what_was_done_until_the_end_is_counted_and_told_to_nobody_and_time_does_not_go_back(
    seed: int, heard: float, ends: float
) -> None:
    run = Run(script(Explore((0, 1)), None), acts_at=1_000)
    paced = pace(run, seed=seed)
    when = due(run)
    paced.message(NEWS, heard * when)
    done, kinds = run.account.activations, list(run.kinds)
    paced.stop(ends * when)
    # 1,000 activations are spread evenly: within five standard deviations
    assert abs(run.account.activations - 1_000 * max(heard, ends)) < 5 * math.sqrt(250)
    assert ends > heard or run.account.activations == done
    assert run.kinds == kinds
    assert not paced.under_way


@pytest.mark.parametrize("order", [Pull((0, 1), 6), Explore((0, 1))])
def test_an_order_that_the_rewards_do_not_suffice_for_ends_the_agent(order: Any) -> None:
    run = Run(script(order), acts_at=100)
    paced = pace(run, limit=5)
    if isinstance(order, Explore):  # what is there is explored first
        assert due(run) < math.inf
        paced.advance(due(run))
        assert run.account.activations == 5
    assert run.shortage.startswith("arm 0 has ")
    assert due(run) == math.inf
    assert not paced.under_way
    paced.message(NEWS, 1e9)
    assert run.kinds.count("Received") == 0
