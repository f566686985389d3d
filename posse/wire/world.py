"""What a process asks of the world: sockets, clocks, chance, arms, its memory.

Coordinator, agents and everything under their links ask here and nowhere else (but for the disk,
`posse.gates.disk`), so that a simulated
world (`posse.engines.simulated`) can stand in for this machine. What is asked for each frame costs
no more than before: sockets are ZeroMQ's own, and clocks are Python's own functions.
"""

import copy
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec
import zmq

from posse.arms import Arms, ArmsContext, ArmsSpec
from posse.durable.scratch import Scratch
from posse.gates import files
from posse.log import LOG
from posse.protocol.noise import Noise
from posse.security.noise import FieldNoise
from posse.security.zap import Authenticator, ZapStatus
from posse.wire import lookup
from posse.wire.sockets import HIGH_WATER, end

_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""A new id each time that the machine boots (Linux)."""


_AFTER_A_DEFECT = 1.0
"""Seconds."""


_THREADS = 2
"""Of a ZeroMQ context: one for its sockets' frames, one that takes closed sockets down."""


def _require_threads() -> None:
    """`RuntimeError` if there is no room for ZeroMQ's threads, as it would abort the process."""
    done = threading.Event()
    threads = [threading.Thread(target=done.wait, daemon=True) for _ in range(_THREADS)]
    begun = []
    try:
        for thread in threads:
            thread.start()
            begun.append(thread)
    finally:
        done.set()
        for thread in begun:
            thread.join()


class ClockReading(msgspec.Struct, frozen=True):
    """What a process's clocks showed: `steady` in nanoseconds, `wall` in seconds.

    `ahead`: nanoseconds by which `steady` was ahead of its machine's clock since `boot`.
    """

    boot: str
    ahead: int
    steady: int
    wall: float


class World:
    """This machine. All times are in seconds, except those in `_ns`."""

    is_simulated = False
    """Whether sockets and processes take nothing of this machine's limits."""
    ahead: int = 0
    """Nanoseconds by which the steady clocks are ahead of the machine's."""
    monotonic: Callable[[], float] = staticmethod(time.monotonic)
    monotonic_ns: Callable[[], int] = staticmethod(time.monotonic_ns)
    wall: Callable[[], float] = staticmethod(time.time)
    process_time: Callable[[], float] = staticmethod(time.process_time)
    sleep: Callable[[float], object] = staticmethod(time.sleep)
    randbits: Callable[[int], int] = staticmethod(secrets.randbits)
    token_bytes: Callable[[int], bytes] = staticmethod(secrets.token_bytes)
    end: Callable[[zmq.Context[zmq.Socket[bytes]]], object] = staticmethod(end)

    @property
    def boot(self) -> str:
        """A name of the machine's start, since which its steady clocks count; "" if unknown."""
        return files.text(_BOOT).strip() if _BOOT.exists() else ""

    def read_clocks(self) -> ClockReading:
        """For a journal, whose process may be started again on another machine."""
        return ClockReading(self.boot, self.ahead, self.monotonic_ns(), self.wall())

    def after(self, before: ClockReading) -> "World":
        """This world, with steady clocks that continue those that were read before a restart.

        If the machine was started again, or is another one, the clock on the wall says how long
        that took; never do they go back behind what was read.
        """
        if before.boot and before.boot == self.boot:
            return self.ahead_by(before.ahead)
        passed = max(0, int((self.wall() - before.wall) * 1e9))
        return self.ahead_by(before.steady + passed - self.monotonic_ns())

    def ahead_by(self, nanoseconds: int) -> "World":
        """This world with steady clocks that are so far ahead."""
        return copy.copy(self)._set_ahead(nanoseconds) if nanoseconds else self

    def _set_ahead(self, nanoseconds: int) -> Self:
        steady, steady_ns = self.monotonic, self.monotonic_ns
        self.ahead = nanoseconds
        self.monotonic = lambda: steady() + nanoseconds * 1e-9
        self.monotonic_ns = lambda: steady_ns() + nanoseconds
        return self

    def context(self, *, many: bool = False) -> zmq.Context[zmq.Socket[bytes]]:
        """A ZeroMQ context; `many`: many processes share this one's core."""
        _require_threads()
        made: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        # a monitor's room too: at the end ZeroMQ tells of each lost connection, and waits for room
        # for ever where nobody reads any more
        made.setsockopt(zmq.RCVHWM, HIGH_WATER)
        if many:
            # ZeroMQ's thread then does not interrupt the process for each frame, but sends all
            # frames of a slot in one turn; where few share a core that would only cost waiting
            made.set(zmq.THREAD_SCHED_POLICY, os.SCHED_BATCH)
        return made

    def authenticate(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        decide: Callable[[str], ZapStatus],
        refused: Callable[[str, str], None],
    ) -> None:
        """Let a thread say which keys may connect to this context's server sockets."""
        Authenticator(context.socket(zmq.ROUTER), decide, refused).start()

    def poller(self) -> zmq.Poller:
        """A poller of sockets and file descriptors."""
        return zmq.Poller()

    def watchman(self, name: str, watch: Callable[[], None]) -> None:
        """Let a thread watch what peers send while the process is busy; no mistake ends it."""

        def keep_on() -> None:
            while True:
                try:
                    return watch()
                except Exception:
                    LOG.exception("the %s has a defect, and watches on", name)
                    time.sleep(_AFTER_A_DEFECT)

        threading.Thread(target=keep_on, name=name, daemon=True).start()

    def shut(self, descriptor: int, copy: socket.socket | None) -> None:
        """Shut a connection down under ZeroMQ, by our copy of its descriptor if there is one."""
        with suppress(OSError):
            if copy is not None:
                copy.shutdown(socket.SHUT_RDWR)
                return
            its_own = socket.socket(fileno=descriptor)
            try:
                its_own.shutdown(socket.SHUT_RDWR)
            finally:
                its_own.detach()

    def own_address(self, endpoint: str) -> str:
        """This machine's own address on the route to `endpoint`."""
        return lookup.own_address(endpoint)

    def owns(self, host: str) -> bool:
        """Whether this machine has this IP address."""
        return lookup.is_own(host)

    def why_silent(self, endpoint: str) -> str:
        """See `posse.wire.lookup`."""
        return lookup.why_silent(endpoint)

    def greets(self, endpoint: str) -> bool:
        """Whether ZeroMQ answers there."""
        return lookup.greets(endpoint)

    def closed_by_us(self, port: int) -> set[str]:
        """Hosts whose connections to this port this machine closed in the last minute."""
        return lookup.closed_by_us(port)

    def memory(self) -> tuple[int, int]:
        """This process's memory in bytes: its peak, and with what it shares in proportion (Pss)."""
        import resource  # noqa: PLC0415  (Windows has none)

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with suppress(OSError):
            for line in files.text(Path("/proc/self/smaps_rollup")).splitlines():
                if line.startswith("Pss:"):
                    return peak, int(line.split()[1]) * 1024
        return peak, peak

    def scratch(self) -> Scratch:
        """A new folder for this process's temporary files."""
        return Scratch()

    def noise(self) -> Noise:
        """The field's noise."""
        return FieldNoise()

    def arms(self, spec: ArmsSpec, context: ArmsContext) -> Arms:
        """An agent's arms."""
        return spec.build(context)


class SharedWorld(World):
    """This machine, for agents of one process that share a context; who made it ends it."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self._shared = context

    def context(self, *, many: bool = False) -> zmq.Context[zmq.Socket[bytes]]:
        return self._shared

    def end(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        """Leave the context to the process that made it."""


HERE = World()
