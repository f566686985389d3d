"""What happens while agents join, and what the two machines then want done.

The coordinator's machine is `Lobby`, an agent's `Joining`. Sockets and their monitors are
translated into these events, and these effects carried out, by `Hub` and `AgentProcess`. They are
structs because a dataclass takes forty times as long to make ready, in every process that starts.
"""

from dataclasses import dataclass, field
from enum import Enum

import msgspec

from posse.engines.roster import Peer
from posse.errors import PosseError, RunFailed
from posse.hosts.agent_setup import AgentSetup
from protocol.message import Message


@dataclass(frozen=True)
class Log:
    """Say something to whoever reads the log; `level` is one of `logging`.

    Of what a peer may cause again and again, `about` names the kind: see `posse.log`.
    """

    level: int
    text: str
    about: str = field(default="", compare=False)


class Fail(msgspec.Struct, frozen=True):
    """This cannot go on, for this reason; nothing is done after it."""

    reason: str
    kind: type[PosseError] = RunFailed


# --- the coordinator's events ---------------------------------------------------------------------


class Said(msgspec.Struct, frozen=True):
    """A frame came from a peer, while this machine's clock showed `wall` (seconds since 1970)."""

    peer: Peer
    frame: bytes
    wall: float


class Closed(msgspec.Struct, frozen=True):
    """A connection is gone."""

    connection: int


class Rejected(msgspec.Struct, frozen=True):
    """The sockets themselves refused something; `said` is for the log, "" if nothing is."""

    reason: str
    said: str = ""


class Died(msgspec.Struct, frozen=True):
    """A process that was started here ended: that of agent `rank`, or all of them (None).

    `killed`: it did not end by itself.
    """

    rank: int | None
    why: str
    killed: bool = False


class LinkChanged(msgspec.Struct, frozen=True):
    """Agent `by` lost its connection to neighbour `about`, or has one again."""

    by: int
    about: int
    up: bool


class Quit(msgspec.Struct, frozen=True):
    """Agent `rank` ended its own part of a run, by its own word or by one that cannot be true."""

    rank: int
    why: str
    kind: type[PosseError] = RunFailed


LobbyEvent = Said | Closed | Rejected | Died | Quit | LinkChanged

# --- the coordinator's effects --------------------------------------------------------------------


class Reply(msgspec.Struct, frozen=True):
    """Answer a peer, who may be gone by now."""

    peer: bytes
    message: Message


class Tell(msgspec.Struct, frozen=True):
    """Say something to an agent that joined."""

    rank: int
    message: Message


class ShowStatus(msgspec.Struct, frozen=True):
    """Answer an operator with `Status`."""

    peer: bytes


class Joined(msgspec.Struct, frozen=True):
    """Somebody arrived; so many are here now."""

    arrived: int


class Resend(msgspec.Struct, frozen=True):
    """An agent has a new connection, over which what it has not taken is sent again."""

    rank: int
    taken: int


class CallRoll(msgspec.Struct, frozen=True):
    """Ask these agents for a sign of life; an answer of their sessions is enough."""

    ranks: list[int]


class Restart(msgspec.Struct, frozen=True):
    """Start the process of an agent again."""

    rank: int


LobbyEffect = Reply | Tell | ShowStatus | Joined | Resend | CallRoll | Restart | Log | Fail

# --- an agent's events ----------------------------------------------------------------------------


class Closure(Enum):
    """How a connection ended before it was one."""

    UNKNOWN_KEY = 1
    NOT_UNDERSTOOD = 2
    WITHOUT_A_WORD = 3


class Connected(msgspec.Struct, frozen=True):
    """The connection to the coordinator is up; this machine's clock shows `wall`."""

    wall: float


class NotLetIn(msgspec.Struct, frozen=True):
    """The connection was closed in its handshake."""

    how: Closure
    why: str = ""


class Disconnected(msgspec.Struct, frozen=True):
    """The connection to the coordinator is gone; ZeroMQ tries to make a new one."""


class Told(msgspec.Struct, frozen=True):
    """A frame of the coordinator's that is not for a run's host."""

    frame: bytes


class InboxOpen(msgspec.Struct, frozen=True):
    """Neighbours reach this agent at `address`; "" where agents have no neighbours."""

    address: str


class NotListening(msgspec.Struct, frozen=True):
    """These neighbours would not hear yet what this agent says."""

    ranks: tuple[int, ...]


JoiningEvent = Connected | NotLetIn | Disconnected | Told | InboxOpen | NotListening

# --- an agent's effects ---------------------------------------------------------------------------


class Say(msgspec.Struct, frozen=True):
    """Say something to the coordinator, outside of runs."""

    message: Message


class BeginSession(msgspec.Struct, frozen=True):
    """What was numbered, sent and taken before is nobody's business any more."""


class AskToResume(msgspec.Struct, frozen=True):
    """Tell the coordinator how much was taken before this connection; then `Told`."""


class GoOn(msgspec.Struct, frozen=True):
    """The coordinator took so many frames: send it the rest again."""

    taken: int


class OpenInbox(msgspec.Struct, frozen=True):
    """Let the neighbours of agent `rank` reach it, if the system has any; then `InboxOpen`."""

    system: str
    rank: int


class LinkUp(msgspec.Struct, frozen=True):
    """Connect to these neighbours' inboxes; then `NotListening`, again and again until it is ()."""

    setup: AgentSetup


class Start(msgspec.Struct, frozen=True):
    """Make the host of this agent for the runs to come."""

    setup: AgentSetup


class Forget(msgspec.Struct, frozen=True):
    """Drop the host: who ordered its run is gone."""


class GiveUp(msgspec.Struct, frozen=True):
    """No coordinator answered in time; this agent ends, and says what is wrong with the address."""


class Leave(msgspec.Struct, frozen=True):
    """The coordinator let this agent go; `code` is its runs' exit code, and so this agent's."""

    code: int = 0


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
