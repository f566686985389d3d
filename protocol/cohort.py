"""Cohorts: the agents of one process, which may share arrays and decide together."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

SharedState = TypeVar("SharedState")


@dataclass(slots=True)
class Cohort:
    """The `size` agents of one run in one process: all in engine `memory`, one in `processes`.

    Agents share only the place where their numbers are kept, one row for each. NumPy takes as long
    for one row as for a hundred, so agents of one process decide together. No agent knows or
    decides anything by it that it would not know or decide alone.

    `taken` counts the machines made so far. A machine made anew gets a row of its own, as when a
    lying coordinator begins a run twice.
    """

    size: int = 1
    common: Any = None
    taken: int = 0
    kept: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], SharedState]) -> SharedState:
        """What is the same for all agents of a run, made when it is first asked for by name."""
        if name not in self.kept:
            self.kept[name] = make()
        same: SharedState = self.kept[name]
        return same

    def join(self, make: Callable[[int], SharedState]) -> SharedState:
        """The shared state; the first of every `size` callers makes it, with `size` rows."""
        if self.taken % self.size == 0:
            self.common = make(self.size)
        self.taken += 1
        state: SharedState = self.common
        return state
