"""A way for TCP connections that can be cut: what is under way is lost, as at a reset."""

import math
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

_Pair = tuple[socket.socket, socket.socket]

_BYTES = 1 << 16
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a close loses what was not sent yet, and says so


class Relay:
    """Passes on what comes at `endpoint`, a tcp address, to `target`, another.

    `lasts`: the first connections are cut after this many bytes from who connected.
    """

    def __init__(self, target: str, lasts: Iterable[float] = ()) -> None:
        self._lasts = iter(lasts)
        host, port = target.removeprefix("tcp://").split(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[_Pair] = []
        self._lock = threading.Lock()
        self._interrupted = False
        self.cuts = 0
        self.carried: dict[str, list[bytearray]] = {"there": [], "back": []}
        """What came of each connection, by the way it took."""
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def cut(self) -> None:
        """Reset every connection; whoever connects again is let through."""
        with self._lock:
            for pair in list(self._open):
                self._end(pair, reset=True)

    def interrupt(self) -> None:
        """Cut, and accept and close at once whoever connects, until `restore`."""
        self._interrupted = True
        self.cut()

    def restore(self) -> None:
        """Let connections through again."""
        self._interrupted = False

    def close(self) -> None:
        """Close all, and accept nobody any more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for pair in list(self._open):
                self._end(pair, reset=False)
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = None
            with suppress(OSError):
                if not self._interrupted:
                    far = socket.create_connection(self._target, timeout=10)
            if far is None:
                near.close()
                continue
            far.settimeout(None)
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.append((near, far))
            for way, left in (("there", next(self._lasts, math.inf)), ("back", math.inf)):
                self._start(self._pass_on, (near, far), way, left)

    def _pass_on(self, pair: _Pair, way: str, left: float) -> None:
        source, sink = pair if way == "there" else reversed(pair)
        self.carried[way].append(kept := bytearray())
        with suppress(OSError):
            while data := source.recv(_BYTES):
                left -= len(data)
                if left < 0:
                    break
                kept += data
                sink.sendall(data)
        with self._lock:
            self._end(pair, reset=left < 0)

    def _end(self, pair: _Pair, *, reset: bool) -> None:
        if pair not in self._open:
            return
        self._open.remove(pair)
        self.cuts += reset
        for end in pair:
            with suppress(OSError):
                if reset:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def relay(target: str, lasts: Iterable[float] = ()) -> Iterator[Relay]:
    """A relay, closed at the end."""
    way = Relay(target, lasts)
    try:
        yield way
    finally:
        way.close()
