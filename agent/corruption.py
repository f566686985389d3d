"""What a byzantine agent does to rewards before it sends them (Huber's ε-contamination)."""

from dataclasses import dataclass

import numpy as np

from agent.flooding import Records
from protocol.cooperative import Contamination
from protocol.machine import FloatArray


@dataclass(frozen=True, slots=True)
class Corruption:
    """Each reward is replaced by a draw from Q with probability ε.

    Dubey and Pentland 2020, section 4: at the source, in the agent's own message; or, in the
    intermediary form, in the messages that it passes on. What the agent keeps for itself is true.
    """

    does: Contamination
    generator: np.random.Generator

    def corrupt(self, own: Records, passed_on: Records) -> None:
        """Change the rewards of these messages in place, according to the form."""
        records = own if self.does.form == "source" else passed_on
        if len(records):
            struck = np.flatnonzero(self.generator.random(len(records)) < self.does.rate)
            if len(struck):
                records["reward"][struck] = self.draw(records["reward"][struck])

    def draw(self, truth: FloatArray) -> FloatArray:
        """One draw from Q per reward, where "opposite" looks at the reward."""
        match self.does.law:
            case "uniform":
                return self.generator.random(len(truth))
            case "opposite":
                opposite: FloatArray = 1.0 - truth
                return opposite
            case law:
                default = 10.0 if law == "outlier" else 1.0
                value = default if self.does.value is None else self.does.value
                return np.full(len(truth), value)
