"""Decisions about ZeroMQ sockets, in one place."""

import zmq

from protocol.wire import MAX_FRAME

HIGH_WATER = 100_000
"""Frames queued per peer. A peer is at most a few slots ahead; what one slot sends to one peer is
far below, so that reaching the mark means a peer that does not read, and a send then times out."""

HEARTBEAT_MS = 5_000
CONNECT_BACKLOG = 4_096


def configure(socket: zmq.Socket[bytes], deadline: float) -> None:
    """Options that every socket of posse has."""
    socket.setsockopt(zmq.LINGER, 2_000)
    socket.setsockopt(zmq.SNDHWM, HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, HIGH_WATER)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME)
    socket.setsockopt(zmq.SNDTIMEO, int(deadline * 1000))
    socket.setsockopt(zmq.BACKLOG, CONNECT_BACKLOG)
    socket.setsockopt(zmq.IMMEDIATE, 0)


def heartbeat(socket: zmq.Socket[bytes], address: str) -> None:
    """Notice a peer that is gone without a word, on links that may lead to another machine.

    Not over ipc: there a peer's end is seen at once, and on a machine whose cores are taken an
    honest peer may well answer later than the timeout; it would come back as a stranger.
    """
    if address.startswith("ipc:"):
        return
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 3 * HEARTBEAT_MS)
