"""How a coordinator is at one moment: made by its loop, read by anybody."""

from dataclasses import dataclass

import msgspec

from posse.measure.status import CoordinatorStatus


@dataclass(frozen=True)
class Snapshot:
    """How it is now. It never changes, so that any thread may read it.

    `told` is what operators are told, with ages as they were `at` that time, in seconds of the
    loop's clock. `away` are those whose connection was lost, `restarts` says how often each was
    started again since the last run, `resent` how many frames went to agents a second time.
    """

    told: CoordinatorStatus
    at: float = 0.0
    away: tuple[int, ...] = ()
    restarts: tuple[tuple[int, int], ...] = ()
    resent: int = 0

    def status(self, now: float) -> CoordinatorStatus:
        """As it is told; ages are those at `now`, in seconds of the loop's clock."""
        since, heard = now - self.at, self.told.heard_seconds_ago
        return msgspec.structs.replace(
            self.told,
            heard_seconds_ago={rank: round(ago + since, 3) for rank, ago in heard.items()},
            turned_seconds_ago=round(since, 3),
        )
