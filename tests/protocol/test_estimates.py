"""Estimates of arms: their intervals hold all at once, whatever decided who was pulled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posse
from posse.protocol.estimates import latest, observed
from tests.support.conversations import examples

RUN: dict[str, Any] = {
    "system": "cdp-mab",
    "seed": 1,
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": [0.7, 0.66, 0.3, 0.2]},
    "parameters": {"horizon": 2_000, "epsilon": 4.0},
    "engine": {"kind": "memory"},
}


def test_the_interval_holds_when_pulling_stops_as_soon_as_it_looks_wrong() -> None:
    """Of 400 walks of 2,000 rewards at most 5 % ever leave it; the usual interval's 95 % would."""
    means = np.random.default_rng(1).random((400, 2_000)) < 0.5
    counts = np.arange(1, 2_001)
    halves = np.array([observed(0, 0.5, n, 1).high - 0.5 for n in counts.tolist()])
    far = np.abs(np.cumsum(means, axis=1) / counts - 0.5)
    assert (far > halves).any(axis=1).mean() <= 0.05
    assert (far > 1.96 * 0.5 / np.sqrt(counts))[:, 20:].any(axis=1).mean() > 0.3


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


@examples(Path(__file__).with_name("estimates.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
