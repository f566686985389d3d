"""How a coordinator is at one moment: made by its loop, read by anybody."""

from dataclasses import dataclass

from posse.measure.status import CoordinatorStatus


@dataclass(frozen=True)
class Snapshot:
    """How it is now. It never changes, so that any thread may read it.

    `at` is when it was made, in seconds of the loop's clock.
    `heard`: for each agent that is here its rank, when it was last heard (seconds of the loop's
    clock) and what kind of message it was. `frames` were taken from agents in all runs so far.
    `away` are those whose connection was lost, `restarts` says how often each was started again
    since the last run, `resent` how many frames went to agents a second time.
    """

    agents: int = 0
    at: float = 0.0
    arrived: int = 0
    running: bool = False
    runs_completed: int = 0
    waiting_for: tuple[int, ...] = ()
    waiting: str = ""
    heard: tuple[tuple[int, float, str], ...] = ()
    frames: int = 0
    refused: tuple[tuple[str, int], ...] = ()
    ended: int | None = None
    away: tuple[int, ...] = ()
    restarts: tuple[tuple[int, int], ...] = ()
    resent: int = 0

    def status(self, now: float) -> CoordinatorStatus:
        """As it is told; ages are those at `now`, in seconds of the loop's clock."""
        return CoordinatorStatus(
            agents=self.agents,
            arrived=self.arrived,
            running=self.running,
            runs_completed=self.runs_completed,
            waiting_for=list(self.waiting_for),
            waiting=self.waiting,
            heard_seconds_ago={rank: round(now - at, 3) for rank, at, _ in self.heard},
            heard={rank: kind for rank, _, kind in self.heard},
            frames=self.frames,
            refused=dict(self.refused),
            turned_seconds_ago=round(now - self.at, 3),
            ended=self.ended,
        )
