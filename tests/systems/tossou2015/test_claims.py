"""What players claim: against whom, with one sample for all that collide or one for each."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.system.context import CoordinatorContext
from posse_systems.tossou2015.server import Medium
from tests.support.claims import plan

SYSTEMS = ("tdfs-private", "tdfs-private-bound")


def players(system: str, agents: int = 4, mode: str = "lab", **parameters: Any) -> Any:
    given = {"horizon": 100, "epsilon": 0.5, **parameters}
    return plan(system, agents, mode=mode, parameters=given)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("changes", "epsilon"),
    [
        # which sample of an arm a player sees next depends on who pulled the arm before
        ({}, 2.0),
        # its choices depend on its collisions, and these on who saw the same sample
        ({"offsets": "found"}, 2.0),
        # an arm gives its next row to who pulls it: what is left depends on what others pulled
        ({"mode": "field", "shared_sample": True}, 2.0),
        ({"shared_sample": False}, 0.5),
        ({"shared_sample": False, "offsets": "found"}, 0.5),
    ],
)
def test_a_shared_sample_costs_m_epsilon_also_against_who_sees_one_player(
    system: str, changes: dict[str, Any], epsilon: float
) -> None:
    claim = players(system, **changes).claim
    assert (claim.epsilon, claim.besides) == (epsilon, ())
    assert "all choices" in claim.adversary
    shared = "no better protected" in claim.note
    assert shared is (epsilon == 2.0)
    assert ("ε = 2 (M ε) against whoever sees all choices" in claim.says) is shared


@pytest.mark.parametrize("system", SYSTEMS)
def test_in_the_field_each_player_has_its_own_sample_unless_the_run_file_says_otherwise(
    system: str,
) -> None:
    assert players(system, mode="field").claim.epsilon == 0.5
    assert players(system, mode="field", shared_sample=True).claim.epsilon == 2.0
    for mode, asked, expected in (
        ("field", None, False), ("field", True, True), ("lab", None, True), ("lab", False, False),
    ):  # fmt: skip
        given = {} if asked is None else {"shared_sample": asked}
        made = players(system, mode=mode, **given)
        medium = made.system.server.make(
            CoordinatorContext(
                agents=4, arms=5, parameters=made.parameters, variant="corrected", knowledge={},
                generator=lambda purpose: np.random.default_rng(0), field=made.field,
            )
        )  # fmt: skip
        assert isinstance(medium, Medium)
        assert medium.shared_sample is expected


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_authors_split_is_claimed_with_what_it_costs(system: str) -> None:
    claim = players(system, split="tossou").claim
    factor = 1 + 1 / math.log(2)
    assert not claim.holds
    assert claim.epsilon == pytest.approx(4 * factor * 0.5)


@pytest.mark.parametrize("counter", ["tree", "honaker"])
def test_a_tree_says_so(counter: str) -> None:
    claim = players("tdfs-private", counter=counter).claim
    assert claim.mechanism == "tree"
    assert "⌊log2 T⌋ + 1" in claim.proof


def test_a_random_player_discloses_nothing(tmp_path: Path) -> None:
    claim = plan("random-player", parameters={"horizon": 10}).claim
    assert claim.epsilon == 0.0
