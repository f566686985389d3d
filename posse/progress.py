"""One line that says how far long work is, and how long it may still take."""

import math
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from posse.coordinator.host import CoordinatorHost
from posse.plan import Plan

_LOOK = 0.1
"""Seconds between looks into a running run."""

_LONG = 300.0
"""From this many seconds on that are left, work is long."""


class Screen:
    """Where the line is shown. This base class shows nothing. `every`: seconds between updates.

    `hint`: a line for whom long work awaits.
    """

    every = math.inf
    hint = ""

    def show(self, line: str) -> None:
        """Show the line in place of the last one."""

    def say(self, line: str) -> None:
        """Show a line that stays."""

    def warn(self, line: str) -> None:
        """Show a line that stays, as a warning."""
        self.say(f"warning: {line}")

    def close(self) -> None:
        """End the moving line."""


class Notebook(Screen):
    """A moving line below the notebook's cell, shown only for work of more than two seconds."""

    every = 0.5

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._handle: Any = None

    def show(self, line: str) -> None:
        shown = {"text/plain": line}
        if self._handle is not None:
            self._handle.update(shown, raw=True)
        elif time.monotonic() - self._began > 2:
            from IPython.display import display  # noqa: PLC0415

            self._handle = display(shown, raw=True, display_id=True)

    def say(self, line: str) -> None:
        print(line)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)


def of_notebook() -> Screen:
    """The notebook's screen inside a notebook; elsewhere one that shows nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return Notebook() if hasattr(shell, "kernel") else Screen()


class Progress:
    """Counts `total` pieces of work as they end; a context in which the line moves.

    The line also moves while nothing ends: `name · 3 of 10 runs · what goes on · 2 min left`. The
    time left is said once the share `after` of the pieces is done, as unequal ones tell little.
    """

    def __init__(
        self, name: str, total: int, screen: Screen, unit: str = "runs", after: float = 0.0
    ) -> None:
        self._name = name
        self._total = total
        self._unit = unit
        self._after = after
        self._screen = screen
        self._before = self._done = self._failed = 0
        self._inside = ""
        self._share = 0.0
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self._screen.every < math.inf:
            self._ticker.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._ticker.is_alive():
            self._ticker.join()
        self._screen.close()

    def done(self, *, before: bool = False, failed: bool = False) -> None:
        """Count a piece that has ended, or that had ended `before` this process began."""
        self._before += before
        self._done += not before
        self._failed += failed
        self.inside("")

    def inside(self, what: str, share: float = 0.0) -> None:
        """Say what goes on in the current piece, and which share of it is done, if known."""
        self._inside, self._share = what, share

    @property
    def line(self) -> str:
        """The line as of now."""
        ended = self._before + self._done
        counted = f"{ended} of {self._total} {self._unit}" if self._total > 1 else ""
        before = f"{self._before} from before" if self._before else ""
        failed = f"{self._failed} failed" if self._failed else ""
        parts = (self._name, counted, before, failed, self._inside, self._left())
        return " · ".join(part for part in parts if part)

    def _left(self) -> str:
        seconds = self._seconds_left()
        return f"about {duration(seconds)} left" if seconds else ""

    def _seconds_left(self) -> float:
        """Seconds that are left by what was done until now; 0 where nobody knows."""
        done = self._done + self._share
        remaining = self._total - self._before - done
        if not done or remaining <= 0 or done < self._after * (done + remaining):
            return 0.0
        return (time.monotonic() - self._began) * remaining / done

    def _tick(self) -> None:
        hint = self._screen.hint
        while not self._ended.wait(self._pause()):
            if hint and self._seconds_left() > _LONG:
                self._screen.say(hint)
                hint = ""
            self._screen.show(self.line)

    def _pause(self) -> float:
        """Seconds until the next line. The longer the work, the rarer a line that stays."""
        if self._screen.every < 1:
            return self._screen.every
        return max(self._screen.every, 0.05 * (time.monotonic() - self._began))


class RunProgress(Progress):
    """Progress of the runs of a plan, looking into the run under way; so does `look` then."""

    def __init__(
        self,
        plan: Plan,
        screen: Screen,
        look: Callable[[CoordinatorHost], None] = lambda host: None,
    ) -> None:
        super().__init__(plan.spec.system, plan.spec.repeat, screen)
        self._agents = plan.spec.agents.count
        self._says = plan.system.results.says
        self._look = look
        self._look_at = 0.0

    def joined(self, agents: int) -> None:
        """Update the number of agents that have joined."""
        some = agents < self._agents
        self.inside(f"{agents} of {self._agents} agents have joined" if some else "")

    def observe(self, host: CoordinatorHost) -> None:
        """Look into the run when a message has arrived, at most every `_LOOK` seconds."""
        if (now := time.monotonic()) >= self._look_at:
            self._look_at = now + _LOOK
            standing = host.standing()
            self.inside(" · ".join(self._says(standing)), standing.share)
            self._look(host)


def duration(seconds: float) -> str:
    """Seconds in a unit that people read easily."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
