"""Players, against the paper written down naively from the whole history."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.agent.hybrid import HybridSums
from posse.agent.tree import TreeSums
from posse.protocol.machine import COORDINATOR, Note, Received, Send, Started, Variant
from posse.protocol.noise import SeededNoise
from posse_systems.tossou2015.agent import (
    TdfsPlayer,
    Ucb,
    UcbPrivate,
    UcbPrivateBound,
)
from posse_systems.tossou2015.messages import Choice, Outcome, deviation_factor, privacy_factor
from tests.support.noise import NoNoise


def play(player, samples, collisions=None):
    """The arms that a player chooses when its t-th choice of arm a shows samples[t, a]."""
    effects = player.handle(Started(), 0.0)
    arms: list[int] = []
    for t in range(len(samples)):
        (choice,) = [e.message for e in effects if isinstance(e, Send)]
        assert isinstance(choice, Choice)
        assert choice.slot == t + 1
        arms.append(choice.arm)
        hit = bool(collisions is not None and collisions[t])
        outcome = Outcome(t + 1, float(samples[t, choice.arm]), 0.0, hit)
        effects = player.handle(Received(COORDINATOR, outcome), t + 1.0)
    assert not [e for e in effects if isinstance(e, Send)]  # T slots are over
    return arms


def naive(samples, players, offset, term=lambda t, n: 0.0):
    T, N = samples.shape
    seen: list[list[float]] = [[] for _ in range(N)]
    arms = []
    for t in range(1, T + 1):
        if t <= N:
            arm = (offset + t) % N
        else:
            index = [
                sum(x) / len(x) + math.sqrt(2 * math.log(t) / len(x)) + term(t, len(x))
                for x in seen
            ]
            j = ((t - 1) + (offset - 1)) % players + 1
            arm = sorted(range(N), key=lambda a: (-round(index[a], 12), a))[j - 1]
        seen[arm].append(samples[t - 1, arm])
        arms.append(arm)
    return arms


@given(
    players=st.integers(1, 4),
    more=st.integers(0, 4),
    offset=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=30)
def test_players_choose_as_the_paper_says(players, more, offset, seed):
    N, T = max(players + more, 2), 120
    offset = min(offset, players)
    # continuous samples: no two indices are equal
    samples = np.random.default_rng(seed).random((T, N))

    def machine(index):
        return TdfsPlayer(players, N, T, index, offset)

    assert play(machine(Ucb(N)), samples) == naive(samples, players, offset)
    counter = partial(HybridSums, epsilon=0.5, split="half", noise=NoNoise())
    private = UcbPrivate(N, counter(N))
    assert play(machine(private), samples) == naive(samples, players, offset)
    leasts: dict[Variant, int] = {"printed": 1, "corrected": 2}
    for variant, least in leasts.items():
        bound = UcbPrivateBound(N, 0.5, variant, [counter(1) for _ in range(N)])
        expected = naive(
            samples,
            players,
            offset,
            lambda t, n, least=least: 4 * math.log(t) / 0.5 * math.log(max(n, least)) ** 1.5 / n,
        )
        assert play(machine(bound), samples) == expected


def test_the_privacy_term_of_a_tree_follows_its_own_noise():
    noise = SeededNoise(np.random.default_rng(0))
    assert deviation_factor(87.3, 1.0, 20_000) == pytest.approx(
        privacy_factor(20_000, "printed"), rel=0.02
    )  # the hybrid mechanism's deviation gives the print

    trees = [TreeSums(1, 0.5, 8, noise) for _ in range(2)]
    index = UcbPrivateBound(2, 0.5, "corrected", trees)
    for _ in range(3):
        index.observe(1, 0.0)
    # after three items: two nodes, each Laplace of scale 4 levels / ε
    sigma = math.sqrt(2 * 2) * 4 / 0.5
    without = Ucb.value(index, 9)[1]
    assert index.value(9)[1] == pytest.approx(without + math.sqrt(2) * sigma * math.log(9) / 3)


@given(st.integers(1, 4), st.sets(st.integers(1, 12)))
@example(3, {5, 7})
def test_offsets_are_drawn_again_at_the_end_of_a_round_with_a_collision(players, collided_in):
    player = TdfsPlayer(players, 4, 13, Ucb(4), draws=np.random.default_rng(1))
    effects = [player.handle(Started(), 0.0)]
    for t in range(1, 13):
        told = Outcome(t, 0.5, 0.0, t in collided_in)
        effects.append(player.handle(Received(COORDINATOR, told), float(t)))
    drawn = [t for t, these in enumerate(effects) if any(isinstance(e, Note) for e in these)]
    assert drawn == sorted({0, *(-(-t // players) * players for t in collided_in)})
