"""What the two machines by which agents join want done.

The coordinator's machine is `Lobby`, an agent's `Joining`; `Hub` and `AgentProcess` carry them out.
They are structs because a dataclass takes forty times as long to make ready, in every process that
starts.
"""

from dataclasses import dataclass, field

import msgspec

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


# --- the coordinator's ----------------------------------------------------------------------------


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


class Restart(msgspec.Struct, frozen=True):
    """Start the process of an agent again."""

    rank: int


LobbyEffect = Reply | Tell | ShowStatus | Joined | Resend | Restart | Log | Fail

# --- an agent's -----------------------------------------------------------------------------------


class Say(msgspec.Struct, frozen=True):
    """Say something to the coordinator, outside of runs."""

    message: Message


class BeginSession(msgspec.Struct, frozen=True):
    """What was numbered, sent and taken before is nobody's business any more."""


class AskToResume(msgspec.Struct, frozen=True):
    """Tell the coordinator how much was taken before this connection; and hear `Resumed`."""


class GoOn(msgspec.Struct, frozen=True):
    """The coordinator took so many frames: send it the rest again."""

    taken: int


class OpenInbox(msgspec.Struct, frozen=True):
    """Let the neighbours of agent `rank` reach it, if the system has any; then `inbox_open`."""

    system: str
    rank: int


class LinkUp(msgspec.Struct, frozen=True):
    """Connect to these neighbours' inboxes; then `not_listening`, again until there are none."""

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
