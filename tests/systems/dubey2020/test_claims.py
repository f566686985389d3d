"""What cooperation claims: the whole schedule, composed, and no more."""

import math
from typing import Any

import pytest

from posse_systems.dubey2020.messages import release_counts
from tests.support.accounting import numerical
from tests.support.claims import RING, plan


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


def test_google_says_no_less() -> None:
    """The claim of the whole schedule against the numerical accountant's lower estimate."""
    costs = [n**-0.55 for n in release_counts(0.1, 1.1, 1000)]
    found = private(horizon=1000).epsilon
    assert numerical(costs, math.exp(-10), least=True) <= found
    assert found <= 1.01 * numerical(costs, math.exp(-10))


def test_disjoint_batches_cost_epsilon_without_a_delta() -> None:
    for claim in (private(releases="doubling"), private("adap-ucb")):
        assert (claim.epsilon, claim.delta, claim.holds) == (0.1, None, True)


@pytest.mark.parametrize("system", ["private-ucb", "dp-ucb-int"])
def test_the_printed_forms_do_not_hold(system: str) -> None:
    claim = private(system, "printed")
    assert not claim.holds
    assert claim.epsilon == pytest.approx(6.718, abs=1e-3)
    assert "Not satisfied as printed" in claim.says


def test_a_long_horizon_too() -> None:
    """A million releases of one arm, ε = 1: the costs n^-.55 add up to 1,111."""
    claim = private(horizon=1_000_000, epsilon=1.0)
    assert 10 < claim.epsilon < 20
