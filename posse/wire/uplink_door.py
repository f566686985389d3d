"""An agent's door towards its coordinator: it limits how much may wait to be taken.

The socket has no high-water mark of its own, for the reason that `posse.wire.door` gives. A
thread looks, because the agent may be busy with its arms. It searches the descriptors for the
connection only when the process has grown, which is almost never.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

from posse.log import LOG
from posse.wire import door
from posse.wire.door import PER_SECOND, Connection, Growth
from posse.wire.world import HERE, World


class UplinkDoor:
    """See the module's text. `taken`: bytes taken over the connection, with what is around frames.

    Without `guarded` there is no thread, and the caller looks by `look`.
    """

    def __init__(self, endpoint: str, *, guarded: bool = True, world: World = HERE) -> None:
        self._world = world
        self.taken = 0
        self._since = world.monotonic()
        self._port = int(endpoint.rpartition(":")[2])
        self._growth = Growth()
        self._over = threading.Event()
        if guarded:
            world.watchman("uplink-door", self._watch)

    def connected(self) -> None:
        """There is a new connection: count anew."""
        self.taken, self._since = 0, self._world.monotonic()

    def _watch(self) -> None:
        while not self._over.wait(door.EVERY):
            if self._growth.due():
                self.look()

    def look(self) -> None:
        """Close the connection if far more came than was taken."""
        life = int(PER_SECOND * (self._world.monotonic() - self._since))
        ours = [(*entry, entry[1].counts()[1] - self.taken - life) for entry in self._connections()]
        most = self._growth.allowed(sum(max(0, ahead) for *_, ahead in ours))
        for fd, connection, ahead in ours:
            if ahead > most:
                connection.shut(fd, self._world)
                LOG.warning(
                    "closed the connection to the coordinator: more comes than this agent can take"
                )
            connection.close()

    def _connections(self) -> Iterator[tuple[int, Connection]]:
        """This process's connections to any host's port of that number."""
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError, ValueError):
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    copy = socket.socket(fileno=os.dup(int(name)))
                    if self._leads_there(copy):
                        yield int(name), Connection(copy, "", self._since)
                    else:
                        copy.close()

    def _leads_there(self, copy: socket.socket) -> bool:
        try:
            return copy.family != socket.AF_UNIX and copy.getpeername()[1] == self._port
        except OSError:
            return False

    def close(self) -> None:
        """Stop looking."""
        self._over.set()
