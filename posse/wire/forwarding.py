"""What neighbours send an agent over the coordinator, because it accepts no connections.

Such an agent has `FORWARDED` for an inbox. Data for it are sealed from end to end by PyNaCl's Box
(X25519, XSalsa20, Poly1305) under the keys that both ends have for CURVE. They go over the sender's
link to the coordinator, and from there over the receiver's:

    offset  size
    0       2     magic, the bytes "pf"
    2       4     a rank: the receiver's towards the coordinator, the sender's from there
    6             24 bytes of nonce, and the box of: the run's name, both ranks, the data

The coordinator can lose, delay and repeat them, as a network can: the session between the two ends
asks again, and drops what came before. The run's name has a part of each agent's own, so nothing of
an earlier run, or of another direction, passes for new.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from zmq.utils import z85

from posse.errors import InputError, RunFailed
from posse.hosts.agent_setup import AgentSetup
from posse.protocol.wire import name_of
from posse.security.keys import KeyPair
from posse.wire.line import Transmit

FORWARD: Final = b"pf"
HEAD: Final = struct.Struct("<2si")
_NONCE = 24
_LACKS = (
    "an agent in this run accepts no connections (--inbox coordinator), and what goes to it is "
    'sealed by PyNaCl; run: pip install "posse-bandits[field]"'
)


class Forwarding:
    """One agent's boxes with its neighbours. `send` hands data to the link to the coordinator.

    `alone`: this agent itself accepts no connections.
    """

    def __init__(
        self, own: KeyPair, send: Transmit, randbytes: Callable[[int], bytes], *, alone: bool
    ) -> None:
        self.alone = alone
        self._own, self._send, self._randbytes = own, send, randbytes
        self._keys: Mapping[int, str] = {}
        self._rank, self._run = -1, b""
        self._boxes: dict[int, Any] = {}

    def know(self, setup: AgentSetup, rank: int) -> None:
        """Learn the neighbours' keys, and which run it is."""
        self._keys, self._run, self._rank = setup.keys, setup.signed_name, rank
        self._boxes.clear()

    def to(self, neighbour: int) -> Transmit:
        """Hands the coordinator data for this neighbour; what it does not take now is dropped."""
        box, randbytes = self._box(neighbour), self._randbytes
        head = HEAD.pack(FORWARD, neighbour)
        context = self._context(self._rank, neighbour)

        def transmit(data: bytes, flags: int = 0) -> None:
            self._send(head + box.encrypt(context + data, randbytes(_NONCE)))

        return transmit

    def opened(self, forwarded: bytes) -> tuple[int, bytes] | None:
        """The sender and the data; None unless a neighbour sealed them for this agent and run."""
        from nacl.exceptions import CryptoError  # noqa: PLC0415

        if (
            len(forwarded) < HEAD.size
            or (source := HEAD.unpack_from(forwarded)[1]) not in self._keys
        ):
            return None
        try:
            data: bytes = self._box(source).decrypt(forwarded[HEAD.size :])
        except (CryptoError, ValueError):
            return None
        context = self._context(source, self._rank)
        return (source, data[len(context) :]) if data.startswith(context) else None

    def _context(self, source: int, target: int) -> bytes:
        return self._run + name_of(source) + name_of(target)

    def _box(self, neighbour: int) -> Any:
        if neighbour not in self._boxes:
            try:
                from nacl.public import Box, PrivateKey, PublicKey  # noqa: PLC0415
            except ImportError:
                raise InputError(_LACKS) from None
            if neighbour not in self._keys:
                raise RunFailed(f"agent {neighbour} accepts no connections, and has no key")
            own, other = z85.decode(self._own.secret), z85.decode(self._keys[neighbour])
            self._boxes[neighbour] = Box(PrivateKey(own), PublicKey(other))
        return self._boxes[neighbour]
