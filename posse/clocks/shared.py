"""The clock where all agents share the arms: the coordinator, who pulls them, has the time."""

from posse.clocks.pace import Order, Pace
from protocol.errors import LocalProtocolError
from protocol.machine import Finish, PeerLost, Ready, Received, Regrouped


class SharedPace(Pace):
    """An agent that has no arms of its own: it answers messages."""

    def message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        if not self._over:
            self.now = now
            if (order := self._run.tell(event, now)) is not None:
                self._take(order)

    def _take(self, order: Order | Ready | Finish | None) -> None:
        if isinstance(order, Finish):
            self._over = True
        elif order is not None:
            raise LocalProtocolError("an agent that shares its arms has none of its own to pull")
