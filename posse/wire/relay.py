"""A relay between the two ends of a link, which can cut, delay or lose frames.

It serves tests, and runs whose run file declares a network.

A relay is a TCP address given to one end in place of the other's. It forwards whole frames of
ZeroMQ's protocol (ZMTP 3: a greeting of 64 bytes, then frames of flags, size and body), so that it
can lose a frame and keep the connection.
"""

import asyncio
import random
import socket
import struct
import threading
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections.abc import Coroutine
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from posse.spec.network import IDEAL, Conditions, LinkConditions, lateness

_GREETING = 64
_LONG, _COMMAND = 0x02, 0x04
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing drops unsent data and resets the connection
_NUMBERED = (b"pn", b"pt")
"""The first bytes of frames that are kept until confirmed; frames of joining are not."""
_DEADLINE = 10.0


class RelayedAt(NamedTuple):
    """When the last frame of a direction arrives, and when the line is free again."""

    here: float = 0.0
    free: float = 0.0


class Fault:
    """The faults of a link between two ends, in both directions.

    `delay` and `jitter` in seconds, `bandwidth` in bytes per second (0: as much as there is);
    `share`, `twice`, `behind`: the shares of frames that are lost, that come twice, and that come
    after the next one. `conditions`: what the link has where there is no fault.
    """

    NONE: Final = MappingProxyType(
        {
            "cut": False,
            "delay": 0.0,
            "jitter": 0.0,
            "bandwidth": 0.0,
            "share": 0.0,
            "twice": 0.0,
            "behind": 0.0,
            "silent": frozenset[int](),
        }
    )
    """What each fault is where there is none."""

    def __init__(self, a: int, b: int, conditions: LinkConditions = IDEAL) -> None:
        self.cut = False
        self.delay = self.jitter = self.bandwidth = self.share = self.twice = self.behind = 0.0
        self.silent: frozenset[int] = frozenset()
        """From which ends nothing comes through, though nobody is told so."""
        self.passing = {a: asyncio.Event(), b: asyncio.Event()}
        self.conditions = conditions
        self.whole = asyncio.Event()
        self.whole.set()
        self.settle()
        self.open: set[StreamWriter] = set()
        self._random = random.Random(f"{min(a, b)} {max(a, b)}")

    def times(self, flags: int, body: bytes) -> int:
        """How often this frame comes; ZeroMQ's own come once."""
        if flags & _COMMAND or not body.startswith(_NUMBERED):
            return 1
        if self.share and self._random.random() < self.share:
            return 0
        return 2 if self.twice and self._random.random() < self.twice else 1

    def holds(self, flags: int, body: bytes) -> bool:
        """Whether this frame comes after the next one."""
        numbered = not flags & _COMMAND and body.startswith(_NUMBERED)
        return numbered and self.behind > 0 and self._random.random() < self.behind

    def due(self, before: "RelayedAt", now: float, size: int) -> "RelayedAt":
        """When a frame that came now is here, and when the next may follow it."""
        link, chance = self.conditions, self._random
        free = max(before.free, now)
        free += sum(size / width for width in (link.bandwidth, self.bandwidth) if width)
        jitter = self.jitter or link.jitter or 0.0
        late = self.delay + lateness(link.delay or 0.0, jitter, link.loss or 0.0, chance)
        return RelayedAt(max(before.here, free + late), free)

    def settle(self) -> None:
        """Apply `silent` and `cut`: reset all connections of a link that is cut."""
        for end, passing in self.passing.items():
            if end in self.silent:
                passing.clear()
            else:
                passing.set()
        if not self.cut:
            self.whole.set()
            return
        self.whole.clear()
        for writer in self.open:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()


