"""What is allowed and probably not meant: said before a run, in a sentence."""

from typing import Any

import pytest

from posse.plan import prepare

RING = {"topology": {"kind": "ring"}}
WIDE: dict[str, dict[str, Any]] = {
    "mase": {},
    "corrupted-elimination": {"agents": {"count": 40}},
    "central": {},
    "independent": {},
    "dp-mase": {"variant": "printed", "parameters": {"epsilon": 1.0}},
    "ucb1": {"parameters": {"horizon": 100}},
    "parallel-ucb": {"parameters": {"horizon": 100}},
    "byzantine-ucb": {"parameters": {"horizon": 100}, **RING},
    "cooperative-ucb": {"parameters": {"horizon": 100}, **RING},
    "tdfs-ucb": {"parameters": {"horizon": 100}, "agents": {"count": 2}},
}


def advice(system: str, arms: dict[str, Any], **given: Any) -> list[str]:
    raw = {
        "system": system,
        "agents": {"count": 6},
        "arms": {"kind": "gaussian", "means": [1.0, 0.0], **arms},
        "engine": {"kind": "memory"},
        **given,
    }
    return prepare(raw).advice()


@pytest.mark.parametrize("system", WIDE)
def test_rewards_that_spread_wider_than_confidence_takes_them_to_are_told(system: str) -> None:
    (said,) = advice(system, {"sd": 5.0}, **WIDE[system])
    assert said.startswith("arms.sd is 5: confidence radii assume rewards of deviation 0.5 at most")
    assert "arms.clip" in said or "parameters.sigma" in said
    for arms in ({"sd": 0.5}, {"sd": 5.0, "clip": [-20.0, 20.0]}):
        assert not [text for text in advice(system, arms, **WIDE[system]) if "arms.sd" in text]


def test_algorithm_3_takes_them_to_have_its_own_deviation() -> None:
    parameters = {"horizon": 100, "sigma": 5.0}
    assert advice("byzantine-ucb", {"sd": 5.0}, parameters=parameters, **RING) == []
    (said,) = advice("byzantine-ucb", {"sd": 6.0}, parameters=parameters, **RING)
    assert "of deviation 5 at most" in said


def test_a_gap_above_the_smallest_is_told() -> None:
    parameters = {"horizon": 10_000, "epsilon": 1.0, "max_rounds": 1, "gap": 0.5}
    arms = {"kind": "bernoulli", "means": [0.82, 0.79]}
    for system, network in (("cdp-mab", {}), ("ddp-mab", RING), ("hdp-mab", RING)):
        (said,) = advice(system, arms, parameters=parameters, **network)
        assert said.startswith("parameters.gap = 0.5: the smallest gap is 0.03, ")
    random = {"kind": "bernoulli", "means": {"random": "uniform", "count": 3}}
    assert advice("cdp-mab", random, parameters=parameters) == []
