"""A cluster whose processes and links a test can control."""

import asyncio
import math
import os
import signal
import tempfile
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posse import api, cluster
from posse.durable.capture import Capture
from posse.durable.frames import COORDINATOR, Frame, Reader, select
from posse.errors import InputError, PosseError
from posse.plan import Plan, Source, prepare
from posse.results.record import RunRecord
from posse.wire.relay import Fault, Relays

if TYPE_CHECKING:
    from posse.engines.processes import ProcessEngine

_LOOK = 0.01

LinkEnds = tuple[int | None, int | None]
"""Sender and target of a frame, each a rank or `COORDINATOR`; None matches any."""


class ControlledCluster(cluster.Cluster):
    """A `posse.Cluster` for tests: every frame is captured, and every link can be cut.

        async with ControlledCluster(spec) as cluster:
            run = asyncio.create_task(cluster.run())
            await cluster.wait_for(3, kind="Vote")
            cluster.cut(1, COORDINATOR)
            cluster.kill(2)
            cluster.heal()
            ...

    A link joins two ranks, or a rank and `COORDINATOR`; a fault affects both directions. Links are
    TCP on this machine, whatever the run file says. Agents that join `endpoint` from elsewhere have
    links of their own, without faults. With engine `memory` a test can only read messages.
    """

    def __init__(
        self, source: Source, *, spawn: int | None = None, bind: str | None = None
    ) -> None:
        plan = prepare(source)
        file, name = tempfile.mkstemp(prefix="posse-frames-")
        os.close(file)
        self._tap = Capture(Path(name), new=True)
        self._reader = Reader(self._tap.path)
        self._seen: list[Frame] = []
        self._failure: PosseError | None = None
        self._relays = (
            Relays(plan.spec.conditions(0)) if plan.spec.engine.kind == "processes" else None
        )
        self._done = weakref.finalize(self, _leave, self._tap, self._relays)
        self._spawned = range(plan.spec.agents.count if spawn is None else spawn)
        super().__init__(plan, spawn=spawn, bind=bind)

    def _processes(self, **options: Any) -> "ProcessEngine":
        assert self._relays is not None
        options["bind"] = options["bind"] or "tcp://127.0.0.1:*"
        return api.make_process_engine(
            self._plan, capture=self._tap, way=self._relays.way, **options
        )

    async def __aexit__(self, *error: object) -> None:
        if self._relays is not None:
            self.heal()
            for pid in self.pids.values():
                _tell(pid, signal.SIGCONT)
        await super().__aexit__(*error)
        self._look()
        self._done()

    def _one(self, plan: Plan, number: int) -> RunRecord:
        try:
            return super()._one(plan, number)
        except PosseError as error:
            self._failure = error
            raise

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
        while len(found := self.messages(**which)) < count:
            if self._failure is not None and self._failure is not before:
                raise self._failure
            if time.monotonic() > deadline:
                asked = ", ".join(f"{name} {value}" for name, value in which.items())
                raise TimeoutError(
                    f"{len(found)} of {count} messages ({asked or 'any'}) in {timeout:g} s"
                )
            await asyncio.sleep(_LOOK)
        return found

    def _look(self) -> Sequence[Frame]:
        """All frames so far; after the end, those read until then."""
        if self._done.alive:
            self._seen += self._reader.new()
        return self._seen

    # --- processes -------------------------------------------------------------------------------

    @property
    def meshed(self) -> bool:
        """Whether agents have links with each other."""
        return self._plan.system.wiring is not None

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each agent that was started here and is up, by rank."""
        return self._engine.pids() if self._engine is not None and self._done.alive else {}

    def kill(self, rank: int) -> None:
        """Kill an agent's process, as `kill -9` does."""
        _tell(self._pid(rank), signal.SIGKILL)

    def pause(self, rank: int) -> None:
        """Stop an agent's process, with its sockets (SIGSTOP)."""
        _tell(self._pid(rank), signal.SIGSTOP)

    def resume(self, rank: int) -> None:
        """Let a paused agent's process continue."""
        _tell(self._pid(rank), signal.SIGCONT)

    async def restart(self, rank: int) -> None:
        """Kill an agent's process, if it is up, and start it again for the runs to come.

        A run under way continues without the agent if it can, else it fails; this waits for its
        end.
        """
        self._require_up()
        if rank in self.pids:
            self.kill(rank)
        await self._await(partial(self._up_here().restart, rank))

    def _pid(self, rank: int) -> int:
        self._up_here()
        if rank not in self.pids:
            up = ", ".join(map(str, self.pids)) or "none"
            raise InputError(f"agent {rank} has no process here; those that have one: {up}")
        return self.pids[rank]

    def _up_here(self) -> "ProcessEngine":
        if not self._done.alive:
            self._require_up()
        if self._engine is None:
            raise InputError(
                "engine memory has no processes to kill and no links to cut: use "
                'engine.kind = "processes"'
            )
        return self._engine

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
        """Delay every frame of the link by so much on average, more or less; they stay in order."""
        self._change(a, b, "jitter", seconds, seconds >= 0)

    def bandwidth(self, a: int, b: int, size: float) -> None:
        """Let so many bytes through in a second, in each direction; 0 for as many as there are."""
        self._change(a, b, "bandwidth", size, size >= 0)

    def duplicate(self, a: int, b: int, share: float) -> None:
        """Send this share of the link's frames twice; see `drop`."""
        self._change(a, b, "twice", share, 0 <= share <= 1)

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
        self._up_here()
        assert self._relays is not None
        self._relays.heal()

    def _relays_of(self, a: int, b: int) -> Relays:
        """The relays, if they serve a link between these two."""
        self._up_here()
        assert self._relays is not None
        for end in (a, b):
            if end != COORDINATOR and end not in self._spawned:
                started = f"0 to {len(self._spawned) - 1}"
                raise InputError(f"agent {end} was not started here; those that were: {started}")
        if a == b or not (COORDINATOR in (a, b) or self.meshed):
            raise InputError(f"{self.spec.system} has no link between {a} and {b}")
        return self._relays


def _tell(pid: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # the process is gone, which the engine notices soon
        os.kill(pid, what)


def _leave(capture: Capture, relays: Relays | None) -> None:
    """Remove the relays and the capture."""
    if relays is not None:
        relays.close()
    capture.close()
    capture.path.unlink(missing_ok=True)
