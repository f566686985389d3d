"""The clock where all agents share the arms: the coordinator, who pulls them, has the time."""

from posse.clocks.pace import Order, Paced
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.machine import Finish, Received, Started


class SharedPace:
    """An agent that has no arms of its own: it answers messages."""

    ready = False
    """Everything happens when a message arrives."""

    def __init__(self, run: Paced) -> None:
        self.now = 0.0
        self._run = run
        self._over = False

    @property
    def under_way(self) -> bool:
        """See `Pace`."""
        return not self._over

    def start(self) -> None:
        """See `Pace`."""
        self._take(self._run.tell(Started(), 0.0))

    def message(self, event: Received, now: float) -> None:
        """See `Pace`."""
        if not self._over:
            self.now = now
            self._take(self._run.tell(event, now))

    def advance(self, now: float) -> None:
        """Only the virtual clock is advanced from outside."""
        raise RemoteProtocolError("out-of-turn", "Advance")

    def step(self) -> None:
        """Nothing happens of the agent's own accord."""

    def stop(self, now: float) -> None:
        """See `Pace`."""
        self._over = True

    def _take(self, order: Order | Finish | None) -> None:
        if isinstance(order, Finish):
            self._over = True
        elif order is not None:
            raise LocalProtocolError("an agent that shares its arms has none of its own to pull")
