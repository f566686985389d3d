"""Li and Song's schedule: epochs, radii, scales, survivors (2022)."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse_systems.li2022.messages import Schedule, uploaders


def test_schedule_by_hand() -> None:
    """M = 2, K = |I| = 4, T = 100, ε = 1: L = P = log 3200 = 8.0709.

    Round 1: 8 L / (2 / 4) = 129.1; 8 sqrt(2 P) / (2.8284 / 2) = 22.7; so S(1) = 130.
    C(1) = sqrt(8.0709 / 520) + sqrt(64.567) / (2.8284 * 130) = 0.12458 + 0.02185.
    """
    schedule = Schedule(arms=4, senders=2, horizon=100, epsilon=1.0)
    assert schedule.observations(1, 4, 0) == 130
    assert schedule.radius(1, 4, 130) == pytest.approx(0.12458 + 0.02185, abs=1e-4)
    assert schedule.scale(130) == 1 / 260
    per_agent = Schedule(arms=4, senders=2, horizon=100, epsilon=1.0, noise="per_agent")
    assert per_agent.scale(130) == 1 / 130
    # the privacy term doubles with M = 2: 45.4 < 129.1
    assert per_agent.observations(1, 4, 0) == 130
    assert per_agent.radius(1, 4, 130) == pytest.approx(0.12458 + 2 * 0.02185, abs=1e-4)


@given(
    st.integers(1, 60),
    st.integers(2, 100),
    st.integers(1, 10**7),
    st.floats(0.01, 10),
    st.sampled_from(["printed", "per_agent"]),
    st.one_of(st.none(), st.integers(1, 8)),
)
def test_schedule_grows_and_matches_the_plain_formula(
    m, k, horizon, epsilon, noise, rounds
) -> None:
    gap = None if rounds is None else 0.03
    schedule = Schedule(
        arms=k, senders=m, horizon=horizon, epsilon=epsilon, noise=noise, max_rounds=rounds, gap=gap
    )
    before = 0
    for r in range(1, 8):
        active = max(1, k - r)
        now = schedule.observations(r, active, before)
        eps = epsilon if noise == "printed" else epsilon / m
        aim = 2**-r if rounds is None else 0.03 ** (r / rounds)
        plain = max(
            8 * math.log(8 * active * r * r * horizon) / (m * aim**2),
            8 * r * math.sqrt(2 * math.log(8 * k * r * r * horizon)) / (m**1.5 * eps * aim),
        )
        assert now > before
        assert now == max(math.ceil(plain), before + 1) or abs(now - plain) < 1e-6 * plain
        before = now


def test_fig_4_cannot_come_from_the_printed_noise() -> None:
    """M = 50, K = 100: with the printed noise S(r) is the same for ε from .1 to 1."""

    def lengths(epsilon: float, noise: Any) -> list[int]:
        s = Schedule(arms=100, senders=50, horizon=10**5, epsilon=epsilon, noise=noise)
        return [s.observations(r, 100, 0) for r in range(1, 7)]

    assert lengths(0.1, "printed") == lengths(1.0, "printed")
    ratio = [lengths(e, "per_agent")[0] / lengths(1.0, "printed")[0] for e in (0.1, 0.3, 0.5, 1)]
    assert ratio == pytest.approx([11.7, 3.9, 2.3, 1.2], rel=0.05)


class Wide(Schedule):
    """C(r) is 0.2, whatever was observed."""

    def radius(self, r: int, active: int, observations: int) -> float:
        return 0.2


MEANS = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=6)


@given(MEANS, st.integers(1, 3), st.integers(1, 4))
@example([0.5, 0.9, 0.7, 0.4], 2, 4)
@example([0.5, 0.9, 0.7, 0.4], 2, 2)
@example([0.5, 0.9, 0.7, 0.4], 3, 4)
def test_survivors(means: list[float], r: int, present: int) -> None:
    """Within 2 C(r) sqrt(M / present) of the best, until the last round leaves one."""
    schedule = Wide(arms=9, senders=4, horizon=100, epsilon=1.0, max_rounds=3, gap=0.1)
    arms = tuple(range(2, 2 + len(means)))
    width = 0.4 * math.sqrt(4 / present)
    near = [k for k, mean in zip(arms, means, strict=True) if max(means) - mean < width - 1e-9]
    one = arms[means.index(max(means))]
    found = schedule.survivors(r, arms, 10, np.array(means), present)
    edge = [k for k, m in zip(arms, means, strict=True) if abs(max(means) - m - width) < 1e-9]
    assert set(found) - {*edge} == ({one} if r == 3 else {*near})


@given(st.integers(1, 1_000), st.integers(1, 1_000))
@example(50, 210)
@example(3, 1)
def test_uploaders_are_a_share_rounded_up(agents: int, thousandths: int) -> None:
    assert uploaders(agents, thousandths / 1000) == -(-agents * thousandths // 1000)


schedules = st.builds(
    Schedule,
    arms=st.integers(2, 9),
    senders=st.integers(1, 20),
    horizon=st.integers(100, 10**6),
    epsilon=st.floats(0.01, 10.0),
)


@given(schedules, st.integers(1, 12), st.integers(1, 9), st.integers(0, 10**6))
def test_after_a_rounds_observations_no_mean_is_farther_than_half_its_aim(
    schedule: Schedule, r: int, active: int, before: int
) -> None:
    """S(r) is chosen so that both terms of C(r) are at most Δ̃_r / 4: C(r) <= Δ̃_r / 2."""
    observations = schedule.observations(r, active, before)
    assert observations > before
    assert schedule.radius(r, active, observations) <= schedule.aim(r) / 2 * (1 + 1e-9)
    assert schedule.radius(r, active, 2 * observations) < schedule.radius(r, active, observations)
    assert schedule.observations(r, active + 1, before) >= observations


@given(schedules, st.integers(1, 40))
def test_a_round_that_does_not_fit_is_followed_by_none_that_does(
    schedule: Schedule, r: int
) -> None:
    assert schedule.fits(0)
    assert schedule.fits(r) or not schedule.fits(r + 1)
    assert math.isfinite(schedule.aim(r))
