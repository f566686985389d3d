"""Noise at the destination: what is sent, and one sample of noise for all that is heard."""

import numpy as np
import pytest

from posse.engines import memory
from posse.errors import SpecError
from posse.protocol.machine import Variant
from posse_systems.dubey2020.destination import NoiseAtDestination
from posse_systems.dubey2020.messages import means_record, release_counts
from tests.support.claims import RING, plan
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


def test_the_mean_leaves_without_noise_at_the_releases_of_the_series() -> None:
    noise = KnownNoise(0.25)
    one = learner(noise)
    assert one.learn(0, 1.0) == []  # W_1 = 2
    assert np.isnan(one.message["means"]).all()
    assert one.learn(0, 0.0) == []  # nothing is disclosed: nothing is protected
    assert one.message["means"][0, 0] == 0.5
    assert noise.asked == []


def test_all_that_is_heard_of_an_arm_gets_one_sample_of_noise_when_it_changes() -> None:
    noise = KnownNoise(0.25)
    one = learner(noise)
    one.hear(heard((1, [1.0, np.nan], [4, 3]), (2, [0.5, np.nan], [4, 0])))
    # (4 * 1 + 4 * .5) / 8, sensitivity 1/8, which costs 4^-.55 as at the source; arm 1 has no mean
    assert asked(noise) == [pytest.approx((0.75, 1 / 8, 4**0.55 / 8))]
    counts, theirs = one.halves(one.others())
    assert counts.tolist() == [8, 0]
    assert theirs.tolist() == [8.0, 0.0]  # 8 (.75 + .25)
    one.hear(heard((1, [1.0, np.nan], [4, 3])))  # the same again: no new draw
    assert len(noise.asked) == 1
    one.hear(heard((3, [0.0, 1.0], [2, 2])))
    assert asked(noise)[1:] == [
        pytest.approx((0.6, 1 / 10, 4**0.55 / 10)),
        pytest.approx((1.0, 1 / 2, 2**0.55 / 2)),
    ]


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


def test_nothing_is_claimed_and_nothing_enters_the_ledger() -> None:
    record = memory.run(run(), 0)
    assert record.privacy.claim.mechanism == "none"
    assert record.privacy.spent_per_agent == [0.0] * 8


def test_the_field_refuses_it() -> None:
    with pytest.raises(SpecError, match="noise_at"):
        run(mode="field")
