"""Estimates of arms: their intervals hold all at once, whatever decided who was pulled."""

import math
from typing import Any

import numpy as np
import pytest

import posse
from posse.errors import InputError, SpecError
from posse.protocol.estimates import Estimate, latest, observed, released

RUN: dict[str, Any] = {
    "system": "cdp-mab",
    "seed": 1,
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": [0.7, 0.66, 0.3, 0.2]},
    "parameters": {"horizon": 2_000, "epsilon": 4.0},
    "engine": {"kind": "memory"},
}


def test_intervals_by_hand() -> None:
    # 1.7 * .5 * sqrt((ln ln 200 + .72 ln(10.4 / .0125)) / 100), .0125 = .05 / 4
    half = 0.85 * math.sqrt((math.log(math.log(200)) + 0.72 * math.log(832)) / 100)
    found = observed(2, 0.5, 100, 4)
    assert (found.arm, found.mean, found.rewards) == (2, 0.5, 100)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))
    # Hoeffding at .05 / 4 / 2; with noise at half of that, and Laplace's quantile b ln(1 / p)
    half = 0.5 * math.sqrt(2 * math.log(2 / 0.00625) / 100)
    assert released(0, 0.5, 100, 4, look=1).high == pytest.approx(0.5 + half)
    half = 0.5 * math.sqrt(2 * math.log(2 / 0.003125) / 100) + 0.1 * math.log(1 / 0.003125)
    assert released(0, 0.5, 100, 4, look=1, laplace=0.1).low == pytest.approx(0.5 - half)


def test_the_interval_holds_when_pulling_stops_as_soon_as_it_looks_wrong() -> None:
    """Of 400 walks of 2,000 rewards at most 5 % ever leave it; the usual interval's 95 % would."""
    means = np.random.default_rng(1).random((400, 2_000)) < 0.5
    counts = np.arange(1, 2_001)
    halves = np.array([observed(0, 0.5, n, 1).high - 0.5 for n in counts.tolist()])
    far = np.abs(np.cumsum(means, axis=1) / counts - 0.5)
    assert (far > halves).any(axis=1).mean() <= 0.05
    assert (far > 1.96 * 0.5 / np.sqrt(counts))[:, 20:].any(axis=1).mean() > 0.3


def test_noise_of_many_draws_stays_inside() -> None:
    """The average of 20 Laplace draws, 4,000 times, with the rewards known: error 2.5 %."""
    draws = np.random.default_rng(2).laplace(0, 0.2, (4_000, 20)).mean(axis=1)
    one = released(0, 0.0, 10**12, 1, look=1, laplace=0.2, draws=20)
    assert (np.abs(draws) > one.high).mean() < 0.0125
    assert one.high < released(0, 0.0, 10**12, 1, look=1, laplace=0.2).high / 2


def test_a_lab_tells_what_the_machines_were_given() -> None:
    (run,) = posse.run(RUN).runs
    assert [one.rewards for one in run.estimates] == run.pulls_per_arm
    for one, mean in zip(run.estimates, (0.7, 0.66, 0.3, 0.2), strict=True):
        assert one.low < mean < one.high
    told = latest(run.log)  # what the server knows by noisy means
    assert all(
        one.low < mean < one.high for one, mean in zip(told, (0.7, 0.66, 0.3, 0.2), strict=True)
    )
    assert [one.arm for one in told] == [0, 1, 2, 3]


def test_the_last_row_of_an_arm_counts() -> None:
    rows = [[1.0, 3, 0.5, 0.4, 0.6, 10], [2.0, 1, 0.5, 0.4, 0.6, 10], [3.0, 3, 0.7, 0.6, 0.8, 20]]
    assert latest({"estimates": rows}) == [
        Estimate(1, 0.5, 0.4, 0.6, 10),
        Estimate(3, 0.7, 0.6, 0.8, 20),
    ]
    assert latest({}) == []


def test_arms_without_a_bound_have_no_interval() -> None:
    sure = {"kind": "gaussian", "means": [0.5, 0.1], "sd": 2.0}
    (run,) = posse.run(
        RUN | {"system": "mase", "arms": sure, "parameters": {"delta": 0.5}, "agents": {"count": 2}}
    ).runs
    wide = run.estimates[0]
    unit = observed(0, wide.mean, wide.rewards, 2)
    assert wide.high - wide.mean == pytest.approx(4 * (unit.high - unit.mean))


@pytest.mark.parametrize("system", ["cdp-mab", "single-mab", "central"])
def test_a_run_goes_on_without_what_is_ruled_out(system: str) -> None:
    first = posse.run(RUN)
    private = {"parameters": {"horizon": 500, "epsilon": 4.0}}
    other = (
        RUN
        | {"system": system, "seed": 7}
        | ({"parameters": {}} if system == "central" else private)
    )
    spec = posse.resume_from(first, other)
    assert spec.parameters["candidates"] == [0, 1]
    (run,) = posse.run(spec).runs
    assert run.pulls_per_arm[2:] == [0, 0]
    assert run.best_arm in (0, 1, None)
    assert posse.resume_from(first).seed == 2


def test_there_must_be_something_to_go_on_with() -> None:
    first = posse.run(RUN, parameters={"horizon": 12, "epsilon": 9.0})
    with pytest.raises(InputError, match="no arm is ruled out"):
        posse.resume_from(first)
    clear = posse.run(RUN | {"arms": {"kind": "bernoulli", "means": [0.9, 0.1]}})
    with pytest.raises(InputError, match="arm 0 alone is left, which is the answer"):
        posse.resume_from(clear)
    with pytest.raises(InputError, match="ucb1 cannot begin with fewer arms"):
        posse.resume_from(clear, RUN | {"system": "ucb1", "parameters": {"horizon": 10}})
    with pytest.raises(SpecError, match="candidates: this system cannot begin with fewer arms"):
        posse.run(RUN | {"system": "ucb1", "parameters": {"horizon": 9, "candidates": [0, 1]}})
    with pytest.raises(SpecError, match="two arms or more, each once"):
        posse.run(RUN, parameters={"candidates": [1]})
    with pytest.raises(SpecError, match="names arm 4, but there are 4"):
        posse.run(RUN, parameters={"candidates": [1, 4]})


@pytest.mark.parametrize("system", ["tdfs-private", "tdfs-private-bound"])
@pytest.mark.parametrize("counter", ["hybrid", "honaker"])
def test_each_player_tells_what_its_noisy_sums_show(system: str, counter: str) -> None:
    means = [0.9, 0.5, 0.1]
    (run,) = posse.run({
        "system": system,
        "seed": 3,
        "agents": {"count": 2},
        "arms": {"kind": "bernoulli", "means": means},
        "parameters": {"horizon": 3_000, "epsilon": 2.0, "counter": counter},
        "engine": {"kind": "memory"},
    }).runs  # fmt: skip
    for player in range(2):
        told = latest(run.agent_logs[player])
        assert [one.arm for one in told] == [0, 1, 2]
        assert sum(one.rewards for one in told) == 3_000
        assert all(one.low < mean < one.high for one, mean in zip(told, means, strict=True))
    assert posse.run(RUN | {"system": "ucb1", "parameters": {"horizon": 10}}).runs[0].estimates
