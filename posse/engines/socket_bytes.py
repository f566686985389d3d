"""What the kernel counted on TCP connections, where it tells (Linux)."""

import contextlib
import os
import socket
import struct

_BYTES = struct.Struct("=QQ")
_OFFSET = 120
"""Where `struct tcp_info` has tcpi_bytes_acked and tcpi_bytes_received (linux/tcp.h, since 4.1)."""


class SocketBytes:
    """Bytes of the accepted connections: headers of ZeroMQ and all that it sends by itself too."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._before = (0, 0)

    def accepted(self, fd: int) -> None:
        """A connection was accepted under this file descriptor."""
        with contextlib.suppress(OSError):
            self._sockets.append(socket.socket(fileno=os.dup(fd)))

    def begin(self) -> None:
        """Count from here on."""
        self._before = self._totals()

    def counted(self) -> dict[str, int] | None:
        """Bytes sent (and acknowledged) and received since `begin`; None where nobody tells."""
        sent, received = self._totals()
        if not received:
            return None
        return {"sent": sent - self._before[0], "received": received - self._before[1]}

    def close(self) -> None:
        """Give the file descriptors back."""
        for connection in self._sockets:
            connection.close()
        self._sockets.clear()

    def _totals(self) -> tuple[int, int]:
        sent = received = 0
        for connection in self._sockets:
            try:
                info = connection.getsockopt(
                    socket.IPPROTO_TCP, socket.TCP_INFO, _OFFSET + _BYTES.size
                )
                acked, got = _BYTES.unpack_from(info, _OFFSET)
            except (OSError, struct.error, AttributeError):
                continue
            sent, received = sent + acked, received + got
        return sent, received
