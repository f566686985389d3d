"""Makes the part of a record that every run has: what the coordinator itself saw.

`posse.results.lab` adds what the agents report; in the field they report nothing.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posse.arms.shared import SharedArms
from posse.claims.base import records
from posse.measure.traffic import Delays, Meter, quantile, seconds
from posse.results.record import Delay, Privacy, RunRecord
from posse.results.traffic import traffic
from posse.spec.runfile import Clock, RunSpec
from posse.theory.bounds import MeansUnknownError, run_means
from protocol.privacy import Claim

IntArray = NDArray[np.int64]

QUANTILES = (0.5, 0.9, 0.99, 1.0)
_SAME = 1e-12


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the coordinator knows of a run that has ended.

    `record` holds what the coordinator filled in during the run. `clock` is the run's clock,
    `claim` its system's claim. `linked`: agents send each other messages. `shared`: the shared
    arms.
    """

    record: RunRecord
    clock: Clock
    claim: Claim
    linked: bool
    refused: Counter[str]
    meter: Meter
    delays: Delays
    shared: SharedArms | None


def record(spec: RunSpec, seen: Seen) -> RunRecord:
    """The record of the run; in the field it is complete.

    Agents in the field do not report pulls, regret, releases, or messages to each other. The
    coordinator knows only the messages on its own links, and the arms that all agents share.
    """
    found = seen.record
    found.refused = dict(seen.refused)
    if seen.shared is not None:
        found.slots = seen.shared.slots
        add_pulls(found, seen.shared.pulls, seen.shared.pulls.sum(axis=1).tolist())
    in_lab = spec.mode == "lab"
    found.links = seen.meter.links()
    found.communication = traffic(found.links, between_agents=in_lab or not seen.linked)
    found.delay = _delay(seen.delays.histogram())
    found.privacy = Privacy(
        claim=seen.claim.promise,
        protects=not in_lab,
        records=records(spec, seen.claim) or None,
        ends=spec.arms.ends or None,
        variant=spec.variant,
        spent_per_agent=None,
        releases_per_agent=None,
    )
    return found


def add_pulls(record: RunRecord, pulls: IntArray, activations: list[int]) -> None:
    """Add who pulled what, shape (agents, arms), and how often each agent acted."""
    record.pulls = int(pulls.sum())
    record.pulls_per_arm = pulls.sum(axis=0).tolist()
    record.pulls_per_agent = pulls.sum(axis=1).tolist()
    record.activations_per_agent = activations


def _delay(histogram: Counter[int]) -> Delay | None:
    """Seconds from send to receipt; None if none were measured."""
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


def right(spec: RunSpec, record: RunRecord) -> bool | None:
    """Whether the run's one answer has the greatest mean, averaged over the agents.

    None if the means are unknown, or if each agent looks for an arm of its own. A run that sought a
    consensus and ended without one is wrong.
    """
    if record.best_arm is None and record.status != "no_consensus":
        return None
    try:
        means = run_means(spec, record.run)
    except MeansUnknownError:
        return None
    return record.best_arm is not None and bool(means[record.best_arm] >= means.max() - _SAME)
