"""Ledgers of releases: composition within a block, disjoint rewards across blocks."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.measure.account import entered
from posse.protocol.accounting import Losses, gaussian_deviation, laplace_losses
from posse.protocol.errors import LocalProtocolError
from posse.protocol.machine import Disclose, Pull, Pulled, Started
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import (
    PULL,
    REWARD,
    Claim,
    OnePerson,
    OneRecord,
    OneReward,
    Release,
    format_cost,
    total_cost,
)
from posse.system import get_system, names
from posse_systems.rio2023.agent import DpMaseVoter

LEDGERS = st.lists(
    st.builds(
        Release,
        st.just("laplace"),
        st.just(1.0),
        st.just(1.0),
        st.floats(0, 10),
        st.sampled_from(["a", "b", "c"]),
    ),
    max_size=20,
)


@given(LEDGERS)
def test_spent_is_the_dearest_block(releases: list[Release]) -> None:
    blocks = [math.fsum(r.epsilon for r in releases if r.block == b) for b in "abc"]
    assert total_cost(releases) == pytest.approx(max(blocks))
    composed = [
        laplace_losses(np.array(costs), np.ones(len(costs), dtype=int)).epsilon(1e-6)
        for b in "abc"
        if (costs := [r.epsilon for r in releases if r.block == b])
    ]
    assert total_cost(releases, 1e-6) == pytest.approx(max(composed, default=0.0))


@given(LEDGERS, st.integers(1, 3))
def test_a_ledger_counts_equal_releases_however_they_come(
    releases: list[Release], times: int
) -> None:
    often = [msgspec.structs.replace(release, times=times) for release in releases]
    assert entered(often) == entered(one for one in releases for _ in range(times))


@given(LEDGERS, LEDGERS)
def test_a_longer_ledger_never_costs_less(one: list[Release], more: list[Release]) -> None:
    assert total_cost(one) <= total_cost(one + more) * (1 + 1e-12)
    assert total_cost(one + more) <= (total_cost(one) + total_cost(more)) * (1 + 1e-12)


@settings(max_examples=15)
@given(st.floats(0.05, 5.0))
def test_dp_mase_spends_epsilon_however_many_epochs(epsilon: float) -> None:
    """Equal arms keep it going; each epoch covers rewards of its own."""
    voter = DpMaseVoter(3, 0.5, epsilon, "corrected", SeededNoise(np.random.default_rng(1)))
    releases: list[Release] = []
    effects = voter.handle(Started(), 0.0)
    for _ in range(5):
        (order,) = [e for e in effects if isinstance(e, Pull)]
        sums = np.full(len(order.arms), 0.5 * order.times)
        effects = voter.handle(Pulled(order.arms, order.times, sums), 0.0)
        releases += [e.release for e in effects if isinstance(e, Disclose)]
    assert len(releases) == 5
    assert len({r.block for r in releases}) == 5
    for release in releases:
        assert release.epsilon == pytest.approx(release.sensitivity / release.scale)
    assert total_cost(releases) == pytest.approx(epsilon)


@settings(max_examples=10)
@given(st.floats(5e-324, 9.9e-10) | st.floats(1.01e9, 1e308))
def test_an_epsilon_that_leaves_the_numbers_is_refused_by_every_system(value: float) -> None:
    asked = 0
    for name in names():
        system = get_system(name)
        if "epsilon" in system.parameters.__struct_fields__:
            asked += 1
            with pytest.raises(msgspec.ValidationError, match=r"Expected `float` [<>]= .*epsilon"):
                msgspec.convert({"epsilon": value, "horizon": 50}, system.parameters)
    assert asked >= 9


LAPLACE = Claim(
    change=OneReward(), mechanism="laplace", epsilon=0.5, losses=Losses(laplace=((0.5, 1),))
)
GAUSSIAN = Claim(
    change=OneReward(),
    mechanism="discrete-gaussian",
    epsilon=0.9274,
    delta=1e-6,
    losses=Losses(gaussian=1 / gaussian_deviation(1.0, 1.0, 1e-6) ** 2),
)
UNKNOWN = Claim(change=OneReward(), mechanism="own", epsilon=0.5, delta=1e-6, uncovered="pulls")


@pytest.mark.parametrize(
    ("claim", "epsilon", "delta"),
    [
        (LAPLACE, 5.0, None),  # m ε
        (GAUSSIAN, 12.396, 1e-6),  # the exact Gaussian at 10 Δ, and not 9.27
        (UNKNOWN, 5.0, 1e-6 * math.fsum(math.exp(0.5 * i) for i in range(10))),
    ],
)
def test_a_claim_about_persons_is_that_of_ten_rewards_at_once(
    claim: Claim, epsilon: float, delta: float | None
) -> None:
    of_ten = claim.of_persons(10)
    assert of_ten.epsilon == pytest.approx(epsilon, rel=1e-4)
    assert of_ten.delta == (delta and pytest.approx(delta))
    assert of_ten.cost.epsilon(of_ten.delta) == pytest.approx(of_ten.epsilon)
    assert "all rewards of one person at one agent, at most 10, with arm and" in of_ten.says
    assert f"(one reward: {format_cost(claim.epsilon or 0.0, claim.delta)})" in of_ten.says
    assert of_ten.uncovered.endswith("rewards of the same person at other agents")
    assert claim.of_persons(1).epsilon == pytest.approx(claim.epsilon, rel=1e-4)


def test_no_number_is_claimed_without_the_change_that_it_is_for():
    with pytest.raises(LocalProtocolError, match="ε = 0.5 must say for which change"):
        Claim(mechanism="laplace", epsilon=0.5)
    assert Claim(mechanism="none").unit == REWARD
    assert Claim(change=OneRecord(), mechanism="own", epsilon=1.0).unit == PULL
    of_three = LAPLACE.of_persons(3)
    assert of_three.change == OnePerson(3)
    assert (
        of_three.unit
        == "all rewards of one person at one agent, at most 3, with arm and place fixed"
    )
