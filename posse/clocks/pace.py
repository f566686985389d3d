"""The pace of an agent: when its machine's orders to its arms are carried out.

There is one pace for each clock (`posse.clocks.virtual`, `posse.clocks.immediate`), and
`SharedPace` for agents that share the arms. A pace reads no clock except one passed in.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from mypy_extensions import mypyc_attr

from posse.measure.account import Account
from posse.protocol.arrays import FloatArray
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import (
    AgentEvent,
    Explore,
    Finish,
    PeerLost,
    Pull,
    Received,
    Regrouped,
    Started,
)
from posse.protocol.message import Message

ArmsOrder = Pull | Explore
"""An order to the arms."""


class Paced(Protocol):
    """What a pace needs from the run whose orders it carries out."""

    @property
    def account(self) -> Account:
        """The agent's account so far."""
        ...

    def tell(self, event: AgentEvent, now: float) -> ArmsOrder | Finish | None:
        """Hand an event to the machine; return its order, if any."""
        ...

    def lookahead(self, rewards: FloatArray) -> int:
        """How many of these next activations pass before the machine acts."""
        ...

    def exhausted(self, what: str) -> None:
        """End the agent's part: its rewards are used up, as the sentence `what` says."""
        ...

    def say(self, message: Message) -> None:
        """Send the coordinator one of the clock's messages."""
        ...


@mypyc_attr(allow_interpreted_subclasses=True)
class Pace(ABC):
    """How time passes for one agent in one run; `now` is in the unit of the run's clock."""

    def __init__(self, run: Paced) -> None:
        self.now = 0.0
        self.order: ArmsOrder | None = None
        """The order that `step` carries out next."""
        self._run = run
        self._over = False

    @property
    def under_way(self) -> bool:
        """Whether the machine has not finished."""
        return not self._over

    def start(self) -> None:
        """Begin the run."""
        self._take(self._run.tell(Started(), 0.0))

    @abstractmethod
    def message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        """Handle a data message that was sent at `now`, or news about peers."""

    @property
    def acts(self) -> bool:
        """Whether `step` has something to do now."""
        return self.order is not None

    @property
    def alarm(self) -> int | None:
        """A file descriptor that is readable when awaited rewards have come, of live arms."""
        return None

    def advance(self, now: float) -> None:
        """Act, because the coordinator gives the turn (clock `virtual`)."""
        raise RemoteProtocolError("out-of-turn", "this clock is not advanced from outside")

    def step(self) -> None:  # noqa: B027  some clocks have nothing to do
        """Carry out the order under way, as far as possible without another message."""

    def stop(self, now: float) -> None:
        """End the run at `now`."""
        self._over = True

    @abstractmethod
    def _take(self, order: ArmsOrder | Finish | None) -> None:
        """Replace the order under way by the machine's new one, if any."""


@mypyc_attr(allow_interpreted_subclasses=True)
class SharedPace(Pace):
    """The pace of an agent without own arms: the coordinator's messages carry the time."""

    def message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        if not self._over:
            self.now = now
            if (order := self._run.tell(event, now)) is not None:
                self._take(order)

    def _take(self, order: ArmsOrder | Finish | None) -> None:
        if type(order) is Finish:
            self._over = True
        elif order is not None:
            raise LocalProtocolError("an agent that shares its arms has none of its own to pull")
