"""UCB1 and DP-UCB-INT, alone, by hand."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.machine import Disclose, Finish, Pull, Pulled, Started, Variant
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import total_cost
from posse_systems.dubey2020.lone import AdapUcb, LoneUcb, PrivateLoneUcb


def play(machine, rewards):
    """The arms that a machine pulls, all that it does, and what it releases."""
    effects = list(machine.handle(Started(), 0.0))
    chosen = []
    while isinstance(order := effects[-1], Pull):
        (arm,) = order.arms
        chosen.append(arm)
        effects += machine.handle(Pulled((arm,), 1, np.array([rewards[arm]])), 0.0)
    return chosen, effects[-1], [e.release for e in effects if isinstance(e, Disclose)]


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=4), st.integers(4, 60))
@example([1.0, 0.0], 40)
def test_ucb1_by_hand(rewards: list[float], horizon: int) -> None:
    arms = len(rewards)
    chosen, end, _ = play(LoneUcb(arms, horizon, np.random.default_rng(0)), rewards)
    n = [0] * arms
    for t, arm in enumerate(chosen, start=1):
        if t > arms:
            index = [rewards[k] + math.sqrt(2 * math.log(t) / n[k]) for k in range(arms)]
            assert index[arm] == pytest.approx(max(index))
        n[arm] += 1
    assert isinstance(end, Finish)
    assert n[end.arm or 0] == max(n)
    assert len(chosen) == horizon


@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_dp_ucb_int_draws_once_per_release_and_printed_in_every_slot(variant: Variant) -> None:
    machine = PrivateLoneUcb(
        2, 60, np.random.default_rng(0), epsilon=0.2, v=1.1, variant=variant,
        noise=SeededNoise(np.random.default_rng(1)),
    )  # fmt: skip
    _, _, releases = play(machine, [0.0, 1.0])
    drawn = {(release.block, release.sensitivity) for release in releases}
    if variant == "corrected":
        assert len(drawn) == len(releases) == sum(int(n) // 5 for n in machine.pulls)
    else:
        assert len(drawn) < len(releases)


def test_adap_ucb_by_hand() -> None:
    """Episodes double an arm's pulls; each is noised once, over its own rewards alone."""
    epsilon, alpha, T = 0.5, 4.0, 200
    machine = AdapUcb(
        2, T, np.random.default_rng(0), epsilon=epsilon, alpha=alpha,
        noise=SeededNoise(np.random.default_rng(1)),
    )  # fmt: skip
    draws = np.random.default_rng(1)
    pulls, length, mean, t = [0, 0], [0, 0], [0.0, 0.0], 0
    effects = machine.handle(Started(), 0.0)
    ledger = []
    while isinstance(effects[-1], Pull):
        ((arm,), times) = (effects[-1].arms, effects[-1].times)
        if t >= 2:
            index = [
                mean[a] + math.sqrt(alpha * math.log(t + 1) / (2 * length[a]))
                + alpha * math.log(t + 1) / (epsilon * length[a]) for a in (0, 1)
            ]  # fmt: skip
            assert index[arm] == max(index)
            assert times == min(pulls[arm], T - t)
        else:
            assert (arm, times) == (t, 1)
        whole = times == max(1, pulls[arm])
        effects = machine.handle(Pulled((arm,), times, np.array([0.25 * times])), 0.0)
        ledger += [effect.release for effect in effects if isinstance(effect, Disclose)]
        t, pulls[arm] = t + times, pulls[arm] + times
        if whole:
            length[arm], mean[arm] = times, 0.25 + draws.laplace(0, 1 / (epsilon * times))
            release = ledger[-1]
            assert release.sensitivity == 1 / times
            assert release.scale == 1 / (epsilon * times)
            assert release.block == f"arm {arm}, rewards {pulls[arm] - times + 1} to {pulls[arm]}"
        assert machine.pulls.tolist() == pulls
    assert t == T
    assert effects[-1] == Finish("horizon", int(np.argmax(pulls)))
    assert len({release.block for release in ledger}) == len(ledger)
    assert total_cost(ledger) == epsilon
