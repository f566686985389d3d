"""Rewards that have owners cost one of them, in one run or two, what the ledgers allow."""

import math
from pathlib import Path
from random import Random

import pytest

from posse.audit.canaries import cost_of
from posse.audit.owned import Owned, _OwnArms
from tests.audit.plants import plan_of

pytest.importorskip("pydp")


def test_own_arms_name_one_person_often_whose_rewards_alone_change():
    levels = [0.25, 0.5]
    one, other = (_OwnArms(Random(3), "changed", levels, value, 60) for value in (0.0, 1.0))
    for arm in (0, 1):
        (rewards, names), (others, same) = (arms.pull(arm, 30) for arms in (one, other))
        assert names == same
        often = [name == "changed" for name in names]
        assert 0 < sum(often) < 30
        assert len(set(names)) == 31 - sum(often)
        assert rewards == [0.0 if own else levels[arm] for own in often]
        assert others == [1.0 if own else levels[arm] for own in often]
    with pytest.raises(RuntimeError):
        one.pull(0, 1)


def test_in_one_run_or_two_an_owner_costs_what_the_ledgers_allow(tmp_path: Path):
    plan = plan_of("private-ucb")
    claim, words, most = plan.reward_claim, set(), 0.0
    for seed in range(12):
        owned = Owned(plan, plan.claim.sees, tmp_path / "logs", 100, math.inf, Random(seed))
        made = owned.carry_out(seed)
        words.update(owned.words)
        assert made is not None
        one, other, count = made
        assert owned.runs == 2 * (1 + ("two runs" in owned.words))
        cost = cost_of(claim.honest, one, other, (claim.delta or 0.0) * count).epsilon
        allowed = claim.of_person(owned.most).epsilon * owned.times
        assert cost <= allowed * (1 + 1e-9)
        most = max(most, cost / allowed)
        assert not list(tmp_path.iterdir())
    assert words == {
        *("a log of persons", "a log", "own arms"),
        *("two runs", "rows used again", "keys and ledgers"),
    }
    assert most > 0.1
