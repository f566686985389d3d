"""Effects of the hosts, of the coordinator's lobby, and of `Joining` at an agent.

`Hub` and `AgentProcess` carry them out. They are structs because defining a dataclass takes forty
times as long, in every process that starts.
"""

from dataclasses import dataclass, field

import msgspec

from posse.errors import PosseError, RunFailed
from posse.hosts.agent_setup import AgentSetup
from posse.measure.account import Account
from posse.protocol import control
from posse.protocol.message import Message


@dataclass(frozen=True)
class LogLine:
    """Write a line to the log; `level` is one of `logging`.

    `about` groups lines that a peer can cause again and again: see `posse.log`.
    """

    level: int
    text: str
    about: str = field(default="", compare=False)


class Fail(msgspec.Struct, frozen=True):
    """Raise `kind` with this reason; no later effect is carried out."""

    reason: str
    kind: type[PosseError] = RunFailed


# --- both hosts' ----------------------------------------------------------------------------------


class SendFrame(msgspec.Struct, frozen=True, gc=False):
    """Send a frame; `target` is a rank, `COORDINATOR` or `NEIGHBOURS`."""

    target: int
    frame: bytes


class HandMessage(msgspec.Struct, frozen=True):
    """Hand a message to a host of this process, sent at time `now`; see `Sources.together`."""

    target: int
    message: Message
    now: float


# --- the coordinator's ----------------------------------------------------------------------------


class Reply(msgspec.Struct, frozen=True):
    """Answer a peer, which may be gone by now."""

    peer: bytes
    message: Message


class SendToAgent(msgspec.Struct, frozen=True):
    """Send a message to an agent that joined."""

    rank: int
    message: Message


class Joined(msgspec.Struct, frozen=True):
    """Report that an agent arrived; `arrived` agents are here now."""

    arrived: int


class ResendFrames(msgspec.Struct, frozen=True):
    """Retransmit to a reconnected agent what it has not taken; it took `taken` frames."""

    rank: int
    taken: int


class AskAgent(msgspec.Struct, frozen=True):
    """Ask an agent for a sign of life."""

    rank: int


class Restart(msgspec.Struct, frozen=True):
    """Start an agent's process again."""

    rank: int


class KeepHead(msgspec.Struct, frozen=True):
    """Keep where agent `rank`'s ledger is; one that cannot be there takes part in no run."""

    rank: int
    head: control.LedgerHead


class MadeProgress(msgspec.Struct, frozen=True):
    """The run came on: the deadline for progress begins anew."""


class LinkChanged(msgspec.Struct, frozen=True):
    """Agent `by` lost its connection to neighbour `about`, or has one again."""

    by: int
    about: int
    up: bool


class AgentLeft(msgspec.Struct, frozen=True):
    """An agent ended its own part; a run that cannot do without it ends by `kind`."""

    rank: int
    why: str
    kind: type[PosseError] = RunFailed


HostEffect = SendFrame | HandMessage | MadeProgress | LinkChanged | AgentLeft | KeepHead | LogLine
"""What the coordinator's host returns."""

LobbyEffect = (
    Reply
    | SendToAgent
    | Joined
    | ResendFrames
    | AskAgent
    | Restart
    | KeepHead
    | LogLine
    | Fail
    | HostEffect
)
"""What the lobby returns, which hands on what the run's host does about a loss or a silence."""

# --- an agent's -----------------------------------------------------------------------------------


class PeerGone(msgspec.Struct, frozen=True):
    """The coordinator declared a neighbour gone."""

    rank: int


class RunOver(msgspec.Struct, frozen=True):
    """In the field: the run is over; the account is shown on this machine and sent nowhere."""

    account: Account


AgentHostEffect = SendFrame | HandMessage | PeerGone | RunOver


class SendToCoordinator(msgspec.Struct, frozen=True):
    """Send the coordinator a message, outside of runs."""

    message: Message


class BeginSession(msgspec.Struct, frozen=True):
    """Begin a new session with the coordinator; all frames of the old one are dropped."""


class SendResume(msgspec.Struct, frozen=True):
    """Send this with the session's numbers and the inbox in it; `Resumed` is the answer."""

    resume: control.Resume


class ResumeSession(msgspec.Struct, frozen=True):
    """Retransmit to the coordinator; it took `taken` frames."""

    taken: int


class OpenInbox(msgspec.Struct, frozen=True):
    """Open agent `rank`'s inbox if the system has neighbours, then call `inbox_open`."""

    system: str
    rank: int


class ConnectNeighbours(msgspec.Struct, frozen=True):
    """Connect to the neighbours, then call `not_listening` until all listen."""

    setup: AgentSetup


class MoveNeighbour(msgspec.Struct, frozen=True):
    """Connect to a neighbour at another inbox; the session goes on."""

    rank: int
    inbox: str


class MakeHost(msgspec.Struct, frozen=True):
    """Make this agent's host for the runs to come."""

    setup: AgentSetup


class DropHost(msgspec.Struct, frozen=True):
    """Drop the host: the coordinator configures anew, or was started again."""


class GiveUp(msgspec.Struct, frozen=True):
    """End this agent, as no coordinator answered in time; an error unless its only run is over."""


class Leave(msgspec.Struct, frozen=True):
    """End this agent, because the coordinator let it go; `code` is the runs' exit code."""

    code: int = 0


JoiningEffect = (
    SendToCoordinator
    | BeginSession
    | SendResume
    | ResumeSession
    | OpenInbox
    | ConnectNeighbours
    | MoveNeighbour
    | MakeHost
    | DropHost
    | GiveUp
    | Leave
    | LogLine
    | Fail
)
