"""Baselines by `posse.extend`: their indices by hand, what they tell each other, how they play."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import posse
from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.extend import Broadcast, Finish, Pull, Pulled, Received, RemoteProtocolError, Started
from posse.plan import prepare
from posse_arena import baselines
from posse_arena.baselines import BaselineAgent, Known, KnownSums, SharedHorizon
from tests.support.runfile import describe_run
from tests.support.runs import assert_same_run, spec

NAMES = ("THOMPSON", "KL_UCB", "MOSS", "EPSILON_GREEDY")


def known(pulls: list[float], means: list[float], t: int = 100, **more: Any) -> Known:
    generator = np.random.default_rng(1)
    return Known(np.array(pulls), np.array(means), t, 1000, SharedHorizon(**more), generator)


@given(st.floats(0.01, 0.99), st.integers(1, 500), st.integers(2, 10_000))
@example(0.3, 20, 100)
def test_kl_ucb_is_as_far_from_the_mean_as_the_divergence_allows(p: float, n: int, t: int) -> None:
    q, none, all_ = baselines.kl_ucb(known([n] * 3, [p, 0.0, 1.0], t, horizon=1000))
    d = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else math.inf
    assert q > p
    assert n * d == pytest.approx(math.log(t), rel=1e-3) or 1 - q < 1e-6
    # a mean of 0: -n log(1 - q) = log t; a mean of 1 has no room above it
    assert (none, all_) == pytest.approx((1 - t ** (-1 / n), 1.0), abs=1e-6)


@given(st.lists(st.tuples(st.integers(1, 2_000), st.floats(0, 1)), min_size=1, max_size=5))
@example([(10, 0.3), (500, 0.5)])
def test_moss_by_hand(arms: list[tuple[int, float]]) -> None:
    """With a horizon of 1,000; where T / (K n) is at most 1 the index is the mean."""
    pulls, means = zip(*arms, strict=True)
    wanted = [mean + math.sqrt(max(0.0, math.log(1000 / (len(arms) * n))) / n) for n, mean in arms]
    assert baselines.moss(known([*pulls], [*means], horizon=1000)) == pytest.approx(wanted)


def test_thompson_draws_from_the_posterior() -> None:
    given = known([8, 98], [0.75, 0.5], horizon=1000)
    drawn = np.array([baselines.thompson(given) for _ in range(4000)])
    # Beta(7, 3) and Beta(50, 50)
    assert drawn.mean(axis=0) == pytest.approx([0.7, 0.5], abs=0.01)


def test_greedy_follows_the_means_but_for_its_share_of_chance() -> None:
    always, never = (
        Known(np.ones(2), np.array([0.2, 0.4]), 9, 99, baselines.AloneGreedy(horizon=99, explore=e),
              np.random.default_rng(1)) for e in (1.0, 0.0)
    )  # fmt: skip
    assert baselines.epsilon_greedy(never).tolist() == [0.2, 0.4]
    first = [int(baselines.epsilon_greedy(always).argmax()) for _ in range(1000)]
    assert sum(first) == pytest.approx(500, abs=60)


def agent(rank: int, neighbours: tuple[int, ...], gamma: int) -> BaselineAgent:
    """Of three agents on a path and two arms, in a run of two slots."""
    ties, draws = np.random.default_rng(1), np.random.default_rng(2)
    parameters = SharedHorizon(horizon=2, gamma=gamma)
    return BaselineAgent(rank, 3, 2, neighbours, parameters, ties, draws, baselines.moss)


@pytest.mark.parametrize(("gamma", "told"), [(1, [1]), (2, [0, 1, 2])])
def test_what_a_neighbour_said_goes_on_as_many_hops_as_gamma_says(
    gamma: int, told: list[int]
) -> None:
    middle = agent(1, (0, 2), gamma)
    assert list(middle.handle(Started(), 0.0)) == [Pull((0,), 1)]
    (first,) = middle.handle(Pulled((0,), 1, np.array([0.5])), 0.0)
    assert first == Broadcast(KnownSums(1, [1], [0], [1, 0], [0.5, 0.0]))
    for sender in (0, 2):
        said = KnownSums(1, [sender], [0], [1, 0], [1.0, 0.0])
        effects = middle.handle(Received(sender, said), 0.0)
    assert list(effects) == [Pull((1,), 1)]
    second, finish = middle.handle(Pulled((1,), 1, np.array([0.25])), 0.0)
    assert second.message.agents == told
    assert finish == Finish("horizon", 0)


@pytest.mark.parametrize(
    "wrong",
    [
        KnownSums(3, [0], [0], [1, 0], [1.0, 0.0]),
        KnownSums(1, [0], [0], [1], [1.0, 0.0]),
        KnownSums(1, [3], [0], [1, 0], [1.0, 0.0]),
        KnownSums(1, [0], [-1], [1, 0], [1.0, 0.0]),
        KnownSums(1, [0], [0], [-1, 0], [-1.0, 0.0]),
        KnownSums(1, [0], [0], [2, 0], [1.0, 0.0]),
        KnownSums(1, [0], [0], [1, 0], [1.5, 0.0]),
        KnownSums(1, [0], [0], [1, 0], [math.nan, 0.0]),
    ],
)
def test_a_message_of_another_slot_or_form_is_refused(wrong: KnownSums) -> None:
    middle = agent(1, (0, 2), 1)
    middle.handle(Started(), 0.0)
    with pytest.raises(RemoteProtocolError):
        middle.handle(Received(0, wrong), 0.0)


def play(name: str) -> posse.RunRecord:
    graph = {"topology": "ring"} if name.startswith("COOP") else {}
    system, parameters = f"posse_arena.baselines:{name}", {"horizon": 150}
    run = describe_run(system, 4, [0.9, 0.5, 0.2], parameters=parameters, **graph)
    return memory.run(prepare(run), 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_finds_the_best_arm_and_cooperation_saves_regret(name: str) -> None:
    alone, together = play(name), play(f"COOPERATIVE_{name}")
    assert (alone.best_arm, together.best_arm) == (0, 0)
    assert alone.communication.data.messages == 0
    assert together.communication.data.messages == 4 * 2 * 150
    assert together.regret < alone.regret


@pytest.mark.parametrize("name", ["THOMPSON", "COOPERATIVE_KL_UCB"])
def test_baselines_are_the_same_in_both(name: str) -> None:
    graph = {"topology": {"kind": "path"}} if name != "THOMPSON" else {}
    parameters = {"horizon": 30} | ({"gamma": 2} if graph else {})
    run = spec(f"posse_arena.baselines:{name}", agents=3, parameters=parameters, **graph)
    with ProcessEngine(run) as engine:
        assert_same_run(memory.run(run, 0), engine.run(run, 0))
