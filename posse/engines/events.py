"""What happens to a coordinator outside of its run, and what its lobby then wants done."""

from dataclasses import dataclass

from posse.engines.roster import Peer
from protocol.wire import Message


@dataclass(frozen=True)
class Said:
    """A frame came from a peer, while this machine's clock showed `wall` (seconds since 1970)."""

    peer: Peer
    frame: bytes
    wall: float


@dataclass(frozen=True)
class Closed:
    """A connection is gone."""

    connection: int


@dataclass(frozen=True)
class Rejected:
    """The sockets themselves refused something; `said` is for the log, "" if nothing is."""

    reason: str
    said: str = ""


@dataclass(frozen=True)
class Died:
    """A process that was started here ended: that of agent `rank`, or all of them (None)."""

    rank: int | None
    why: str


Event = Said | Closed | Rejected | Died


@dataclass(frozen=True)
class Reply:
    """Answer a peer, who may be gone by now."""

    peer: bytes
    message: Message


@dataclass(frozen=True)
class Tell:
    """Say something to an agent that joined."""

    rank: int
    message: Message


@dataclass(frozen=True)
class ShowStatus:
    """Answer an operator with `Status`."""

    peer: bytes


@dataclass(frozen=True)
class Joined:
    """Somebody arrived; so many are here now."""

    arrived: int


@dataclass(frozen=True)
class Log:
    """Say something to whoever reads the log."""

    level: int
    text: str


@dataclass(frozen=True)
class Fail:
    """The run, or the wait for it, ends with this sentence."""

    reason: str


Effect = Reply | Tell | ShowStatus | Joined | Log | Fail
