"""The states of an agent that joins, and which event leads from which state to which.

`Joining` runs this table; docs/architecture.md prints it.
"""

from enum import Enum


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
    LOST = "the connection is lost or another one, or `Whose`"
    RESUMED = "`Resumed`"
    UNKNOWN = "`Unknown`: the coordinator was started again"


_S, _E = JoinState, JoinEvent

TRANSITIONS: dict[tuple[JoinState, JoinEvent], JoinState | None] = {
    (_S.CONNECTING, _E.CONNECTED): _S.JOINING,
    (_S.JOINING, _E.CONNECTED): _S.JOINING,
    (_S.JOINING, _E.WELCOMED): _S.SYNCHRONISING,
    # beside its coordinator an agent shares the clock, and needs no `Welcome` to be known
    (_S.JOINING, _E.CONFIGURED): _S.LINKING,
    (_S.JOINING, _E.LOST): _S.RESUMING,
    (_S.SYNCHRONISING, _E.ARRIVED): _S.JOINED,
    (_S.SYNCHRONISING, _E.LOST): _S.RESUMING,
    (_S.JOINED, _E.CONFIGURED): _S.LINKING,
    (_S.JOINED, _E.LOST): _S.RESUMING,
    (_S.LINKING, _E.CONFIGURED): _S.LINKING,
    (_S.LINKING, _E.HEARD_BY_ALL): _S.LINKED,
    (_S.LINKING, _E.LOST): _S.RESUMING,
    (_S.LINKED, _E.CONFIGURED): _S.LINKING,
    (_S.LINKED, _E.LOST): _S.RESUMING,
    (_S.RESUMING, _E.LOST): _S.RESUMING,
    (_S.RESUMING, _E.RESUMED): None,
    (_S.RESUMING, _E.UNKNOWN): _S.JOINING,
}
"""The next state; None is the state before resuming. An event without an entry is refused."""

JOINED_STATES = frozenset({_S.JOINED, _S.LINKING, _S.LINKED, _S.RESUMING})
"""In these the coordinator counts an agent on another machine among its own."""
