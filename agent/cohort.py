"""The agents of one process, who may keep what they know in common arrays and decide together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Made = TypeVar("Made")


@dataclass(slots=True)
class Cohort:
    """`size` agents of one run in one process: one where each has its own, all in memory.

    What they have in common is only where their numbers are kept, one row for each: nobody knows
    or decides anything by it that it would not know or decide alone. `taken` counts machines: one
    that is made anew, as where a coordinator that lies begins a run twice, has a row of its own.
    """

    size: int = 1
    common: Any = None
    taken: int = 0

    def of(self, make: Callable[[int], Made]) -> Made:
        """What they have in common; the first of every `size` makes it for as many rows."""
        if self.taken % self.size == 0:
            self.common = make(self.size)
        self.taken += 1
        made: Made = self.common
        return made
