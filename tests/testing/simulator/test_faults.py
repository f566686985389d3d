"""Faults: drawn from a seed, as plain data."""

from typing import get_args

import msgspec

from posse.testing.simulator.faults import (
    FOR_EVER,
    KINDS,
    PERMANENT,
    InjectedFault,
    KeyFault,
    draw,
    draw_for_ever,
    draw_of_keys,
)

LINKS = [(-1, 0), (0, 1)]


def test_the_same_seed_draws_the_same_faults_and_all_kinds_come() -> None:
    drawn = [draw(seed, 4, 100, LINKS) for seed in range(300)]
    assert drawn == [draw(seed, 4, 100, LINKS) for seed in range(300)]
    assert {fault.what for faults in drawn for fault in faults} == set(KINDS)
    assert all(1 <= len(faults) <= 4 for faults in drawn)
    lasts = [sum(fault.lasts for fault in faults) for faults in drawn]
    assert 90 < max(lasts) <= 100  # an absence of 120 s is survived


def test_only_kinds_that_are_asked_for_are_drawn() -> None:
    faults = [fault for seed in range(20) for fault in draw(seed, 4, 9, LINKS, ["cut", "stop"])]
    assert {fault.what for fault in faults} == {"cut", "stop"}


def test_a_quarter_of_the_seeds_have_keys_and_all_that_goes_wrong_with_them_comes() -> None:
    drawn = [draw_of_keys(seed, 4, 100) for seed in range(400)]
    keyed = [faults for faults in drawn if faults is not None]
    assert len(keyed) == 97
    assert {fault.what for faults in keyed for fault in faults} == {*get_args(KeyFault)}


def test_half_of_the_seeds_have_a_fault_that_never_ends_and_all_kinds_of_it_come() -> None:
    drawn = [draw_for_ever(seed, 4, 100, LINKS, KINDS) for seed in range(400)]
    lasting = [faults[0] for faults in drawn if faults]
    assert len(lasting) == 204
    assert {fault.what for fault in lasting} == set(PERMANENT)
    assert {fault.lasts for fault in lasting} == {FOR_EVER}
    assert draw_for_ever(3, 4, 100, LINKS, ["delay"]) == []


def test_a_fault_is_written_as_json_and_told_in_a_line() -> None:
    fault = InjectedFault(what="delay", after=3, ends=(-1, 2), lasts=1.5, amount=0.25)
    assert msgspec.json.decode(msgspec.json.encode(fault), type=InjectedFault) == fault
    assert str(fault) == "delay by 0.25 at coordinator, 2 after 3 frames for 1.5 s"
