"""The queue in front of arms in slots: orders, delays, and the turns that they take."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from posse.arms.changing import Timed
from posse.arms.timed import TimedBuffer
from tests.support.conversations import examples


def _buffer(delay: int) -> TimedBuffer:
    """Arm 0 pays in slots 0 to 3, arm 1 from slot 4 on."""
    jump = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 96)
    return TimedBuffer(Timed(lambda slots: jump[slots], delay, np.random.default_rng(1)), 2)


@examples(Path(__file__).with_name("timed.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
