"""Noise at the destination: what is sent, and one sample of noise for all that is heard."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from posse.protocol.machine import Variant
from posse_systems.dubey2020.destination import NoiseAtDestination
from posse_systems.dubey2020.messages import means_record, release_counts
from tests.support.claims import RING, plan
from tests.support.conversations import examples
from tests.support.noise import KnownNoise


def learner(noise: KnownNoise, variant: Variant = "corrected") -> NoiseAtDestination:
    return NoiseAtDestination(
        2,
        np.random.default_rng(0),
        epsilon=0.5,
        v=1.1,
        variant=variant,
        noise=noise,
        releases=release_counts(0.5, 1.1, 100),
    )


def asked(noise: KnownNoise) -> list[tuple[float, ...]]:
    return [(float(values[0]), *law) for values, *law in noise.asked]


def heard(*rows: tuple[int, list[float], list[int]]) -> np.ndarray:
    records = np.zeros(len(rows), dtype=means_record(2))
    for i, (origin, means, counts) in enumerate(rows):
        records[i]["origin"], records[i]["created"] = origin, 9
        records[i]["means"], records[i]["counts"] = means, counts
    return records


@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_own_rewards_are_used_as_they_are(variant: Variant) -> None:
    one = learner(KnownNoise(0.25), variant)
    for reward in (1.0, 0.0, 1.0):
        one.learn(0, reward)
    pulls, sums = one.halves(one.own())
    assert (sums[0], pulls[0]) == (2.0, 3.0)
    assert one.message["counts"][0, 0] == (2 if variant == "corrected" else 3)


def run(**changes):
    parameters = {"horizon": 80, "epsilon": 0.5, "noise_at": "destination"}
    return plan("private-ucb", 8, topology=RING, parameters=parameters, **changes)


@examples(Path(__file__).with_name("destination.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
