"""Whose requests to connect are dropped, and how many of them."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.wire.admission import Admission, fair_quota, source_of
from tests.support.conversations import examples


def storm(admission: Admission, hosts: list[str], each: int) -> None:
    for host in hosts:
        for _ in range(each):
            admission.accepted(source_of(host))


@pytest.mark.parametrize(
    ("hosts", "wanted"),
    [
        ([f"198.51.{n // 200}.{n % 200}" for n in range(400)], {"198.51.0.0/24", "198.51.1.0/24"}),
        ([f"2001:db8:{n % 2}:{n}::1" for n in range(400)], {"2001:db8::/48", "2001:db8:1::/48"}),
    ],
)
def test_too_many_sources_are_taken_together_by_their_networks(
    hosts: list[str], wanted: set[str]
) -> None:
    admission = Admission()
    admission.update(0.0, 10)
    storm(admission, [*hosts, "203.0.113.1"], 1)
    admission.update(0.0, 10)
    assert {str(source) for source in admission.shares} == wanted


@given(st.lists(st.floats(0.0, 1e6), max_size=12), st.floats(0.1, 1e6))
def test_a_fair_quota_uses_all_that_there_is_and_no_more(rates: list[float], most: float) -> None:
    quota = fair_quota(rates, most)
    if math.isinf(quota):
        assert sum(rates) <= most * (1 + 1e-9)
    else:
        assert sum(min(rate, quota) for rate in rates) == pytest.approx(most)


@examples(Path(__file__).with_name("admission.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()


def test_each_source_gets_the_same_and_who_asks_for_less_is_not_limited() -> None:
    admission = Admission()
    admission.update(0.0, 200)
    loud = [f"192.0.2.{number}" for number in range(64)]
    storm(admission, [*loud, "192.0.2.200"], 1)
    storm(admission, loud, 9)
    assert admission.update(0.0, 200)
    # each loud one asks for 10 a second; of 200, the quiet one has its 1
    share = pytest.approx((200 - 1) / 64 / 10)
    assert admission.shares == {source_of(host): share for host in loud}


def test_what_was_dropped_unseen_makes_no_source_seem_quiet() -> None:
    admission = Admission()
    admission.update(0.0, 10)
    storm(admission, ["192.0.2.1"], 100)
    admission.update(0.0, 10)
    before = admission.shares
    admission.shut = True
    assert not admission.update(9.0, 10)
    assert admission.shares == before != {}
