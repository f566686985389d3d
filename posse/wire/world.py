"""What a process asks of the world: sockets, clocks, chance, arms, its disk, its memory.

Coordinator, agents and everything under their links ask here and nowhere else, so that a simulated
world (`posse.engines.simulated`) can stand in for this machine. What is asked for each frame costs
no more than before: sockets are ZeroMQ's own, and clocks are Python's own functions.
"""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import zmq

from posse.agent.noise import Noise
from posse.arms import Arms, ArmsContext, ArmsSpec
from posse.durable.disk import DISK, Disk
from posse.security.noise import FieldNoise
from posse.wire.sockets import end


class World:
    """This machine. All times are in seconds, except those in `_ns`."""

    disk: Disk = DISK
    monotonic: Callable[[], float] = staticmethod(time.monotonic)
    monotonic_ns: Callable[[], int] = staticmethod(time.monotonic_ns)
    wall: Callable[[], float] = staticmethod(time.time)
    process_time: Callable[[], float] = staticmethod(time.process_time)
    sleep: Callable[[float], object] = staticmethod(time.sleep)
    randbits: Callable[[int], int] = staticmethod(secrets.randbits)
    token_bytes: Callable[[int], bytes] = staticmethod(secrets.token_bytes)
    end: Callable[[zmq.Context[zmq.Socket[bytes]]], object] = staticmethod(end)

    def context(self, *, many: bool = False) -> zmq.Context[zmq.Socket[bytes]]:
        """A ZeroMQ context; `many`: many processes share this one's core."""
        made: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        if many:
            # ZeroMQ's thread then does not interrupt the process for each frame, but sends all
            # frames of a slot in one turn; where few share a core that would only cost waiting
            made.set(zmq.THREAD_SCHED_POLICY, os.SCHED_BATCH)
        return made

    def poller(self) -> zmq.Poller:
        """A poller of sockets and file descriptors."""
        return zmq.Poller()

    def watchman(self, name: str, watch: Callable[[], None]) -> None:
        """Let a thread watch what peers send while the process is busy."""
        threading.Thread(target=watch, name=name, daemon=True).start()

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

    def memory(self) -> tuple[int, int]:
        """This process's memory in bytes: its peak, and with what it shares in proportion (Pss)."""
        import resource  # noqa: PLC0415  (Windows has none)

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with suppress(OSError), open("/proc/self/smaps_rollup") as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return peak, int(line.split()[1]) * 1024
        return peak, peak

    def noise(self) -> Noise:
        """The field's noise."""
        return FieldNoise()

    def arms(self, spec: ArmsSpec, context: ArmsContext) -> Arms:
        """An agent's arms."""
        return spec.build(context)


HERE = World()
