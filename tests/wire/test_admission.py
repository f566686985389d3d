"""Whose requests to connect are dropped, and how many of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.wire.admission import Admission, fair_quota, source_of


def storm(admission: Admission, hosts: list[str], each: int) -> None:
    for host in hosts:
        for _ in range(each):
            admission.accepted(source_of(host))


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


def test_what_was_accepted_counts_for_what_was_dropped_beside_it() -> None:
    admission = Admission()
    admission.update(0.0, 10)
    storm(admission, ["192.0.2.1"], 20)
    admission.update(0.0, 10)
    assert admission.shares == {source_of("192.0.2.1"): 0.5}  # 10 of 20 a second
    storm(admission, ["192.0.2.1"], 10)
    admission.update(0.0, 10)
    assert admission.shares == {source_of("192.0.2.1"): 0.25}


def test_a_storm_that_is_over_limits_nobody() -> None:
    admission = Admission()
    admission.update(0.0, 10)
    storm(admission, ["192.0.2.1"], 100)
    assert admission.update(0.0, 10)
    assert admission.update(9.0, 10)
    assert admission.shares == {}


def test_what_was_dropped_unseen_makes_no_source_seem_quiet() -> None:
    admission = Admission()
    admission.update(0.0, 10)
    storm(admission, ["192.0.2.1"], 100)
    admission.update(0.0, 10)
    before = admission.shares
    admission.shut = True
    assert not admission.update(9.0, 10)
    assert admission.shares == before != {}


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


def test_sources_from_everywhere_are_drawn_from() -> None:
    admission = Admission()
    admission.update(0.0, 10)
    storm(admission, [f"{n % 200 + 1}.{n // 200}.0.1" for n in range(400)], 1)
    admission.update(0.0, 10)
    assert admission.shares == {}
    assert admission.others == pytest.approx(10 / 400)


def test_quotas_add_up() -> None:
    assert fair_quota([1.0, 2.0], 4) == math.inf
    quota = fair_quota([1.0, 5.0, 7.0], 9)
    assert quota == 4.0
    assert sum(min(rate, quota) for rate in (1.0, 5.0, 7.0)) == 9


def test_a_clock_that_steps_back_makes_no_source_louder() -> None:
    admission = Admission()
    admission.update(1e6, 200)
    storm(admission, ["192.0.2.1"], 250)
    assert admission.update(0.0, 200)
    assert admission.shares == {source_of("192.0.2.1"): pytest.approx(200 / 250)}


@given(st.lists(st.floats(0.0, 1e6), max_size=12), st.floats(0.1, 1e6))
def test_a_fair_quota_uses_all_that_there_is_and_no_more(rates: list[float], most: float) -> None:
    quota = fair_quota(rates, most)
    if math.isinf(quota):
        assert sum(rates) <= most * (1 + 1e-9)
    else:
        assert sum(min(rate, quota) for rate in rates) == pytest.approx(most)
