"""What a byzantine agent does to rewards and means (Huber's ε-contamination)."""

from dataclasses import dataclass

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse_systems.dubey2020.messages import Contamination, Records


@dataclass(frozen=True, slots=True)
class Corruption:
    """Replaces each message by a lie with probability ε.

    Dubey and Pentland 2020, section 4: at the source the agent changes its own message, in the
    intermediary form those that it passes on. What the agent keeps for itself stays true.
    """

    does: Contamination
    generator: np.random.Generator

    def corrupt(self, own: Records, passed_on: Records, slot: int) -> None:
        """Change the rewards or means of `own` or `passed_on` in place, as the form says.

        The agent's `own` message is of this `slot` and has no envelope yet.
        """
        records = own if self.does.form == "source" else passed_on
        if len(records):
            struck = np.flatnonzero(self.generator.random(len(records)) < self.does.rate)
            name = "reward" if "reward" in (records.dtype.names or ()) else "means"
            if len(struck) and self.does.law == "informed":
                created = slot if records is own else records["created"][struck, None]
                records[struck] = _informed(records[struck], created)
            elif len(struck):
                records[name][struck] = self.draw(records[name][struck])

    def draw(self, truth: FloatArray) -> FloatArray:
        """One draw from Q for each number; only "opposite" looks at the `truth`."""
        if self.does.law == "uniform":
            return self.generator.random(truth.shape)
        return fixed_lie(self.does, truth)


def fixed_lie(does: Contamination, truth: FloatArray) -> FloatArray:
    """What a law that draws nothing makes of each number."""
    if does.law == "opposite":
        return 1.0 - truth
    default = 10.0 if does.law == "outlier" else 1.0
    return np.full(truth.shape, default if does.value is None else does.value)


def _informed(records: Records, created: int | IntArray) -> Records:
    """The worst means for the algorithm: 0 for the best arm and 1 for every other.

    Each claims as many pulls as its origin had slots for, so that it dominates any estimate that
    weights means by counts.
    """
    arms = records["means"].shape[1]
    best = np.nanargmax(np.where(np.isnan(records["means"]), -np.inf, records["means"]), axis=1)
    records["means"] = 1.0
    records["means"][np.arange(len(records)), best] = 0.0
    records["counts"] = created // arms
    return records
