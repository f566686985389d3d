"""The status that a coordinator or an agent shows to operators."""

from typing import Annotated

import msgspec

from posse.live.service import LiveStatus
from posse.protocol.bounds import MOST_AGENTS

LIVE = "status.json"
"""The file in a series' folder, and the path on a server, with the state of what is under way."""


class CoordinatorStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A coordinator's status. It never changes, so that any thread may read it.

    `heard`: the kind of each agent's last message. `frames`: taken from agents in all runs so far.
    `turned_seconds_ago`: since its loop last turned. `ended`: its exit code, once it let its agents
    go. `wall`: its clock, in seconds since 1970, and `version` its posse. `away`: the agents whose
    connection was lost. `restarts`: how often each agent was started again since the last run.
    `resent`: how many frames were sent to agents again. `taken_at`: when it was looked, in seconds
    of its loop's clock.
    """

    agents: Annotated[int, msgspec.Meta(ge=1, le=MOST_AGENTS)]
    arrived: int = 0
    running: bool = False
    runs_completed: int = 0
    waiting_for: list[int] = []
    waiting: str = ""
    heard_seconds_ago: dict[int, float] = {}
    heard: dict[int, str] = {}
    frames: int = 0
    refused: dict[str, int] = {}
    turned_seconds_ago: float = 0.0
    ended: int | None = None
    wall: float = 0.0
    version: str = ""
    away: list[int] = []
    restarts: dict[int, int] = {}
    resent: int = 0
    taken_at: float = 0.0

    def as_of(self, now: float) -> "CoordinatorStatus":
        """The same with ages as of `now`, in seconds of the loop's clock."""
        since, heard = now - self.taken_at, self.heard_seconds_ago
        return msgspec.structs.replace(
            self,
            heard_seconds_ago={rank: round(ago + since, 3) for rank, ago in heard.items()},
            turned_seconds_ago=round(since, 3),
            wall=self.wall + since,
            taken_at=now,
        )


class AgentStatus(msgspec.Struct, kw_only=True):
    """An agent's status, for HTTP if enabled: nothing about its rewards or its arm.

    `links_down` counts neighbours whose connection is lost. `ended` as in `CoordinatorStatus`.
    `live` is what the door of live arms did, and `ill` what is wrong there.
    """

    connected: bool
    running: bool
    links_down: int
    ended: int | None = None
    live: LiveStatus | None = None
    ill: str = ""
