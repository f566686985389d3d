"""The errors that seeds reach: their number only grows."""

import random

import pytest

from posse.engines.simulated.network import garbled
from posse.testing.simulator.check import attempt, own_plan
from tests.support import reach, unreached


def test_each_kept_trial_names_targets_that_are_there() -> None:
    names = {target.name for target in reach.targets()}
    reached = [name for trial in reach.kept() for name in trial.reached]
    assert len(reached) == len({*reached})
    assert len({*reached} - names) <= 5, {*reached} - names
    assert len(reached) >= reach.LEAST


def test_raises_that_no_seed_reaches_have_a_reason() -> None:
    """A new `raise` needs a seed, by `python -m tests.support.reach`, or a place in the table.

    Work that lands at the same time names others: a few may wait, of 120.
    """
    reached = {name for trial in reach.kept() for name in trial.reached}
    left = {target.name for target in reach.targets()} - reached
    told = unreached.names()
    assert len(told) == len({*told})
    assert len(left - {*told}) <= 5, left - {*told}
    assert not {*told} & reached


@pytest.mark.slow
def test_what_was_reached_once_is_reached_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Also printed: the number of `raise` statements that some seed reaches.

    A new field of a message, say, is another course for chance, so that some trials miss theirs
    and others reach more: the number must stay.
    """
    reached = set[str]().union(*map(reach.run, reach.kept()))
    with capsys.disabled():
        print(f"\n{reach.said(reached)}")
    assert len(reached) >= reach.LEAST


@pytest.mark.parametrize("seed", range(3))
def test_a_peer_that_sends_what_no_honest_one_would_is_no_defect(seed: int) -> None:
    """Whatever is in its frames, each process ends, and none by an exception of Python's."""
    chance = random.Random(seed)
    for number in range(4):
        faults = reach.garbles(4 * seed + number, chance)
        turn = 4 * seed + number
        assert attempt(own_plan(turn), turn, faults).violations == []


def test_garbled_data_are_others_and_the_same_for_a_seed() -> None:
    data = bytes(range(120))
    made = [garbled(data, random.Random(seed)) for seed in range(40)]
    assert made == [garbled(data, random.Random(seed)) for seed in range(40)]
    assert any(len(other) < len(data) for other in made)
    assert any(len(other) == len(data) and other != data for other in made)
