"""Arms: the sources of rewards. One file per kind; docs/arms.md describes how to add one."""

from posse.arms.base import Arms, ArmsContext, LabMeans, Openings
from posse.arms.bernoulli import BernoulliArms
from posse.arms.changing import ChangingMeans, DelayedArms, DriftingArms, PiecewiseArms
from posse.arms.csv import CsvArms
from posse.arms.gaussian import GaussianArms
from posse.arms.linear import LinearArms
from posse.arms.live import LiveArms
from posse.arms.python import PythonArms
from posse.arms.sleeping import SleepingArms

ArmsSpec = (
    BernoulliArms
    | GaussianArms
    | LinearArms
    | PiecewiseArms
    | DriftingArms
    | DelayedArms
    | SleepingArms
    | CsvArms
    | PythonArms
    | LiveArms
)
"""What `[arms]` may be; `kind` selects one."""

RealArms = CsvArms | PythonArms | LiveArms
"""Arms behind whose rewards may be records."""


def known_means(arms: ArmsSpec) -> LabMeans | None:
    """The means that the run file gives; None if it gives none."""
    if isinstance(arms, LabMeans):
        return arms
    if isinstance(arms, PythonArms) and arms.means is not None:
        return LabMeans(means=arms.means)
    return None


__all__ = [
    "Arms",
    "ArmsContext",
    "ArmsSpec",
    "ChangingMeans",
    "DelayedArms",
    "GaussianArms",
    "LabMeans",
    "LinearArms",
    "LiveArms",
    "Openings",
    "RealArms",
    "SleepingArms",
    "known_means",
]
