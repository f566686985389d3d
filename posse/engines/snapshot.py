"""A coordinator's state at one moment: its loop makes it, any thread reads it."""

from dataclasses import dataclass

import msgspec

from posse.measure.status import CoordinatorStatus


@dataclass(frozen=True)
class Snapshot:
    """A coordinator's state at one moment. It never changes, so that any thread may read it.

    `told` is the status for operators, with ages as of the time `at`, in seconds of the loop's
    clock. `away` are the agents whose connection was lost. `restarts` says how often each agent was
    started again since the last run, `resent` how many frames were sent to agents again.
    """

    told: CoordinatorStatus
    at: float = 0.0
    away: tuple[int, ...] = ()
    restarts: tuple[tuple[int, int], ...] = ()
    resent: int = 0

    def status(self, now: float) -> CoordinatorStatus:
        """The status for operators, with ages as of `now`, in seconds of the loop's clock."""
        since, heard = now - self.at, self.told.heard_seconds_ago
        return msgspec.structs.replace(
            self.told,
            heard_seconds_ago={rank: round(ago + since, 3) for rank, ago in heard.items()},
            turned_seconds_ago=round(since, 3),
        )
