"""What a test can read of processes and links, and do to them, whoever started them."""

import asyncio
import math
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from posse.durable.frames import COORDINATOR, Frame, select
from posse.errors import InputError, PosseError
from posse.spec.runfile import RunSpec
from posse.wire.relay import Fault, Relays

_LOOK = 0.01

LinkEnds = tuple[int | None, int | None]
"""Sender and target of a frame, each a rank or `COORDINATOR`; None matches any."""


class Controlled(ABC):
    """Processes that a test can kill, links that it can cut, and frames that it can read."""

    _failure: PosseError | None = None

    @property
    @abstractmethod
    def spec(self) -> RunSpec:
        """The specification that is run."""

    @property
    @abstractmethod
    def pids(self) -> dict[int, int]:
        """The process id of each member that was started here and is up, by rank."""

    def logs(self) -> dict[str, str]:
        """By member, what it logged so far, where that is kept."""
        return {}

    @abstractmethod
    def linked(self, a: int, b: int) -> bool:
        """Whether these two agents may have a link with each other that can be cut."""

    @abstractmethod
    async def restart(self, rank: int) -> None:
        """Kill a member's process, if it is up, and start it again."""

    @abstractmethod
    def _look(self) -> Sequence[Frame]:
        """All frames so far; after the end, those read until then."""

    @abstractmethod
    def _require_links(self) -> Relays:
        """The relays; an error where there are none."""

    @abstractmethod
    def _require_processes(self) -> None:
        """Raise an error where there are none."""

    @abstractmethod
    def _require_end(self, end: int) -> None:
        """Raise an error if this end of a link was not started here."""

    # --- what was said ---------------------------------------------------------------------------

    def messages(
        self,
        *,
        link: LinkEnds | None = None,
        plane: str | None = None,
        kind: str | None = None,
        run: int | None = None,
        again: bool = False,
    ) -> list[Frame]:
        """The messages sent so far over this link, plane, kind and run; oldest first.

        Runs are counted from 0 over the cluster's life; messages of joining have run 0, too.
        `again` adds frames that were sent again. `plane="session"` gives bare confirmations.
        """
        return [
            frame
            for frame in select(self._look(), link=link, plane=plane, kind=kind, run=run)
            if (again or not frame.resent) and (frame.plane != "session" or plane == "session")
        ]

    def bytes(self, link: LinkEnds | None = None) -> int:
        """The bytes given to ZeroMQ so far for this link, with envelopes and retransmissions."""
        return sum(frame.size for frame in select(self._look(), link=link))

    async def wait_for(self, count: int, *, timeout: float = 60.0, **which: Any) -> list[Frame]:
        """Wait until there are `count` such `messages`; `TimeoutError` after `timeout` seconds.

        If a run fails in the meantime, its error is raised.
        """
        deadline, before = time.monotonic() + timeout, self._failure
        while len(messages := self.messages(**which)) < count:
            if self._failure is not None and self._failure is not before:
                raise self._failure
            if time.monotonic() > deadline:
                asked = ", ".join(f"{name} {value}" for name, value in which.items())
                raise TimeoutError(
                    f"{len(messages)} of {count} messages ({asked or 'any'}) in {timeout:g} s"
                )
            await asyncio.sleep(_LOOK)
        return messages

    # --- processes -------------------------------------------------------------------------------

    def kill(self, rank: int) -> None:
        """Kill a member's process, as `kill -9` does."""
        tell(self._pid(rank), signal.SIGKILL)

    def pause(self, rank: int) -> None:
        """Stop a member's process, with its sockets (SIGSTOP)."""
        tell(self._pid(rank), signal.SIGSTOP)

    def resume(self, rank: int) -> None:
        """Let a paused member's process continue."""
        tell(self._pid(rank), signal.SIGCONT)

    def _pid(self, rank: int) -> int:
        self._require_processes()
        if rank not in self.pids:
            up = ", ".join(map(str, self.pids)) or "none"
            raise InputError(f"agent {rank} has no process here; those that have one: {up}")
        return self.pids[rank]

    # --- links -----------------------------------------------------------------------------------

    def cut(self, a: int, b: int) -> None:
        """Reset the link's connections, and block new ones until it is healed."""
        self._relays_of(a, b).change(a, b, cut=True)

    def delay(self, a: int, b: int, seconds: float) -> None:
        """Delay every frame of the link by `seconds`, in each direction."""
        if not 0 <= seconds < math.inf:
            raise InputError(f"a delay of {seconds} s: it must be a number of seconds from 0")
        self._relays_of(a, b).change(a, b, delay=seconds)

    def drop(self, a: int, b: int, share: float) -> None:
        """Lose this share of the link's frames, at random but with the same seed each time.

        ZeroMQ's own frames are never lost, nor are those by which an agent joins its coordinator.
        """
        if not 0 <= share <= 1:
            raise InputError(f"a share of {share} to drop: it must be between 0 and 1")
        self._relays_of(a, b).change(a, b, share=share)

    def jitter(self, a: int, b: int, seconds: float) -> None:
        """Delay every frame of the link by this on average, more or less; they stay in order."""
        self._change(a, b, "jitter", seconds, seconds >= 0)

    def bandwidth(self, a: int, b: int, size: float) -> None:
        """Let this many bytes through in a second, in each direction; 0 for all there are."""
        self._change(a, b, "bandwidth", size, size >= 0)

    def duplicate(self, a: int, b: int, share: float) -> None:
        """Send this share of the link's frames twice; see `drop`."""
        self._change(a, b, "twice", share, 0 <= share <= 1)

    def reorder(self, a: int, b: int, share: float) -> None:
        """Let this share of the link's frames come after the next one; see `drop`."""
        self._change(a, b, "behind", share, 0 <= share <= 1)

    def silence(self, a: int, b: int, *, one_way: bool = False) -> None:
        """Let nothing through, and tell nobody; `one_way`: nothing from `a` to `b`.

        What was sent meanwhile arrives when the link is healed, unless an end gave the connection
        up.
        """
        self._relays_of(a, b).change(a, b, silent=frozenset({a} if one_way else {a, b}))

    def _change(self, a: int, b: int, name: str, value: float, lawful: bool) -> None:
        if not lawful or not math.isfinite(value):
            raise InputError(f"{name} {value}: it must be from 0, and a share at most 1")
        self._relays_of(a, b).change(a, b, **{name: value})

    def mend(self, a: int, b: int, *names: str) -> None:
        """Remove the faults of one link: all, or those of these names."""
        faults = {name: value for name, value in Fault.NONE.items() if not names or name in names}
        self._relays_of(a, b).change(a, b, **faults)

    def heal(self) -> None:
        """Remove all faults of all links."""
        self._require_links().heal()

    def _relays_of(self, a: int, b: int) -> Relays:
        """The relays, if they serve a link between these two."""
        relays = self._require_links()
        for end in {a, b} - {COORDINATOR}:
            self._require_end(end)
        if a == b or not (COORDINATOR in (a, b) or self.linked(a, b)):
            raise InputError(f"{self.spec.system} has no link between {a} and {b} here")
        return relays


def tell(pid: int, what: signal.Signals) -> None:
    """Send a signal to a process, if it is still there."""
    with suppress(ProcessLookupError):  # the process is gone, which its engine notices soon
        os.kill(pid, what)
