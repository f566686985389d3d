"""The pace of an agent: when its machine's orders to its arms are carried out.

There is one pace for each clock (`posse.clocks.virtual`, `posse.clocks.immediate`), and
`SharedPace` where all agents share the arms. A pace reads no clock of its own.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from mypy_extensions import mypyc_attr

from posse.measure.account import Account
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.machine import (
    AgentEvent,
    Explore,
    Finish,
    FloatArray,
    PeerLost,
    Pull,
    Ready,
    Received,
    Regrouped,
    Started,
    Turn,
)
from protocol.message import Message

Order = Pull | Explore
"""What arms can carry out."""


class Paced(Protocol):
    """What a pace needs of the run whose orders it carries out."""

    @property
    def account(self) -> Account:
        """What the agent did so far."""
        ...

    def tell(self, event: AgentEvent, now: float) -> Order | Ready | Finish | None:
        """Hand an event to the machine; what it orders then, if anything."""
        ...

    def silent(self, rewards: FloatArray) -> int:
        """See `protocol.machine.ExploringMachine`."""
        ...

    def exhausted(self, what: str) -> None:
        """The agent's rewards are used up; `what` is a sentence."""
        ...

    def say(self, message: Message) -> None:
        """Send the coordinator a message of the clock's."""
        ...


@mypyc_attr(allow_interpreted_subclasses=True)
class Pace(ABC):
    """How time passes for one agent in one run; `now` is in the unit of the run's clock."""

    def __init__(self, run: Paced) -> None:
        self.now = 0.0
        self.order: Order | Ready | None = None
        """What `step` is to carry out."""
        self._run = run
        self._over = False

    @property
    def under_way(self) -> bool:
        """Whether the machine has begun and not finished."""
        return not self._over

    def start(self) -> None:
        """The run begins."""
        self._take(self._run.tell(Started(), 0.0))

    @abstractmethod
    def message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        """A data message arrived, sent at `now`, or something of peers."""

    def advance(self, now: float) -> None:
        """The coordinator says that this agent's time has come (clock `virtual`)."""
        raise RemoteProtocolError("out-of-turn", "this clock is not advanced from outside")

    def step(self) -> None:  # noqa: B027  by most clocks nothing
        """Carry out the order under way, as far as it goes without listening."""

    def stop(self, now: float) -> None:
        """The run is over at `now`."""
        self._over = True

    def _ask(self) -> Order | Finish | None:
        """What the machine orders, now that it is its turn."""
        order = self._run.tell(Turn(), self.now)
        if isinstance(order, Ready):
            raise LocalProtocolError("a machine says Ready where it is asked what it orders")
        return order

    @abstractmethod
    def _take(self, order: Order | Ready | Finish | None) -> None:
        """What the machine orders replaces what is under way."""


class SharedPace(Pace):
    """An agent without arms of its own: it answers messages, and the coordinator has the time."""

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
