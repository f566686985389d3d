"""DP-KLUCB and DP-IMED: their divergence, a plain loop, their account and their claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posse
from posse.arms.bernoulli import Bernoulli
from posse.arms.buffer import RewardBuffer
from posse.audit.coupling import run_coupled
from posse.experiments import prepare
from posse.extend import Purpose
from posse.seeds import generator
from posse_arena import lone
from posse_arena.lone import dp_imed, dp_klucb, private_divergence
from tests.support.runfile import describe_run
from tests.support.runs import assert_same_run


def raw(name, **parameters):
    parameters = {"horizon": 300, "epsilon": 2.0, **parameters}
    system, means = f"posse_arena.lone:{name}", [0.8, 0.4, 0.3]
    return describe_run(system, 2, means, seed=3, parameters=parameters, engine="memory")


def kl(z, y):
    return z * np.log(z / y) + (1 - z) * np.log((1 - z) / (1 - y))


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(1e-6, 50.0))
def test_the_divergence_is_the_least_over_all_that_lies_between(x, y, epsilon):
    z = np.linspace(x, y, 20_001)
    least = (epsilon * np.abs(z - x) + kl(z, y)).min()
    assert private_divergence(np.array(x), np.array(y), epsilon) == pytest.approx(
        least, rel=1e-5, abs=1e-9
    )


@pytest.mark.parametrize(("name", "index"), [("DP_KLUCB", dp_klucb), ("DP_IMED", dp_imed)])
def test_a_run_agrees_with_a_plain_loop(name, index):
    run = posse.run(raw(name)).runs[0]
    pulls = [0, 0, 0]
    for rank in range(2):
        drawn, noise, ties = (
            generator(3, 0, rank, purpose)
            for purpose in (Purpose.REWARDS, Purpose.NOISE, Purpose.TIES)
        )
        rewards = RewardBuffer(Bernoulli(np.array([0.8, 0.4, 0.3]), drawn), 3)
        n, s = np.zeros(3), np.zeros(3)
        while n.sum() < 300:
            if n.min() == 0:
                arm, times = int(n.argmin()), 1
            else:
                values = index(np.clip(s / n, 0, 1), n, int(n.sum()) + 1, 2.0)
                arm = int(ties.choice(np.flatnonzero(values == values.max())))
                times = int(min(n[arm], 300 - n.sum()))
            n[arm] += times
            s[arm] += rewards.sums((arm,), times)[0] + noise.laplace(0, 0.5)
        pulls = [a + int(b) for a, b in zip(pulls, n, strict=True)]
    assert run.pulls_per_arm == pulls


def test_both_engines_give_the_same_run_and_each_reward_costs_epsilon_once():
    one, other = (
        posse.run({**raw("DP_IMED", horizon=50), "engine": {"kind": kind}}).runs[0]
        for kind in ("memory", "processes")
    )
    assert_same_run(one, other)
    assert one.privacy.spent_per_agent == [2.0, 2.0]


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "found"), [(1.0, 0), (0.5, 1)])
def test_an_audit_finds_noise_that_is_too_small(scale, found, monkeypatch):
    pytest.importorskip("pydp")
    own = lone.BatchedAgent._learn

    def learn(self, arm, times, total):
        before = self.sums[arm]
        effects = own(self, arm, times, total)
        self.sums[arm] = before + (self.sums[arm] - before - total) * scale + total
        return effects

    monkeypatch.setattr(lone.BatchedAgent, "_learn", learn)
    plan = prepare(raw("DP_IMED", epsilon=1.0, horizon=20))
    result = run_coupled(plan, "pulls", 1.0, 0.0)
    assert result is not None
    assert bool(result.violations) == bool(found)
