"""Steps over arrays make the records of players' machines, field by field."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.engines import arrays
from posse.plan import prepare
from posse.system.steps import Stepped
from posse_systems.dubey2020.steps import LoneSteps
from tests.engines.test_arrays import EPSILONS, NUMBERS, assert_equal_records, used

PLAYERS = ("random-player", "tdfs-ucb", "tdfs-private", "tdfs-private-bound")


def players(system: str, count: int, means: list[float], horizon: int, **more: Any) -> Any:
    if "private" in system:
        more = {"epsilon": 1.0} | more
    return {
        "system": system,
        "seed": 4,
        "agents": {"count": count},
        "arms": {"kind": "bernoulli", "means": means},
        "parameters": {"horizon": horizon, **more},
        "engine": {"kind": "memory"},
    }


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """Players of any of the systems, with means that are often level."""
    system = draw(st.sampled_from(PLAYERS))
    means = draw(st.lists(NUMBERS, min_size=2, max_size=5))
    count = draw(st.integers(1, len(means)))
    horizon = draw(st.integers(1, 40) | st.integers(200, 600))
    more: dict[str, Any] = {"collision": draw(st.sampled_from([1, 2]))}
    more |= draw(st.sampled_from([{}, {"shared_sample": False}]))
    if system != "random-player":
        found = st.sampled_from(["agreed", "found"])
        more["offsets"] = draw(found | st.permutations(range(1, count + 1)))
    if "private" in system:
        more["epsilon"] = draw(EPSILONS)
        more |= draw(st.sampled_from([{}, {"split": "tossou"}, {"counter": "tree"}]))
    arms: dict[str, Any] = {"kind": "bernoulli", "means": means}
    drawn = {"random": "uniform", "count": len(means), "low": 0.2, "high": 0.8}
    arms |= draw(st.sampled_from([{}, {}, {"means": drawn}]))
    clips = [[0.0, 1.0]] if "private" in system else [[0.0, 1.0], [-1.0, 2.0]]
    if draw(st.booleans()):
        arms |= {"kind": "gaussian", "sd": 0.4, "clip": draw(st.sampled_from(clips))}
    return players(system, count, means, horizon, **more) | {
        "seed": draw(st.integers(0, 1 << 40)),
        "arms": arms,
        "variant": draw(st.sampled_from(["corrected", "printed"])),
    }


@given(runs(), st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=30)
def test_steps_make_the_records_of_players(raw: dict[str, Any], repeat: int, first: int) -> None:
    assert_equal_records(raw, range(first, first + repeat))


@pytest.mark.parametrize("system", PLAYERS)
@pytest.mark.parametrize("more", [{}, {"shared_sample": False}, {"collision": 2}])
def test_runs_of_players_move_together(
    monkeypatch: pytest.MonkeyPatch, system: str, more: dict[str, Any]
) -> None:
    """What the property holds is held of steps, not of machines twice."""
    assert used(monkeypatch, players(system, 2, [0.9, 0.5, 0.5], 20, **more), range(3)) == [3]


@pytest.mark.parametrize("counter", ["tree", "honaker"])
def test_other_counters_are_declined(monkeypatch: pytest.MonkeyPatch, counter: str) -> None:
    raw = players("tdfs-private", 2, [0.9, 0.5], 20, counter=counter)
    assert used(monkeypatch, raw, range(3)) == [0]


@pytest.mark.parametrize("system", PLAYERS)
def test_long_runs_are_the_same(system: str) -> None:
    """Rewards, choices and noise of several blocks; trees of several levels; a thinned curve."""
    assert_equal_records(players(system, 2, [0.9, 0.8], 2_100), range(2))


def test_choices_of_arms_with_long_numbers_are_counted() -> None:
    """An arm takes one byte up to 127, and two up to 255; so does a slot."""
    assert_equal_records(players("random-player", 3, [0.5] * 140, 300), range(2))


def test_steps_of_agents_with_arms_of_their_own_are_not_used() -> None:
    plan = prepare(players("tdfs-ucb", 2, [0.9, 0.5], 20))
    shape: Any = plan.system.shape
    role = replace(shape.agent, make=Stepped(shape.agent.make.make, LoneSteps))
    system = replace(plan.system, shape=replace(shape, agent=role))
    assert arrays.run(replace(plan, system=system), range(3)) is None
