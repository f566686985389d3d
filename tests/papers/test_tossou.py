"""Tossou and Dimitrakakis 2015: times, choices and what players tell, by hand."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.agent.hybrid import HybridSums
from posse.protocol.machine import COORDINATOR, Received, Started
from posse.protocol.noise import SeededNoise
from posse_papers.sample import Sample, regret
from posse_papers.statements import Measured
from posse_papers.tossou import compared, figures, proofs, theory
from posse_papers.tossou.figures import RANDOM_PACE
from posse_systems.tossou2015.agent import TdfsPlayer, UcbPrivateBound
from posse_systems.tossou2015.messages import Outcome
from tests.support.claims import plan
from tests.support.conversations import examples
from tests.support.noise import deviation
from tests.support.papers import GENERATOR, alike_on_average


def test_lai_and_robbins_leave_a_bad_arm_until_its_bound_exceeds_the_leader():
    assert compared.divergence(0.5, 1.0) == math.inf
    policy = compared.LaiRobbins((3, 7))
    for arm in (3, 7):
        assert policy.choose() == arm
        policy.learn(arm, float(arm == 7))
    # step 2 is arm 3's turn: mean 0 of one reward, against a leader of mean 1
    assert policy.choose() == 7
    policy.learn(7, 0.0)
    policy.learn(7, 0.0)
    # step 4: the leader has mean 1/3, and KL(0, 1/3) = .41 is below log 4
    assert policy.choose() == 3


@given(st.none() | st.floats(0.3, 1.0), st.floats(100.0, 10_000.0))
@example(None, 1000.0)
@example(0.5, 1000.0)
def test_growth_by_a_power_is_no_logarithm(power, scale):
    def regret_by(t: float) -> float:
        return t**power if power else math.log(1 + 1e6 * t)

    quarters = [[(scale + n) * regret_by(t) for t in range(5)] for n in range(3)]
    runs = Measured("corrected", regret)
    runs.runs["a", 0.0] = [
        Sample(status="computed", numbers={"quarters": found}) for found in quarters
    ]
    assert compared.flattens("a")(runs).held == ("fails" if power else "holds")


def curve(of, last=1000.0):
    """A regret curve of 200 points."""
    return Sample(
        status="horizon", curve=[[last * i / 200, of(last * i / 200)] for i in range(201)]
    )


@given(st.none() | st.floats(0.4, 1.0), st.floats(0.1, 100.0))
@example(None, 50.0)
@example(0.5, 10.0)
@example(1.0, 0.4)
def test_what_grows_like_a_logarithm(power, scale):
    def of(t):
        return scale * (t**power if power else math.log(1 + t))

    runs = Measured("corrected", regret)
    runs.runs["a", 0.0] = [curve(of), curve(lambda t: 1.01 * of(t))]
    assert figures.logarithmic(("a",))(runs).held == ("fails" if power else "holds")


def turning(at):
    """As bad as the random player until then, and ten times better from then on."""
    return curve(lambda t: RANDOM_PACE * (min(t, at) + 0.1 * max(t - at, 0.0)), last=5000.0)


@given(st.integers(300, 900) | st.integers(1_900, 3_500))
@example(2000)
@example(800)
def test_what_begins_late_has_not_begun_at_five_times_the_time(late):
    runs = Measured("corrected", regret)
    runs.runs["as in (a), ε = 1: a", 0.0] = [turning(300)] * 2
    runs.runs["a", 0.0] = [turning(late), turning(1.01 * late)]
    # the other begins at 350; what lies about five times that stays open
    held = figures.begins_late("a", 5.0)(runs).held
    assert held == ("holds" if late > 1_500 else "fails")


def plays_of_player_8(horizon: int, draw: random.Random) -> int:
    """UCB1 that pulls the arm of rank j, in plain numbers: what is left of it without noise."""
    n, won, plays = [0] * 9, [0.0] * 9, 0
    for t in range(1, horizon + 1):
        if t <= 9:
            arm = (t - 1 + 7) % 9
        else:
            falling = sorted(
                range(9), key=lambda a: -(won[a] / n[a] + math.sqrt(2 * math.log(t) / n[a]))
            )
            arm = falling[(t - 1 + 7) % 8]
            plays += (t - 1) % 8 == 0 and arm == 8 and falling[:7] == list(range(7))
        n[arm] += 1
        won[arm] += draw.random() < 0.98 - 0.12 * arm
    return plays


def test_player_8_of_8_without_noise_is_ucb1_by_rank():
    """ε = 10⁹: no noise, and no privacy term to speak of."""
    found = [
        theory.last_players_plays(4000, 1e9, variant="printed", generator=GENERATOR(seed))
        for seed in range(12)
    ]
    alike_on_average(found, [plays_of_player_8(4000, random.Random(seed)) for seed in range(12)])
    assert theory.last_players_plays(
        4000, 1e9, False, variant="printed", generator=GENERATOR(1)
    ) == pytest.approx(sum(found) / 12, rel=0.2)


def pulls_arm_0_twice(offset: int, sample: float, noise: SeededNoise) -> bool:
    """Whether a real player does what `theory.pulls_twice` computes, on this sample."""
    index = UcbPrivateBound(
        theory.ARMS, theory.EPSILON, "corrected",
        [HybridSums(1, theory.EPSILON, "half", noise) for _ in range(theory.ARMS)],
    )  # fmt: skip
    player = TdfsPlayer(theory.PLAYERS, theory.ARMS, theory.ARMS + 2, index, offset=offset)
    player.handle(Started(), 0.0)
    for slot in range(1, theory.ARMS + 2):
        seen = float(player.arm == 0) if slot <= theory.ARMS else sample
        if slot > theory.ARMS and player.arm != 0:
            return False
        told = Outcome(slot, seen, seen, True)
        player.handle(Received(COORDINATOR, told), float(slot))
    return player.arm == 0


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "sample"), [(1, 0.0), (1, 1.0), (2, 1.0)])
def test_the_computed_choices_are_those_of_real_players(offset: int, sample: float) -> None:
    """Wrong once in ten thousand."""
    trials, noise = 4000, SeededNoise(GENERATOR(11))
    hits = sum(pulls_arm_0_twice(offset, sample, noise) for _ in range(trials))
    chance = theory.pulls_twice(offset, variant="corrected", generator=GENERATOR(12))[int(sample)]
    assert abs(hits - trials * chance) < 3.9 * math.sqrt(trials * chance * (1 - chance))


def test_a_sample_that_all_saw_tells_all_choices_more_than_epsilon() -> None:
    """66a882c claimed ε against whoever sees all choices, with one sample for all that collide."""

    def ratio(*offsets: int) -> float:
        return theory.log_ratio(offsets, variant="corrected", generator=GENERATOR(13))["value"]

    assert max(map(ratio, (1, 2, 3, 4))) <= theory.EPSILON
    together = ratio(1, 2, 3, 4)
    assert 1.5 * theory.EPSILON < together <= theory.PLAYERS * theory.EPSILON
    claim = plan("tdfs-private-bound", parameters={"horizon": 100, "epsilon": 4.0}).claim
    assert together <= claim.epsilon == 16.0


@pytest.mark.parametrize("counter", ["hybrid", "tree", "honaker"])
def test_the_error_of_a_counter_is_that_of_its_noise(counter: str) -> None:
    """Against the mean of the variances of the numbers that releases are made of."""
    made = theory.made(counter, SeededNoise(GENERATOR(0)))
    variances = []
    for _ in range(64):
        made.insert(0, 0.0)
        variances.append(deviation(made) ** 2)
    wanted = math.sqrt(sum(variances[32:]) / 32)
    found = [theory.error(counter, 64, generator=GENERATOR(s)) for s in range(40)]
    assert math.sqrt(sum(x * x for x in found) / 40) == pytest.approx(wanted, rel=0.1)


@given(st.floats(1e-6, 0.99), st.floats(5.0, 1e4), st.integers(1, 12))
@example(0.5, 20.0, 4)
def test_steps_of_the_proofs_by_hand(delta, factor, players):
    # one noise: e^(-ln(1/δ)); two: (1 + x/2) e^-x at x = √2 ln(1/δ)
    assert proofs.fact_1(delta, 1) == pytest.approx(1.0)
    x = math.sqrt(2) * math.log(1 / delta)
    assert proofs.fact_1(delta, 2) == pytest.approx((1 + x / 2) * math.exp(-x) / delta)
    n = proofs.root(factor)
    assert n == pytest.approx(factor * math.log(n) ** 1.5)
    assert proofs.target(players) == 1

    # M Σ_p Σ_{j<=p} (40 - j) τ over M², as many times as for two
    def bound(m):
        return sum(40 - j for p in range(1, m + 1) for j in range(1, p + 1)) / m

    assert proofs.theorem_6(players, False) == pytest.approx(bound(players) / bound(2))


@examples(Path(__file__).with_name("tossou.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
