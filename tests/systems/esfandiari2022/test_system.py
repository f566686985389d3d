"""What a run file of anonymous bandits may say wrong, what is advised against, and their claim."""

import re
from typing import Any

import pytest

from posse.errors import SpecError
from tests.support.anonymous import spec
from tests.support.claims import plan


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"agents": 3}, "agents.count", "no algorithm can learn"),
        ({"parameters": {"precision": 52, "horizon": 1 << 30}}, "parameters.precision", "bits"),
        ({"parameters": {"horizon": 30}}, "parameters.horizon", "at least 33"),
        ({"parameters": {"cluster_size": 3}}, "parameters.cluster_size", "at least C"),
        ({"parameters": {"cluster_size": 21}}, "parameters.cluster_size", "at most all 20"),
        ({"parameters": {"group_size": 1}}, "parameters.group_size", "2"),
        ({"parameters": {"dropouts": 17}}, "agents.count", "C + 1 = 21"),
        (
            {"parameters": {"dropouts": 1, "aggregation": "sink"}},
            "parameters.dropouts",
            "only masked sums",
        ),
        ({"parameters": {"decomposition": "lpp"}}, "parameters.decomposition", "'lp'"),
        ({"arms": {"kind": "gaussian", "means": [0.0, 1.0]}}, "arms.clip", "clip"),
        (
            {"system": "explore-then-commit", "parameters": {"horizon": 23}},
            "parameters.horizon",
            "a single sweep lasts 24",
        ),
    ],
)
def test_bad_specifications(changes: dict[str, Any], path: str, words: str) -> None:
    system = changes.pop("system", "anonymous")
    with pytest.raises(SpecError) as caught:
        spec(system, **changes)
    assert caught.value.path == path
    assert words in caught.value.problem


def test_the_named_precision_and_horizon_are_accepted() -> None:
    with pytest.raises(SpecError) as caught:
        spec(parameters={"precision": 52, "horizon": 1 << 30})
    named = int(caught.value.problem.rsplit(" ", 1)[1])
    spec(parameters={"precision": named, "horizon": 1 << 30})
    with pytest.raises(SpecError):
        spec(parameters={"precision": named + 1, "horizon": 1 << 30})
    spec(parameters={"horizon": 33})


def test_the_provable_constant_is_advised_against() -> None:
    one = spec(parameters={"learning_rate": 12.0})
    (advice,) = one.system.advise(one.spec, one.parameters)
    assert "nothing will be eliminated" in advice
    large = spec(parameters={"learning_rate": 1e308})
    assert "needs inf estimates" in large.system.advise(large.spec, large.parameters)[0]
    arms = {"kind": "bernoulli", "means": [0.9, 0.5, 0.4, 0.3, 0.2]}
    near = spec(agents=4, arms=arms, parameters={"horizon": 300, "group_size": 2})
    (advice,) = near.system.advise(near.spec, near.parameters)
    needed, room = map(int, re.findall(r"needs (\d+) .* room for (\d+);", advice)[0])
    assert needed > room
    default = spec(parameters={"horizon": 100_000})
    assert default.system.advise(default.spec, default.parameters) == []


@pytest.mark.parametrize(("mode", "there"), [("lab", True), ("field", False)])
def test_only_the_lab_has_a_closing_report_of_every_user(mode: str, there: bool) -> None:
    claim = plan("anonymous", 8, mode=mode, parameters={"horizon": 100, "group_size": 2}).claim
    assert ("closing report" in claim.uncovered) == there


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "the coordinator, even one that lies"),
        ({"dropouts": 1}, "the coordinator, even one that lies"),
        ({"dropouts": 2}, "the coordinator, which follows the protocol"),
        ({"aggregation": "sink"}, "the coordinator, which follows the protocol"),
    ],
)
def test_against_whom_a_sum_is_claimed(parameters: dict[str, Any], said: str) -> None:
    asked = {"horizon": 1_000, "group_size": 2, **parameters}
    assert plan("anonymous", 8, parameters=asked).claim.adversary == said
