"""The agents of one process, who may keep what they know in common arrays and decide together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Made = TypeVar("Made")


@dataclass(slots=True)
class Cohort:
    """`size` agents of one run in one process: one where each has its own, all in memory.

    What they have in common is only where their numbers are kept, one row for each: nobody knows
    or decides anything by it that it would not know or decide alone.
    """

    size: int = 1
    common: Any = None

    def of(self, make: Callable[[int], Made]) -> Made:
        """What they have in common; the first makes it for `size` rows."""
        if self.common is None:
            self.common = make(self.size)
        made: Made = self.common
        return made
