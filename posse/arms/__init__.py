"""Arms: where rewards come from. One file per kind; adding one is described in docs/arms.md."""

from posse.arms.base import Arms, ArmsContext, LabMeans
from posse.arms.bernoulli import BernoulliArms
from posse.arms.csv import CsvArms
from posse.arms.gaussian import GaussianArms
from posse.arms.python import PythonArms

ArmsSpec = BernoulliArms | GaussianArms | CsvArms | PythonArms
"""What `[arms]` may be, told apart by `kind`."""

KINDS: dict[str, type[ArmsSpec]] = {
    "bernoulli": BernoulliArms,
    "gaussian": GaussianArms,
    "csv": CsvArms,
    "python": PythonArms,
}

__all__ = ["KINDS", "Arms", "ArmsContext", "ArmsSpec", "LabMeans"]
