"""What captured frames show without the truth."""

import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.audit.captured import checks
from posse.durable.frames import Frame
from posse.plan import prepare
from posse.protocol.wire import pack_floats
from posse_systems.dubey2020.messages import means_record
from tests.support.conversations import examples
from tests.support.runfile import describe_run
from tests.support.signing import signers

GRID = np.arange(1, 5) / 1024
TWICE = {
    "no statistic is sent again with other noise",
    "nothing is said more than once of one thing",
}
CENTRAL = prepare(
    describe_run("cdp-mab", 2, [0.9, 0.5, 0.3, 0.1], parameters={"epsilon": 1.0, "horizon": 4000})
)


def frame(source, kind, *fields, more=0, target=-1, plane="data", **rest):
    size = 32 + len(msgspec.msgpack.encode([kind, *fields])) + more
    return Frame(0.0, source, target, size, plane, kind, fields, run=0, **rest)


def means(source, round_=1, values=GRID, **more):
    return frame(source, "Means", round_, pack_floats(np.asarray(values)), **more)


def wrong(frames, plan=CENTRAL):
    return {check.name: check.violations for check in checks(frames, plan) if check.violations}


def test_signatures_of_means_that_are_passed_on_are_no_numbers():
    def passed_on(kind, values):
        rows = pack_floats(np.asarray(values))
        signatures = b"".join(signer.sign(b"means", rows) for signer in signers(2))
        return frame(0, kind, 1, 1, [0, 1], rows + signatures, target=1)

    rough = np.random.default_rng(1).laplace(size=8)
    for kind in ("Data", "Hop"):
        assert wrong([passed_on(kind, np.tile(GRID, 2))], None) == {}
        assert "8 of 8 first numbers" in str(wrong([passed_on(kind, rough)], None))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (([0, 1], GRID.tobytes()), ([0, 1], GRID[::-1].tobytes())),
        ((0.5,), (0.25,)),
        (([0.5],), ([0.5],)),
    ],
)
def test_of_what_has_no_number_nothing_can_be_told(one, other):
    found = {check.name: check for check in checks([frame(0, "Mine", *one)])}
    assert not any(check.violations or check.untold for check in found.values())
    frames = [frame(0, "Mine", *one), frame(0, "Mine", *other)]
    found = {check.name: check for check in checks(frames)}
    assert not any(check.violations for check in found.values())
    for name in TWICE:
        assert found[name].says == "cannot be told of `Mine`, which has no number of its own"


def test_lists_and_tables_of_numbers_are_what_is_said():
    for one, other in (([0.5], [0.25]), ({"a": 0.5}, {"a": 0.25}), ([[1, 0.5]], [[1, 0.25]])):
        found = wrong([frame(0, "Mine", 1, value) for value in (one, other)], None)
        assert set(found) == TWICE
    two = [frame(0, "Mine", 1, [0.5]), frame(1, "Mine", 1, [0.5, 0.5])]
    assert "not equally long" in str(wrong(two, None))
    rough = np.random.default_rng(1).laplace(size=4).tolist()
    # nobody knows what noise an own system's numbers should have
    (*_, grid) = checks([frame(0, "Mine", 1, rough)], None)
    assert grid.says.startswith("cannot be told: over so many rewards")


@pytest.mark.parametrize("signature", [b"", bytes(range(64))], ids=["plain", "signed"])
@pytest.mark.parametrize(("releases", "most"), [("intervals", 1), ("doubling", 2)])
def test_an_arm_that_rests_and_is_noised_again_is_found(signature, releases, most):
    """Where releases double, the first two are of one pull each."""
    given = {"epsilon": 1.0, "horizon": 4, "releases": releases}
    plan = prepare(describe_run("private-ucb", 2, [0.9, 0.1], topology="path", parameters=given))

    def bundle(slot, mean):
        record = np.zeros(1, means_record(2))
        record["means"], record["counts"] = mean, 1
        return frame(0, "Bundle", slot, record.tobytes() + signature, target=1)

    honest = [bundle(slot, 0.5 ** min(slot, most)) for slot in (1, 2, 3)]
    assert wrong(honest, plan) == {}
    found = wrong([*honest, bundle(4, 0.125)], plan)
    assert f"agent 0's mean of arm 0 after 1 pulls has {most + 1} values" in str(found)
    rough = np.random.default_rng(1).laplace(size=2)
    assert "2 of 2 first numbers use all their bits" in str(wrong([bundle(1, rough)], plan))


@settings(max_examples=12)
@given(st.integers(100, 1_000) | st.integers(10_000, 1_000_000))
def test_no_honest_number_is_accused_however_many_rewards_it_is_of(rewards):
    """Google's grid has the step 2^-40 of the scale, or more: over many rewards it is too fine."""
    generator = np.random.default_rng(rewards)
    scale = 1 / rewards
    step = 2.0 ** math.ceil(math.log2(scale * 2.0**-40))
    numbers = np.rint((generator.random(2_000) + generator.laplace(0, scale, 2_000)) / step) * step
    said = checks([means(0, values=numbers)], None)[-1]
    assert said.violations == []
    assert bool(said.untold) is (rewards > 1_000)


@examples(Path(__file__).with_name("captured.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
