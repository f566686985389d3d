"""The virtual clock at an agent: it says when it will act, and acts when it is told to."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
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


def test_a_pull_is_told_when_its_last_activation_is_due() -> None:
    run = Run(script(Pull((0, 1), 3), Finish("done")))
    paced = pace(run)
    when = due(run)
    paced.advance(when)
    event, now = run.told[-1]
    assert isinstance(event, Pulled)
    assert (now, event.sums.tolist()) == (when, [3, 6])
    assert run.account.pulls.tolist() == [3, 3]
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


def test_a_message_cuts_what_was_planned_and_nothing_is_lost() -> None:
    run = Run(script(Explore((0, 1)), None, None), acts_at=1_000)
    paced = pace(run)
    when = due(run)
    paced.message(NEWS, when / 2)
    before = run.account.activations
    assert run.kinds == ["Started", "Observed", "Received"]
    assert 400 < before < 600
    assert due(run) == when  # what it goes on with is the same plan
    paced.advance(when)
    assert run.account.activations == 1_000
    observed = [event.rewards for event, _ in run.told if isinstance(event, Observed)]
    assert np.hstack(observed)[0].tolist() == list(range(1_000))


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


def test_what_was_done_until_the_end_is_counted_and_told_to_nobody() -> None:
    run = Run(script(Explore((0, 1))), acts_at=1_000)
    paced = pace(run)
    paced.stop(due(run) / 4)
    assert 150 < run.account.activations < 350
    assert run.kinds == ["Started"]
    assert not paced.under_way


def test_time_does_not_go_back_at_the_end() -> None:
    run = Run(script(Explore((0, 1)), None), acts_at=1_000)
    paced = pace(run)
    paced.message(NEWS, due(run) / 2)
    done = run.account.activations
    paced.stop(0.0)
    assert run.account.activations == done


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
