"""The numbers of a run, each with its name in tables and figures, and their means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from posse.measure.confidence import Mean, mean_of
from posse.results.record import RunRecord


@dataclass(frozen=True)
class Measure:
    """One number of a run; `read` gives None if it does not apply or is unknown.

    `called` is its name on pages, by default made from `name`. A `share` is 0 or 1 in each run, so
    its interval is Wilson's.
    """

    name: str
    read: Callable[[RunRecord], float | None]
    unit: str = ""
    called: str = ""
    share: bool = False

    @property
    def label(self) -> str:
        """Its name on pages."""
        return self.called or self.name.replace("_", " ")

    def counts(self, run: RunRecord) -> str:
        """What it counts in this run, in the terms of the run's family."""
        return run.detail.units.get(self.name, self.unit)


MEASURES = (
    Measure("right", lambda run: run.right, share=True),
    Measure("rounds", lambda run: run.rounds, "activations, all agents together"),
    Measure("slots", lambda run: run.slots, "each agent pulls once in each"),
    Measure("pulls", lambda run: run.pulls, "by all agents"),
    Measure("regret", lambda run: run.regret, "at the end, of all agents"),
    Measure("rewards", lambda run: run.rewards, "earned by all agents"),
    Measure("data_messages", lambda run: run.communication.data.messages, "the paper's own, a run"),
    Measure(
        "data_payload_bytes",
        lambda run: run.communication.data.payload_bytes,
        "payload, a run",
        "data bytes",
    ),
    Measure("control_messages", lambda run: run.communication.control.messages),
    Measure("elapsed_seconds", lambda run: run.elapsed_seconds, called="seconds"),
)
"""The measures of every system; `summary` holds their means."""

RIGHT, ROUNDS, SLOTS, PULLS, REGRET, REWARDS, DATA_MESSAGES, DATA_BYTES, _, SECONDS = MEASURES

TOTALS = MEASURES[1:8]
"""What a page shows first, and both engines must agree on: from rounds to bytes of data."""


def means(runs: Sequence[RunRecord]) -> dict[str, Mean]:
    """The means of all measures, by name, each over the runs that have the measure."""
    summary = {}
    for measure in MEASURES:
        if values := [float(value) for run in runs if (value := measure.read(run)) is not None]:
            summary[measure.name] = mean_of(values, share=measure.share)
    return summary
