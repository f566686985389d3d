"""What cooperation claims: the whole schedule, composed, and no more."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.claims import RING, plan
from tests.support.conversations import examples


def private(system: str = "private-ucb", variant: str = "corrected", **parameters: Any) -> Any:
    slack = {} if system == "adap-ucb" else {"delta_prime": math.exp(-10)}
    given = {"horizon": 10_000, "epsilon": 0.1, **slack, **parameters}
    topology: dict[str, Any] = {"topology": RING} if system == "private-ucb" else {}
    return plan(system, variant=variant, parameters=given, **topology).claim


@pytest.mark.parametrize(("system", "number"), [("private-ucb", 2.469), ("dp-ucb-int", 2.352)])
def test_the_schedule_is_claimed_and_not_the_lemma(system: str, number: float) -> None:
    claim = private(system)
    assert claim.holds
    assert claim.epsilon == pytest.approx(number, abs=1e-3)
    assert claim.delta == math.exp(-10)
    assert f"ε = {number:.3f}"[:8] in claim.says
    assert "δ = 4.5e-05" in claim.says
    assert "Lemma 3.6 of Dubey and Pentland says 6.718" in claim.says


@pytest.mark.parametrize("system", ["private-ucb", "dp-ucb-int"])
def test_the_printed_forms_do_not_hold(system: str) -> None:
    claim = private(system, "printed")
    assert not claim.holds
    assert claim.epsilon == pytest.approx(6.718, abs=1e-3)
    assert "Not satisfied as printed" in claim.says


@examples(Path(__file__).with_name("claims.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
