"""What a byzantine agent does to rewards and means (Huber's ε-contamination)."""

from dataclasses import dataclass

import numpy as np

from agent.ways import IntArray, Records
from protocol.cooperative import Contamination
from protocol.machine import FloatArray


@dataclass(frozen=True, slots=True)
class Corruption:
    """Each message is replaced by a lie with probability ε.

    Dubey and Pentland 2020, section 4: at the source, in the agent's own message; or, in the
    intermediary form, in the messages that it passes on. What the agent keeps for itself is true.
    """

    does: Contamination
    generator: np.random.Generator

    def corrupt(self, own: Records, passed_on: Records, slot: int) -> None:
        """Change the rewards, or the means, of these messages in place, according to the form.

        The agent's `own` is of this `slot`, and has no envelope yet.
        """
        records = own if self.does.form == "source" else passed_on
        if len(records):
            struck = np.flatnonzero(self.generator.random(len(records)) < self.does.rate)
            said = "reward" if "reward" in (records.dtype.names or ()) else "means"
            if len(struck) and self.does.law == "informed":
                created = slot if records is own else records["created"][struck, None]
                records[struck] = _informed(records[struck], created)
            elif len(struck):
                records[said][struck] = self.draw(records[said][struck])

    def draw(self, truth: FloatArray) -> FloatArray:
        """One draw from Q per number, where "opposite" looks at it."""
        match self.does.law:
            case "uniform":
                return self.generator.random(truth.shape)
            case "opposite":
                opposite: FloatArray = 1.0 - truth
                return opposite
            case law:
                default = 10.0 if law == "outlier" else 1.0
                value = default if self.does.value is None else self.does.value
                return np.full(truth.shape, value)


def _informed(records: Records, created: int | IntArray) -> Records:
    """Means turned against the algorithm: the best arm has 0 and every other 1.

    Of each, as many pulls are claimed as its origin had slots for, so that an estimate by counts is
    theirs.
    """
    arms = records["means"].shape[1]
    best = np.nanargmax(np.where(np.isnan(records["means"]), -np.inf, records["means"]), axis=1)
    records["means"] = 1.0
    records["means"][np.arange(len(records)), best] = 0.0
    records["counts"] = created // arms
    return records
