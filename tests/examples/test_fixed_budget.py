"""Fixed budget and private votes: who is right, what is spent, and what one reward can change."""

import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posse
from posse.errors import SpecError
from posse.experiments import prepare
from posse.extend import COORDINATOR, Finish, Pull, Pulled, Received, Send, Started

FOLDER = Path(__file__).parents[2] / "examples" / "fixed_budget"


@pytest.fixture(name="votes")
def fixture_votes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    import votes  # noqa: PLC0415

    yield votes
    del sys.modules["votes"]


def raw(**changed: Any) -> dict[str, Any]:
    return {
        "system": "votes:HALVING",
        "path": [str(FOLDER)],
        "agents": {"count": 8},
        "arms": {"kind": "bernoulli", "means": [0.2, 0.8, 0.1, 0.1, 0.3]},
        "parameters": {"budget": 300, "epsilon": 1.0},
        "seed": 3,
        "engine": {"kind": "memory"},
    } | changed


def test_the_best_arm_is_found_within_the_budget_and_each_reward_pays_once() -> None:
    run = posse.run(raw()).runs[0]
    assert (run.best_arm, run.status) == (1, "budget")
    # 3 rounds of 100 pulls: 20 of each of 5 arms, 33 of 3, 50 of 2
    assert run.pulls == 8 * (5 * 20 + 3 * 33 + 2 * 50)
    assert run.privacy is not None
    assert run.privacy.spent_per_agent == [1.0] * 8


def test_slow_links_give_the_same_run() -> None:
    one, other = (posse.run(raw(**of)).runs[0] for of in ({}, {"network": {"delay": 0.05}}))
    assert (one.best_arm, one.pulls_per_arm) == (other.best_arm, other.pulls_per_arm)
    assert one.communication.data == other.communication.data


def test_a_budget_too_small_for_each_arm_is_refused() -> None:
    with pytest.raises(SpecError, match="5 arms in 3 rounds need at least 15"):
        prepare(raw(parameters={"budget": 14, "epsilon": 1.0}))


def test_the_better_half_by_noisy_sums_is_voted_for(votes: Any) -> None:
    class Shift:
        def noisy(self, values: Any, sensitivity: float, scale: float) -> Any:
            assert (sensitivity, scale) == (1.0, 2.0)
            return values + np.array([0, 5, 0][: len(values)])

    agent = votes.HalvingAgent(3, votes.HalvingParameters(budget=12, epsilon=0.5), Shift())
    assert agent.handle(Started(), 0) == [Pull((0, 1, 2), 2)]
    _, said = agent.handle(Pulled((0, 1, 2), 2, np.array([2.0, 0.0, 1.0])), 1)
    assert said == Send(COORDINATOR, votes.HalvingVote(1, (0, 1)))
    assert agent.handle(Received(COORDINATOR, votes.HalvingLeft(1, (1, 2))), 2) == [Pull((1, 2), 3)]
    agent.handle(Pulled((1, 2), 3, np.array([0.0, 1.0])), 3)
    left = votes.HalvingLeft(2, (2,))
    assert agent.handle(Received(COORDINATOR, left), 4) == [Finish("budget", 2)]


def test_one_reward_moves_the_odds_of_a_vote_by_less_than_the_claim(votes: Any) -> None:
    """Of two level arms, with all noise drawn: a reward of 1 for arm 0 against one of 0."""
    share = {}
    for reward in (0.0, 1.0):
        draws = np.random.default_rng(7)

        class Laplace:
            def noisy(self, values: Any, sensitivity: float, scale: float) -> Any:
                return values + draws.laplace(0, scale, len(values))  # noqa: B023

        counted: Counter[Any] = Counter()
        for _ in range(4000):
            agent = votes.HalvingAgent(2, votes.HalvingParameters(budget=2), Laplace())
            agent.handle(Started(), 0)
            _, said = agent.handle(Pulled((0, 1), 1, np.array([reward, 0.0])), 1)
            counted[said.message.arms] += 1
        share[reward] = counted[0,] / 4000
    # P(X + 1 > Y) for Laplace's X and Y of scale 1 is 1 - 3 / (4 e) = .724
    assert share[0.0] == pytest.approx(0.5, abs=0.03)
    assert share[1.0] == pytest.approx(0.724, abs=0.03)
    assert share[1.0] / share[0.0] < math.e
    assert (1 - share[0.0]) / (1 - share[1.0]) < math.e
