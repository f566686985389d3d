"""The states of an agent that joins, and which event leads from which state to which.

`Joining` runs this table; docs/architecture.md prints it.
"""

from enum import Enum

import msgspec


class Closure(Enum):
    """How a handshake failed."""

    UNKNOWN_KEY = 1
    NOT_UNDERSTOOD = 2
    WITHOUT_A_WORD = 3


class Connected(msgspec.Struct, frozen=True):
    """The connection to the coordinator is up."""


class Disconnected(msgspec.Struct, frozen=True):
    """The connection to the coordinator is lost; ZeroMQ reconnects by itself."""


class NotLetIn(msgspec.Struct, frozen=True):
    """The connection was closed in its handshake; `why` for `NOT_UNDERSTOOD`."""

    how: Closure
    why: str = ""


class JoinState(Enum):
    """What an agent does now."""

    CONNECTING = "waits for a connection; the coordinator may be started later"
    JOINING = "sent `Join`, or beside its coordinator opens its inbox first"
    SYNCHRONISING = "sends `Sync`, eight times"
    JOINED = "sent `Arrived` with its inbox"
    LINKING = "connects to its neighbours' inboxes"
    LINKED = "has a host: runs, perhaps another `Configure`, `Goodbye`"
    RESUMING = "sends `Resume` over each new connection"


class JoinEvent(Enum):
    """What changes its state."""

    CONNECTED = "a connection is up, and the coordinator does not know this agent"
    WELCOMED = "`Welcome`"
    ARRIVED = "the last `Synced`, and the inbox is open"
    CONFIGURED = "`Configure`"
    HEARD_BY_ALL = "every neighbour listens"
    MUST_RESUME = "the connection is lost, or a new one is up, or `Whose`"
    RESUMED = "`Resumed`"
    UNKNOWN = "`Unknown`: the coordinator was started again"


_S, _E = JoinState, JoinEvent

TRANSITIONS: dict[tuple[JoinState, JoinEvent], JoinState | None] = {
    (_S.CONNECTING, _E.CONNECTED): _S.JOINING,
    (_S.JOINING, _E.CONNECTED): _S.JOINING,
    (_S.JOINING, _E.WELCOMED): _S.SYNCHRONISING,
    # beside its coordinator an agent shares the clock, and needs no `Welcome` to be known
    (_S.JOINING, _E.CONFIGURED): _S.LINKING,
    (_S.JOINING, _E.MUST_RESUME): _S.RESUMING,
    (_S.SYNCHRONISING, _E.ARRIVED): _S.JOINED,
    (_S.SYNCHRONISING, _E.MUST_RESUME): _S.RESUMING,
    (_S.JOINED, _E.CONFIGURED): _S.LINKING,
    (_S.JOINED, _E.MUST_RESUME): _S.RESUMING,
    (_S.LINKING, _E.CONFIGURED): _S.LINKING,
    (_S.LINKING, _E.HEARD_BY_ALL): _S.LINKED,
    (_S.LINKING, _E.MUST_RESUME): _S.RESUMING,
    (_S.LINKED, _E.CONFIGURED): _S.LINKING,
    (_S.LINKED, _E.MUST_RESUME): _S.RESUMING,
    (_S.RESUMING, _E.MUST_RESUME): _S.RESUMING,
    (_S.RESUMING, _E.RESUMED): None,
    (_S.RESUMING, _E.UNKNOWN): _S.JOINING,
}
"""The next state; None is the state before resuming. An event without an entry is refused."""

JOINED_STATES = frozenset({_S.JOINED, _S.LINKING, _S.LINKED, _S.RESUMING})
"""States in which the coordinator counts an agent on another machine among its own."""
