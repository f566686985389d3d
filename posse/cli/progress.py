"""What a person sees while a run goes on."""

import argparse
import time
from types import TracebackType
from typing import Self

from rich.live import Live
from rich.text import Text

from posse.cli import volume
from posse.hosts.coordinator import CoordinatorHost
from posse.plan import Plan
from posse.results.record import RunRecord

_REFRESH = 0.1
_LOG_EVERY = 5.0


class Progress:
    """One line that moves on a terminal; elsewhere a plain line now and then, on standard error."""

    def __init__(self, plan: Plan, options: argparse.Namespace) -> None:
        self._console = console = volume.progress(options)
        self._verbose: bool = options.verbose
        self._spec = plan.spec
        self._says = plan.system.results.progress
        self._agents = plan.spec.agents.count if plan.spec.engine.kind == "memory" else 0
        self._done = 0
        self._terminal = console.is_terminal
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._next = 0.0
        self._began = time.monotonic()
        if not self._terminal:
            self._next = self._began + _LOG_EVERY

    def __enter__(self) -> Self:
        if self._terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._terminal:
            self._live.stop()

    def joined(self, agents: int) -> None:
        """An agent joined."""
        self._agents = agents
        self._show("")

    def record(self, record: RunRecord, *, before: bool = False) -> None:
        """A run is complete, or was already."""
        self._done += 1
        if self._verbose and not before:
            said = Text(f"run {record.run + 1} of {self._spec.repeat}: {record!r}")
            self._console.print(said, soft_wrap=True)

    def observe(self, host: CoordinatorHost) -> None:
        """A message arrived."""
        if time.monotonic() >= self._next:
            self._show(" · ".join(self._says(host.standing())))

    def _show(self, what: str) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (_REFRESH if self._terminal else _LOG_EVERY)
        run = f"run {min(self._done + 1, self._spec.repeat)}/{self._spec.repeat}"
        agents = f"agents up {self._agents}/{self._spec.agents.count}"
        line = " · ".join(part for part in (self._spec.system, run, agents, what) if part)
        if self._terminal:
            self._live.update(Text(line), refresh=True)
        else:
            self._console.print(Text(f"[{now - self._began:6.1f} s] {line}"), soft_wrap=True)
