"""What a run file of federated elimination may say wrong."""

from typing import Any

import pytest

from posse.errors import SpecError
from tests.support.federated import COMPONENTS, spec

RING = {"kind": "ring"}
SHARED = {"noise": "shared"}
WIRED: dict[str, Any] = {"cdp-mab": (4, None), "ddp-mab": (4, RING), "hdp-mab": (9, COMPONENTS)}


@pytest.mark.parametrize(
    ("system", "parameters", "where"),
    [
        ("cdp-mab", {"participation": 0.0}, "participation"),
        ("cdp-mab", {"participation": 1.1}, "participation"),
        ("cdp-mab", {"max_rounds": 0, "gap": 0.1}, "max_rounds"),
        ("cdp-mab", {"max_rounds": 3}, "gap"),
        ("cdp-mab", {"gap": 0.1}, "max_rounds"),
        ("ddp-mab", {"max_rounds": 3}, "gap"),
        ("hdp-mab", {"gap": 0.1}, "max_rounds"),
        ("cdp-mab", {"epsilon": 0}, "epsilon"),
        ("cdp-mab", {"horizon": 0}, "horizon"),
        ("cdp-mab", {"horizon": 1 << 53}, "horizon"),
        ("cdp-mab", {"noise": "none"}, "noise"),
        ("cdp-mab", SHARED | {"participation": 0.5}, "participation"),
        ("cdp-mab", SHARED | {"precision": 0}, "precision"),
        ("cdp-mab", SHARED | {"precision": 32, "horizon": 10**9}, "precision"),
        ("cdp-mab", SHARED | {"honest": 0.0}, "honest"),
        ("cdp-mab", {"noise_law": "laplace"}, "noise_law"),
        ("cdp-mab", {"dropouts": 1}, "dropouts"),
        ("cdp-mab", SHARED | {"dropouts": 2}, "dropouts"),
        ("cdp-mab", SHARED | {"dropouts": 3, "honest": 1.0}, "dropouts"),
        ("cdp-mab", SHARED | {"dropouts": 257}, "dropouts"),
        ("cdp-mab", SHARED | {"noise_law": "laplace", "delta_prime": 1e-6}, "delta_prime"),
        ("ddp-mab", SHARED, "noise"),
        ("ddp-mab", {"participation": 0.5}, "participation"),
        ("ddp-mab", {"exchange": "shouting"}, "exchange"),
    ],
)
def test_wrong_parameters_are_refused_by_name(
    system: str, parameters: dict[str, Any], where: str
) -> None:
    with pytest.raises(SpecError) as error:
        spec(system, *WIRED[system], parameters=parameters)
    assert error.value.path == f"parameters.{where}"


NOBODY = {"kind": "components", "components": [{"kind": "star", "count": 0}]}


@pytest.mark.parametrize(
    ("system", "agents", "topology", "where"),
    [
        ("cdp-mab", 4, RING, "topology"),
        ("ddp-mab", 4, None, "topology"),
        ("ddp-mab", 4, {"kind": "rings"}, "topology.kind"),
        ("ddp-mab", 4, RING | {"p": 0.1}, "topology.p"),
        ("ddp-mab", 4, {"kind": "edges", "edges": [[0, 1], [2, 3]]}, "topology"),
        ("ddp-mab", 4, {"kind": "edges", "edges": [[0, 4]]}, "topology.edges"),
        ("ddp-mab", 9, COMPONENTS, "topology"),
        ("hdp-mab", 8, COMPONENTS, "topology"),
        ("hdp-mab", 4, NOBODY, "topology.components[0].count"),
    ],
)
def test_wrong_topologies_are_refused_by_name(
    system: str, agents: int, topology: Any, where: str
) -> None:
    with pytest.raises(SpecError) as error:
        spec(system, agents, topology)
    assert error.value.path == where


def test_one_agent_shares_no_noise() -> None:
    with pytest.raises(SpecError) as error:
        spec("cdp-mab", 1, parameters=SHARED)
    assert error.value.path == "agents.count"


def test_gaussian_arms_must_be_clipped() -> None:
    with pytest.raises(SpecError, match="clip"):
        spec("cdp-mab", 4, arms={"kind": "gaussian", "means": [0.1, 0.2], "sd": 1.0})
