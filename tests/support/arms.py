"""Arms for tests, built as an agent builds them."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from scipy import stats

from posse.arms import ArmsContext, ArmsSpec

ERROR_RATE = 1e-4


DOCS = (Path(__file__).parents[2] / "docs" / "arms.md").read_text()


def context(
    rank: int = 0, agents: int = 1, base: str = ".", seed: int = 5, run: int = 0
) -> ArmsContext:
    return ArmsContext(
        rank=rank,
        agents=agents,
        run=run,
        seed=seed,
        base=base,
        rewards=np.random.default_rng([seed, 1]),
        instance=lambda: np.random.default_rng([seed, 2]),
    )


def build(raw: dict[str, Any], **who: Any) -> Any:
    return msgspec.convert(raw, ArmsSpec).build(context(**who))


def within(value: float, mean: float, sd: float) -> bool:
    """A normal statistic within the bounds that a right program leaves with ERROR_RATE."""
    return abs(value - mean) <= stats.norm.isf(ERROR_RATE / 2) * sd


PYTHON = {"kind": "python", "target": "scripted_arms:arms", "count": 3}
