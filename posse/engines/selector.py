"""Sockets that a loop listens to."""

from collections.abc import Callable

import zmq


class Selector:
    """The sockets and file descriptors that a loop listens to, each with its handler."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._handlers: dict[zmq.Socket[bytes] | int, Callable[[], None]] = {}

    def watch(self, source: zmq.Socket[bytes] | int, handler: Callable[[], None]) -> None:
        """Call `handler` from `wait` whenever `source` has something, or is at its end."""
        self._poller.register(source, zmq.POLLIN | (zmq.POLLERR if isinstance(source, int) else 0))
        self._handlers[source] = handler

    def forget(self, source: zmq.Socket[bytes] | int) -> None:
        """Stop listening to `source`."""
        self._poller.unregister(source)
        del self._handlers[source]

    def wait(self, milliseconds: int | None) -> None:
        """Handle sources that are ready, or become ready within this time (None: for ever)."""
        for source, _ in self._poller.poll(milliseconds):
            if (handler := self._handlers.get(source)) is not None:
                handler()
