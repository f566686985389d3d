"""When to connect again where ZeroMQ does not.

libzmq 4.3.5 tries again after a lost connection (EVENT_CONNECT_RETRIED says so), and after a
handshake that was closed without a word, ten times a second. It never tries again after a wrong
answer: another program's, another mechanism's, a byte that was flipped, even when a connection was
up (`tests/wire/test_again.py`). So whoever connects follows its monitor here, and connects anew.
"""

from collections import Counter
from enum import Enum

import zmq

from posse.wire.sockets import HANDSHAKE_FAILURES, MonitorEvent

WATCHED = (
    zmq.EVENT_CONNECT_RETRIED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_DISCONNECTED
    | HANDSHAKE_FAILURES
)
"""Events of a monitor that `Again` must see."""

_FIRST, _DOUBLINGS = 0.2, 10
_SAYS_SO = 1.0
"""Seconds within which ZeroMQ says that it tries again; it does at once."""


class Became(Enum):
    """What became of a connection."""

    UP = 1
    LOST = 2
    """It was up."""
    NOT_LET_IN = 3
    """Its handshake failed; a wrong answer may be all that is known of it."""


class Again:
    """See the module's text. `longest`: seconds between attempts, at most.

    After a failed handshake the address is the caller's: it disconnects at once, and connects again
    when `due` says so. Until then `follow` ignores its events, which are of the connection that was
    let go, so they are all to be read before `due` is asked. Times are in seconds of one clock.
    """

    def __init__(self, longest: float) -> None:
        self.failures = Counter[str]()
        """Failed handshakes in a row, by address."""
        self._longest = longest
        self._up: set[str] = set()
        self._due: dict[str, float] = {}
        self._ours: set[str] = set()
        """Addresses to which ZeroMQ was told to stop connecting."""

    def follow(self, event: MonitorEvent, now: float) -> Became | None:
        """Take an event of the monitor; what it means for the connection, if anything."""
        address = event.address
        if address in self._ours:
            return None  # of the connection that the caller let go: it may have come up meanwhile
        match event.kind:
            case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.forget(address)
                self._up.add(address)
                return Became.UP
            case zmq.EVENT_CONNECT_RETRIED:
                self._due.pop(address, None)
            case zmq.EVENT_DISCONNECTED if address in self._up:
                self._up.remove(address)
                self._due[address] = now + _SAYS_SO
                return Became.LOST
            case zmq.EVENT_DISCONNECTED:
                self.failures[address] += 1
                doublings = min(self.failures[address] - 1, _DOUBLINGS)
                self._due[address] = now + min(_FIRST * 2**doublings, self._longest)
                self._ours.add(address)
                return Became.NOT_LET_IN
            case _:
                pass
        return None

    def due(self, now: float) -> list[str]:
        """The addresses to connect to now, once each."""
        due = [address for address, when in self._due.items() if now >= when]
        for address in due:
            del self._due[address]
            self._ours.discard(address)
        return due

    def forget(self, address: str) -> None:
        """Nothing is known of this address, and it is not to be connected to again."""
        self._due.pop(address, None)
        self._ours.discard(address)
        self._up.discard(address)
        del self.failures[address]
