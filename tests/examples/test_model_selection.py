"""The example that chooses a classifier on private records."""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.patience import PATIENCE
from tests.support.runs import printed

FOLDER = Path(__file__).parents[2] / "examples" / "model_selection"
pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="there is no scikit-learn")


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("digits")


def test_shards_and_public_records_are_disjoint_and_complete(digits: Any) -> None:
    public, shards = digits.split(8)
    together = np.concatenate([public, *shards])
    assert sorted(together) == list(range(1797))
    assert {len(shard) for shard in shards} == {187, 188}


def test_an_arm_goes_round_its_shard(digits: Any) -> None:
    shard = digits.PrivateShard(agent=3, agents=8, seed=1)
    public, shards = digits.split(8)
    right = digits.correct(shards[3], public).sum(axis=1)
    for arm in range(len(digits.NAMES)):
        in_parts = np.concatenate([shard.pull(arm, 100), shard.pull(arm, 87)])
        assert in_parts.sum() == right[arm]
        assert (shard.pull(arm, 187) == in_parts).all()


@pytest.mark.slow
def test_the_command_finds_the_best_model() -> None:
    said = printed([sys.executable, str(FOLDER / "run.py")], timeout=PATIENCE)
    assert "identified, arm 0: support vectors" in said
    assert "differentially private per record" in said
