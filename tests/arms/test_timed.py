"""The queue in front of arms in slots: orders, delays, and the turns that they take."""

import numpy as np

from posse.arms.changing import Timed
from posse.arms.timed import TimedBuffer
from posse.protocol.machine import Pull


def _buffer(delay: int) -> TimedBuffer:
    """Arm 0 pays in slots 0 to 3, arm 1 from slot 4 on."""
    jump = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 96)
    return TimedBuffer(Timed(lambda slots: jump[slots], delay, np.random.default_rng(1)), 2)


def test_without_delay_an_order_takes_its_own_turns() -> None:
    buffer = _buffer(0)
    pulled = buffer.pull(Pull((0, 1), 3, each=True))
    assert pulled.rewards is not None
    assert pulled.rewards.tolist() == [[1, 1, 0], [0, 0, 1]]
    assert buffer.waited == 0


def test_an_order_goes_on_until_its_rewards_have_come_and_the_rest_is_used_next() -> None:
    buffer = _buffer(3)
    assert buffer.pull(Pull((0,), 1)).sums.tolist() == [1]  # of slot 0, in slot 3
    assert buffer.waited == 3
    assert buffer.pull(Pull((0,), 2)).sums.tolist() == [2]  # of slots 1 and 2, in slots 4 and 5
    assert buffer.waited == 0
    assert buffer.pull(Pull((0, 1), 1)).sums.tolist() == [1, 1]  # of slots 3 and 7, in slot 10
    assert buffer.waited == 2  # turns after the one in the slots 6 and 7
    assert buffer.shortage((0, 1), 10**6) == ""


def test_an_explorer_sees_one_turn_and_uses_it() -> None:
    buffer = _buffer(2)
    assert not buffer.simulated
    seen = buffer.peek((0, 1), 1)
    assert (buffer.take((0, 1), 1) == seen).all()
    assert seen.tolist() == [[1], [0]]
    assert buffer.waited == 1
