"""What the kernel counted on TCP connections, where it tells (Linux)."""

import contextlib
import os
import socket
import struct

from posse.results.traffic import KernelBytes

_BYTES = struct.Struct("=QQ")
_OFFSET = 120
"""Where `struct tcp_info` has tcpi_bytes_acked and tcpi_bytes_received (linux/tcp.h, since 4.1)."""


class SocketBytes:
    """Bytes of the accepted connections: headers of ZeroMQ and all that it sends by itself too."""

    def __init__(self) -> None:
        self._sockets: dict[int, socket.socket] = {}
        self._gone = (0, 0)
        self._before = (0, 0)

    def accepted(self, fd: int) -> None:
        """A connection was accepted under this file descriptor."""
        with contextlib.suppress(OSError):
            self._sockets[fd] = socket.socket(fileno=os.dup(fd))

    def disconnected(self, fd: int) -> None:
        """ZeroMQ closed this connection. It is only closed for the peer when our copy is, too."""
        connection = self._sockets.pop(fd, None)
        if connection is not None:
            sent, received = _count(connection)
            self._gone = (self._gone[0] + sent, self._gone[1] + received)
            connection.close()

    def begin(self) -> None:
        """Count from here on."""
        self._before = self._totals()

    def counted(self) -> KernelBytes | None:
        """Bytes sent (and acknowledged) and received since `begin`; None where nobody tells."""
        sent, received = self._totals()
        if not received:
            return None
        return KernelBytes(sent - self._before[0], received - self._before[1])

    def close(self) -> None:
        """Give the file descriptors back."""
        for connection in self._sockets.values():
            connection.close()
        self._sockets.clear()

    def _totals(self) -> tuple[int, int]:
        counts = [self._gone, *map(_count, self._sockets.values())]
        return sum(sent for sent, _ in counts), sum(received for _, received in counts)


def _count(connection: socket.socket) -> tuple[int, int]:
    """Bytes sent and received on one connection."""
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _OFFSET + _BYTES.size)
        sent, received = _BYTES.unpack_from(info, _OFFSET)
    except (OSError, struct.error, AttributeError):
        return 0, 0
    return sent, received
