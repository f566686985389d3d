"""The clock `slots`: one pull is one slot, and nobody waits but for messages."""

from posse.clocks.immediate import ImmediatePace
from protocol import control

SAY_EVERY = 50
"""Slots between two signs of life. With a thousand agents on two cores they take some 20 s."""


class SlotPace(ImmediatePace):
    """Time is how often the agent has pulled."""

    def _tick(self, pulls: int) -> None:
        if not pulls:
            return
        before = self.now // SAY_EVERY
        self.now += pulls
        if self.now // SAY_EVERY != before:
            self._run.say(control.SlotReached())
