"""Advice of several families about settings that are allowed but probably not meant."""

from typing import Any

from posse.arms import GaussianArms
from posse.spec.runfile import RunSpec
from posse.theory.bounds import DEVIATION


def deviation(spec: RunSpec, parameters: Any) -> list[str]:
    """Advise if rewards spread wider than confidence radii assume.

    Radii assume 1/2-subgaussian rewards, as in [0, 1], or of deviation `sigma` if the system has
    that parameter.
    """
    arms, most = spec.arms, getattr(parameters, "sigma", DEVIATION)
    if not isinstance(arms, GaussianArms) or arms.clip is not None or arms.sd <= most:
        return []
    way = " or raise parameters.sigma" if hasattr(parameters, "sigma") else ", or set arms.clip"
    return [
        f"arms.sd is {arms.sd:g}: confidence radii assume rewards of deviation {most:g} at most, "
        f"so arms are told apart too soon, and wrongly; lower arms.sd{way}"
    ]
