"""What happens while agents join, and what the two machines then want done.

The coordinator's machine is `Lobby`, an agent's `Joining`. Sockets and their monitors are
translated into these events, and these effects carried out, by `Hub` and `AgentProcess`.
"""

from dataclasses import dataclass, field
from enum import Enum

from posse.engines.roster import Peer
from posse.errors import PosseError, RunFailed
from posse.hosts.agent_setup import AgentSetup
from protocol.wire import Message


@dataclass(frozen=True)
class Log:
    """Say something to whoever reads the log; `level` is one of `logging`.

    Of what a peer may cause again and again, `about` names the kind: see `posse.log`.
    """

    level: int
    text: str
    about: str = field(default="", compare=False)


@dataclass(frozen=True)
class Fail:
    """This cannot go on, for this reason; nothing is done after it."""

    reason: str
    kind: type[PosseError] = RunFailed


# --- the coordinator's events ---------------------------------------------------------------------


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
    """A process that was started here ended: that of agent `rank`, or all of them (None).

    `killed`: it did not end by itself.
    """

    rank: int | None
    why: str
    killed: bool = False


@dataclass(frozen=True)
class LinkChanged:
    """Agent `by` lost its connection to neighbour `about`, or has one again."""

    by: int
    about: int
    up: bool


@dataclass(frozen=True)
class Quit:
    """Agent `rank` ended its own part of a run, by its own word or by one that cannot be true."""

    rank: int
    why: str


LobbyEvent = Said | Closed | Rejected | Died | Quit | LinkChanged

# --- the coordinator's effects --------------------------------------------------------------------


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
class Resend:
    """An agent has a new connection, over which what it has not taken is sent again."""

    rank: int
    taken: int


@dataclass(frozen=True)
class CallRoll:
    """Ask these agents for a sign of life; an answer of their sessions is enough."""

    ranks: list[int]


@dataclass(frozen=True)
class Restart:
    """Start the process of an agent again."""

    rank: int


LobbyEffect = Reply | Tell | ShowStatus | Joined | Resend | CallRoll | Restart | Log | Fail

# --- an agent's events ----------------------------------------------------------------------------


class Closure(Enum):
    """How a connection ended before it was one."""

    UNKNOWN_KEY = 1
    NOT_UNDERSTOOD = 2
    WITHOUT_A_WORD = 3


@dataclass(frozen=True)
class Connected:
    """The connection to the coordinator is up; this machine's clock shows `wall`."""

    wall: float


@dataclass(frozen=True)
class NotLetIn:
    """The connection was closed in its handshake."""

    how: Closure
    why: str = ""


@dataclass(frozen=True)
class Disconnected:
    """The connection to the coordinator is gone; ZeroMQ tries to make a new one."""


@dataclass(frozen=True)
class Told:
    """A frame of the coordinator's that is not for a run's host."""

    frame: bytes


@dataclass(frozen=True)
class InboxOpen:
    """Neighbours reach this agent at `address`; "" where agents have no neighbours."""

    address: str


@dataclass(frozen=True)
class NotListening:
    """These neighbours would not hear yet what this agent says."""

    ranks: tuple[int, ...]


JoiningEvent = Connected | NotLetIn | Disconnected | Told | InboxOpen | NotListening

# --- an agent's effects ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Say:
    """Say something to the coordinator, outside of runs."""

    message: Message


@dataclass(frozen=True)
class BeginSession:
    """What was numbered, sent and taken before is nobody's business any more."""


@dataclass(frozen=True)
class AskToResume:
    """Tell the coordinator how much was taken before this connection; then `Told`."""


@dataclass(frozen=True)
class GoOn:
    """The coordinator took so many frames: send it the rest again."""

    taken: int


@dataclass(frozen=True)
class OpenInbox:
    """Let the neighbours of agent `rank` reach it, if the system has any; then `InboxOpen`."""

    system: str
    rank: int


@dataclass(frozen=True)
class LinkUp:
    """Connect to these neighbours' inboxes; then `NotListening`, again and again until it is ()."""

    setup: AgentSetup


@dataclass(frozen=True)
class Start:
    """Make the host of this agent for the runs to come."""

    setup: AgentSetup


@dataclass(frozen=True)
class Forget:
    """Drop the host: who ordered its run is gone."""


@dataclass(frozen=True)
class GiveUp:
    """No coordinator answered in time; this agent ends, and says what is wrong with the address."""


@dataclass(frozen=True)
class Leave:
    """The coordinator let this agent go."""


JoiningEffect = (
    Say
    | BeginSession
    | AskToResume
    | GoOn
    | OpenInbox
    | LinkUp
    | Start
    | Forget
    | GiveUp
    | Leave
    | Log
    | Fail
)
