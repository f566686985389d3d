"""A way for TCP connections that can be cut: what is under way is lost, as at a reset."""

import contextlib
import math
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_Pair = tuple[socket.socket, socket.socket]

_BYTES = 1 << 16
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a close loses what was not sent yet, and says so


class Relay:
    """Passes on what comes at `endpoint`, a tcp address, to `target`, another.

    `lasts`: the first connections are cut after so many bytes from who connected.
    """

    def __init__(self, target: str, lasts: Iterable[float] = ()) -> None:
        self._lasts = iter(lasts)
        host, port = target.removeprefix("tcp://").split(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[_Pair] = []
        self._lock = threading.Lock()
        self._through = threading.Event()
        self._through.set()
        self.cuts = 0
        self.carried: dict[str, list[bytearray]] = {"there": [], "back": []}
        """What came of each connection, by the way it took."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """Reset every connection; whoever connects again is let through."""
        with self._lock:
            for pair in list(self._open):
                self._reset(*pair)

    def _reset(self, *ends: socket.socket) -> None:
        if any(end.fileno() >= 0 for end in ends):
            self.cuts += 1
            for end in ends:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._close(*ends)

    def _close(self, *ends: socket.socket) -> None:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open = [pair for pair in self._open if set(pair) != set(ends)]

    def interrupt(self) -> None:
        """Cut, and accept and close at once whoever connects, until `restore`."""
        self._through.clear()
        self.cut()

    def restore(self) -> None:
        """Let connections through again."""
        self._through.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._through.is_set():
                near.close()
                continue
            try:
                far = socket.create_connection(self._target, timeout=10)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.append((near, far))
            for name, pair, left in (
                ("there", (near, far), next(self._lasts, math.inf)),
                ("back", (far, near), math.inf),
            ):
                self.carried[name].append(kept := bytearray())
                thread = threading.Thread(
                    target=self._pass_on, args=(*pair, left, kept), daemon=True
                )
                self._threads.append(thread)
                thread.start()

    def _pass_on(
        self, source: socket.socket, sink: socket.socket, left: float, kept: bytearray
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_BYTES):
                left -= len(data)
                if left < 0:
                    break
                kept += data
                sink.sendall(data)
        with self._lock:
            (self._reset if left < 0 else self._close)(source, sink)

    def close(self) -> None:
        """Cut all, and accept nobody any more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        before = self.cuts
        self.cut()
        self.cuts = before  # the end is no fault
        for thread in self._threads:
            thread.join(10)


@contextmanager
def relay(target: str, lasts: Iterable[float] = ()) -> Iterator[Relay]:
    """A relay, closed at the end."""
    way = Relay(target, lasts)
    try:
        yield way
    finally:
        way.close()
