"""Arms with features: means, contexts, and tables that cannot be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse.arms import ArmsSpec, LinearArms
from tests.support.conversations import examples

FIXED = {"kind": "linear", "features": [[1.0, 0.0], [0.6, 0.8]], "theta": [0.5, 0.25]}
DRAWN = {"kind": "linear", "count": 3, "dimensions": 4}


def _arms(raw: dict[str, Any]) -> LinearArms:
    arms = msgspec.convert(raw, ArmsSpec)
    assert isinstance(arms, LinearArms)
    return arms


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({**FIXED, "count": 2}, "either features, or count and dimensions"),
        ({"kind": "linear"}, "either features, or count and dimensions"),
        ({**FIXED, "features": [[1.0, 0.0], [0.6]]}, "rows of the same length"),
        ({**FIXED, "theta": [0.5]}, "theta has 1 numbers for 2 features"),
        ({**FIXED, "features": [[1.0, 0.5], [0.6, 0.8]]}, "length of at most 1"),
        ({**FIXED, "theta": [-0.5, 0.1]}, r"must lie in \[0, 1\]"),
        ({"kind": "linear", "features": [[1.0], [-0.5]]}, "need a theta"),
        ({"kind": "linear", "count": 1, "dimensions": 2}, "at least 2 arms"),
    ],
)
def test_tables_that_cannot_be_are_refused(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        _arms(raw)


@examples(Path(__file__).with_name("linear.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