class Relays:
    """The relays of one cluster, in a thread of their own; `way` makes one on demand.

    The ends of a link are two ranks, or a rank and `COORDINATOR`.
    """

    def __init__(self, declared: Conditions = lambda a, b: IDEAL) -> None:
        self._declared = declared
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relays", daemon=True)
        self._thread.start()
        self._addresses: dict[tuple[int, int, str], str] = {}
        self._faults: dict[frozenset[int], Fault] = {}
        self._listeners: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def way(self, who: int, whom: int, address: str) -> str:
        """See `posse.coordinator.setups.Way`."""
        key = (who, whom, address)
        if key not in self._addresses:
            self._addresses[key] = self._do(self._listen(who, whom, address))
        return self._addresses[key]

    def change(self, a: int, b: int, **faults: Any) -> None:
        """Change the faults of a link: attributes of its `Fault`."""

        async def change() -> None:
            fault = self._fault(a, b)
            for name, value in faults.items():
                setattr(fault, name, value)
            fault.settle()

        self._do(change())

    def declare(self, conditions: Conditions) -> None:
        """From now on links have these conditions."""

        async def declare() -> None:
            self._declared = conditions
            for (a, b), fault in [(sorted(ends), f) for ends, f in self._faults.items()]:
                fault.conditions = conditions(a, b)

        self._do(declare())

    def heal(self) -> None:
        """Remove the faults of all links."""
        for a, b in list(self._faults):
            self.change(a, b, **Fault.NONE)

    def close(self) -> None:
        """Close every connection, and stop accepting."""

        async def close() -> None:
            for listener in self._listeners:
                self._loop.remove_reader(listener)
                listener.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)  # lets aborted connections finish closing

        self._do(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_DEADLINE)
        self._loop.close()

    def _do(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(_DEADLINE)

    def _fault(self, a: int, b: int) -> Fault:
        ends = frozenset((a, b))
        if ends not in self._faults:
            self._faults[ends] = Fault(a, b, self._declared(a, b))
        return self._faults[ends]

    async def _listen(self, who: int, whom: int, address: str) -> str:
        fault = self._fault(who, whom)

        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)

        # a server of asyncio's drops a connection that is between accepted and handed on at its end
        def accept() -> None:
            try:
                near, _ = listener.accept()
            except OSError:  # it went while it waited
                return
            task = self._loop.create_task(_carry(fault, address, near, who, whom))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: near.close())

        self._loop.add_reader(listener, accept)
        self._listeners.append(listener)
        return f"tcp://127.0.0.1:{listener.getsockname()[1]}"


async def _carry(fault: Fault, address: str, near: socket.socket, who: int, whom: int) -> None:
    """Carry one connection from its beginning to its end; hold it while the link is cut."""
    ends: list[StreamWriter] = []
    try:
        await fault.whole.wait()
        host, port = address.removeprefix("tcp://").rsplit(":", 1)
        back, on = await asyncio.open_connection(host, int(port))
        ends.append(on)
        reader, writer = await asyncio.open_connection(sock=near)
        ends.append(writer)
        fault.open.update(ends)
        await asyncio.gather(_pass_on(fault, reader, on, who), _pass_on(fault, back, writer, whom))
    except OSError:
        pass  # nobody is there
    finally:
        fault.open.difference_update(ends)
        for end in ends:
            end.transport.abort()


async def _pass_on(fault: Fault, reader: StreamReader, writer: StreamWriter, source: int) -> None:
    """Forward one direction of a connection; at its end, deliver everything under way first."""
    now = asyncio.get_running_loop().time
    line: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    delivery = asyncio.create_task(_deliver(line, writer))
    due = RelayedAt()
    held = b""
    try:
        greeting = _GREETING
        await fault.passing[source].wait()
        while greeting and (part := await reader.read(greeting)):  # each end waits for the other's
            greeting -= len(part)
            line.put_nowait((due.here, part))
        while True:
            head = await reader.readexactly(1)
            size = await reader.readexactly(8 if head[0] & _LONG else 1)
            body = await reader.readexactly(int.from_bytes(size, "big"))
            await fault.passing[source].wait()
            if not held and fault.holds(head[0], body):
                held = head + size + body
                continue
            for _ in range(fault.times(head[0], body)):
                due = fault.due(due, now(), len(body))
                line.put_nowait((due.here, head + size + body + held))
                held = b""
    except (OSError, IncompleteReadError):
        line.put_nowait((due.here, b""))
        await delivery
    finally:
        delivery.cancel()


async def _deliver(line: asyncio.Queue[tuple[float, bytes]], writer: StreamWriter) -> None:
    """Write data when it is due; empty data closes the connection."""
    now = asyncio.get_running_loop().time
    while not writer.is_closing():
        due, data = await line.get()
        if due > now():
            await asyncio.sleep(due - now())
        if not data:
            writer.close()
        elif not writer.is_closing():
            writer.write(data)
