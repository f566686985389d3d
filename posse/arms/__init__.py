"""Arms: where rewards come from. One file per kind; adding one is described in docs/arms.md."""

from posse.arms.base import Arms, ArmsContext, LabMeans
from posse.arms.bernoulli import BernoulliArms
from posse.arms.csv import CsvArms
from posse.arms.gaussian import GaussianArms
from posse.arms.python import PythonArms

ArmsSpec = BernoulliArms | GaussianArms | CsvArms | PythonArms
"""What `[arms]` may be, told apart by `kind`."""


def known_means(arms: ArmsSpec) -> LabMeans | None:
    """What the run file says of the arms' means; None where they are not known."""
    if isinstance(arms, LabMeans):
        return arms
    if isinstance(arms, PythonArms) and arms.means is not None:
        return LabMeans(means=arms.means)
    return None


__all__ = ["Arms", "ArmsContext", "ArmsSpec", "GaussianArms", "LabMeans", "known_means"]
