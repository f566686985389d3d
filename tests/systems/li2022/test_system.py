"""What a run file of federated elimination may say wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posse.errors import SpecError
from tests.support.conversations import examples
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


@examples(Path(__file__).with_name("system.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
