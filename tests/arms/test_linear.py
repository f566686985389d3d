"""Arms with features: means, contexts, and tables that cannot be."""

from typing import Any

import msgspec
import numpy as np
import pytest

from posse.arms import ArmsSpec, LinearArms
from tests.support.arms import build

FIXED = {"kind": "linear", "features": [[1.0, 0.0], [0.6, 0.8]], "theta": [0.5, 0.25]}
DRAWN = {"kind": "linear", "count": 3, "dimensions": 4}


def _arms(raw: dict[str, Any]) -> LinearArms:
    arms = msgspec.convert(raw, ArmsSpec)
    assert isinstance(arms, LinearArms)
    return arms


def test_means_are_linear_in_the_features() -> None:
    means = _arms(FIXED).means_at(np.random.default_rng(1), 0)(np.arange(2))
    assert means.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert (_arms(FIXED).arm_count(), _arms(FIXED).feature_count()) == (2, 2)


def test_contexts_are_directions_drawn_for_each_agent_and_slot_whoever_asks_in_what_order() -> None:
    arms = _arms(DRAWN)
    first, again, other = (arms.contexts(np.random.default_rng(1), rank) for rank in (0, 0, 1))
    slots = np.arange(200)
    table = first(slots)
    assert table.shape == (200, 3, 4)
    assert np.allclose(np.linalg.norm(table, axis=2), 1)
    assert (table >= 0).all()
    assert (np.array([again(np.array([slot]))[0] for slot in slots]) == table).all()
    assert not (other(slots) == table).all()
    assert len(np.unique(table[:, 0, 0])) == 200
    means = arms.means_at(np.random.default_rng(1), 0)(slots)
    assert ((means >= 0) & (means <= 1)).all()
    # one θ explains all means: linear in what was seen
    theta, *_ = np.linalg.lstsq(table.reshape(-1, 4), means.ravel(), rcond=None)
    assert np.allclose(table @ theta, means)


def test_rewards_have_their_means() -> None:
    arms = build({**FIXED, "theta": [1.0, 0.0], "features": [[1.0, 0.0], [0.0, 1.0]]})
    assert arms.turns((0, 1), 3).tolist() == [[1, 1, 1], [0, 0, 0]]


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
