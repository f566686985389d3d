"""What players claim: against whom, with one sample for all that collide or one for each."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.coordinator.players import Medium
from posse.families.context import CoordinatorContext
from tests.support.claims import plan

SYSTEMS = ("tdfs-private", "tdfs-private-bound")


def players(system: str, agents: int = 4, mode: str = "lab", **parameters: Any) -> Any:
    given = {"horizon": 100, "epsilon": 0.5, **parameters}
    return plan(system, agents, mode=mode, parameters=given)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_shared_sample_costs_m_epsilon_also_against_who_sees_one_player(system: str) -> None:
    """Which sample of an arm a player sees next depends on who pulled the arm before."""
    claim = players(system).claim
    assert claim.epsilon == 2.0
    assert "all choices" in claim.adversary
    assert claim.besides == ()
    assert "no better protected: by which samples of an arm are left" in claim.note
    assert "ε = 2 (M ε) against whoever sees all choices" in claim.says


@pytest.mark.parametrize("system", SYSTEMS)
def test_offsets_found_by_collisions_name_m_epsilon_too(system: str) -> None:
    """A player's choices then depend on its collisions, and these on who saw the same sample."""
    claim = players(system, offsets="found").claim
    assert claim.epsilon == 2.0
    assert claim.besides == ()
    assert "no better protected" in claim.note


@pytest.mark.parametrize("system", SYSTEMS)
def test_of_a_log_one_players_choices_are_no_better_protected(system: str) -> None:
    """An arm gives its next row to who pulls it: what is left depends on what others pulled."""
    claim = players(system, mode="field", shared_sample=True).claim
    assert (claim.epsilon, claim.besides) == (2.0, ())
    assert "no better protected: by which samples of an arm are left" in claim.note


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("offsets", ["agreed", "found"])
def test_with_a_sample_of_its_own_each_reward_costs_epsilon_against_all(
    system: str, offsets: str
) -> None:
    claim = players(system, shared_sample=False, offsets=offsets).claim
    assert (claim.epsilon, claim.besides) == (0.5, ())
    assert "all choices" in claim.adversary


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
