"""What the coordinator saw of a run that has ended: the part of a record that is always there.

`posse.results.lab` adds what the agents report; in the field (`posse.results.field`) they report
nothing.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posse.arms.shared import SharedArms
from posse.claims.base import records
from posse.measure.traffic import Delays, Meter, quantile, seconds
from posse.results.record import Delay, Privacy, RunRecord
from posse.spec.runfile import Clock, RunSpec
from protocol.privacy import Claim

IntArray = NDArray[np.int64]

QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the coordinator itself knows of a run that has ended.

    `record` has what nobody needs to report, `clock` is what the run went by, `claim` what its
    system claims; `linked`: agents send each other messages. `shared`: the arms, where all agents
    share them.
    """

    record: RunRecord
    clock: Clock
    claim: Claim
    linked: bool
    refused: Counter[str]
    meter: Meter
    delays: Delays
    shared: SharedArms | None


def begun(seen: Seen) -> RunRecord:
    """The record, with the pulls of shared arms and what was refused."""
    record = seen.record
    record.refused = dict(seen.refused)
    if seen.shared is not None:
        record.slots = seen.shared.slots
        add_pulls(record, seen.shared.pulls, seen.shared.pulls.sum(axis=1).tolist())
    return record


def add_pulls(record: RunRecord, pulls: IntArray, activations: list[int]) -> None:
    """Who pulled what, shape (agents, arms), and how often each agent acted."""
    record.pulls = int(pulls.sum())
    record.pulls_per_arm = pulls.sum(axis=0).tolist()
    record.pulls_per_agent = pulls.sum(axis=1).tolist()
    record.activations_per_agent = activations


def claimed(spec: RunSpec, claim: Claim) -> Privacy:
    """What the run claims; what was spent of it is not known yet."""
    return Privacy(
        claim=claim.promise,
        protects=spec.mode == "field",
        records=records(spec, claim) or None,
        ends=spec.arms.ends or None,
        variant=spec.variant,
        spent_per_agent=None,
        releases_per_agent=None,
    )


def delay(histogram: Counter[int]) -> Delay | None:
    """Seconds from send to receipt, if any were measured."""
    if not histogram:
        return None
    p50, p90, p99, p100 = (quantile(histogram, q) for q in QUANTILES)
    return Delay(
        messages=histogram.total(),
        p50=p50,
        p90=p90,
        p99=p99,
        p100=p100,
        histogram=[(seconds(index), histogram[index]) for index in sorted(histogram)],
    )
