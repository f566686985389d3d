"""The clock `wall`: seconds, for which nobody waits."""

import math
from collections.abc import Callable

from posse.arms.buffer import RewardBuffer
from posse.clocks.immediate import ImmediatePace
from posse.clocks.pace import Paced
from protocol import control

_SAY_SECONDS = 5.0
"""Seconds between two signs of life: they follow from nothing but time."""


class WallPace(ImmediatePace):
    """Time is seconds since the run began, by `clock` in nanoseconds.

    `says`: whether the agent gives signs of life, as it must where nothing else tells the
    coordinator that it goes on.
    """

    def __init__(
        self, run: Paced, rewards: RewardBuffer, clock: Callable[[], int], says: bool
    ) -> None:
        super().__init__(run, rewards)
        self._clock = clock
        self._began = clock()
        self._say_at = _SAY_SECONDS if says else math.inf

    def _tick(self, pulls: int) -> None:
        self.now = (self._clock() - self._began) * 1e-9
        if self.now >= self._say_at:
            self._say_at = self.now + _SAY_SECONDS
            self._run.say(control.SlotReached())
