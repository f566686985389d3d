"""What a run file of federated elimination may say wrong."""

import pytest

from posse.errors import SpecError
from tests.support.federated import COMPONENTS, spec


@pytest.mark.parametrize(
    ("system", "agents", "topology", "parameters", "where"),
    [
        ("cdp-mab", 4, None, {"participation": 0.0}, "parameters.participation"),
        ("cdp-mab", 4, None, {"participation": 1.1}, "parameters.participation"),
        ("cdp-mab", 4, None, {"max_rounds": 0, "gap": 0.1}, "parameters.max_rounds"),
        ("cdp-mab", 4, None, {"max_rounds": 3}, "parameters.gap"),
        ("cdp-mab", 4, None, {"gap": 0.1}, "parameters.max_rounds"),
        ("ddp-mab", 4, {"kind": "ring"}, {"max_rounds": 3}, "parameters.gap"),
        ("hdp-mab", 9, COMPONENTS, {"gap": 0.1}, "parameters.max_rounds"),
        ("cdp-mab", 4, None, {"epsilon": 0}, "parameters.epsilon"),
        ("cdp-mab", 4, None, {"horizon": 0}, "parameters.horizon"),
        ("cdp-mab", 4, None, {"horizon": 1 << 53}, "parameters.horizon"),
        ("cdp-mab", 4, None, {"noise": "none"}, "parameters.noise"),
        (
            "cdp-mab",
            4,
            None,
            {"noise": "shared", "participation": 0.5},
            "parameters.participation",
        ),
        ("cdp-mab", 1, None, {"noise": "shared"}, "agents.count"),
        ("cdp-mab", 4, None, {"noise": "shared", "precision": 0}, "parameters.precision"),
        (
            "cdp-mab",
            4,
            None,
            {"noise": "shared", "precision": 32, "horizon": 10**9},
            "parameters.precision",
        ),
        ("cdp-mab", 4, None, {"noise": "shared", "honest": 0.0}, "parameters.honest"),
        ("cdp-mab", 4, None, {"noise_law": "laplace"}, "parameters.noise_law"),
        ("cdp-mab", 4, None, {"dropouts": 1}, "parameters.dropouts"),
        ("cdp-mab", 4, None, {"noise": "shared", "dropouts": 2}, "parameters.dropouts"),
        (
            "cdp-mab",
            4,
            None,
            {"noise": "shared", "dropouts": 3, "honest": 1.0},
            "parameters.dropouts",
        ),
        ("cdp-mab", 4, None, {"noise": "shared", "dropouts": 257}, "parameters.dropouts"),
        (
            "cdp-mab",
            4,
            None,
            {"noise": "shared", "noise_law": "laplace", "delta_prime": 1e-6},
            "parameters.delta_prime",
        ),
        ("ddp-mab", 4, {"kind": "ring"}, {"noise": "shared"}, "parameters.noise"),
        ("cdp-mab", 4, {"kind": "ring"}, {}, "topology"),
        ("ddp-mab", 4, None, {}, "topology"),
        ("ddp-mab", 4, {"kind": "rings"}, {}, "topology.kind"),
        ("ddp-mab", 4, {"kind": "ring", "p": 0.1}, {}, "topology.p"),
        ("ddp-mab", 4, {"kind": "ring"}, {"participation": 0.5}, "parameters.participation"),
        ("ddp-mab", 4, {"kind": "ring"}, {"exchange": "shouting"}, "parameters.exchange"),
        ("ddp-mab", 4, {"kind": "edges", "edges": [[0, 1], [2, 3]]}, {}, "topology"),
        ("ddp-mab", 4, {"kind": "edges", "edges": [[0, 4]]}, {}, "topology.edges"),
        ("ddp-mab", 9, COMPONENTS, {}, "topology"),
        ("hdp-mab", 8, COMPONENTS, {}, "topology"),
        (
            "hdp-mab",
            4,
            {"kind": "components", "components": [{"kind": "star", "count": 0}]},
            {},
            "topology.components[0].count",
        ),
    ],
)
def test_wrong_run_files_are_refused_naming_the_key(
    system, agents, topology, parameters, where
) -> None:
    with pytest.raises(SpecError) as error:
        spec(system, agents, topology, parameters=parameters)
    assert error.value.path == where


def test_gaussian_arms_must_be_clipped() -> None:
    with pytest.raises(SpecError, match="clip"):
        spec("cdp-mab", 4, arms={"kind": "gaussian", "means": [0.1, 0.2], "sd": 1.0})
