"""Shamir's sharing against published vectors, and what too few shares tell."""

import pytest

from posse.protocol.sharing import (
    ORDER,
    derived,
    interpolated,
    pack,
    place_of,
    place_of_point,
    unpack,
)


def number(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


SECRET = number("7b1c33d3f5291d85de664833beb1ad469f7fb6025a0ec78b3a790c6e13a98304")
SLOPE = number("178199860edd8c62f5212ee91eff1295d0d670ab4ed4506866bae57e7030b204")
SHARES = {
    1: number("929dcc590407aae7d388761cddb0c0db6f5627aea8e217f4a033f2ec83d93509"),
    2: number("a91e66e012e4364ac9aaa405fcafd370402d9859f7b6685c07eed76bf409e80d"),
    3: number("d3cb090a075eb154e82fdb4b3cb507f110040905468bb9c46da8bdea643a9a02"),
}
"""RFC 9591, appendix E.1: FROST(Ed25519, SHA-512), a secret shared by a line among three."""


@pytest.mark.parametrize("two", [(1, 2), (1, 3), (2, 3), (3, 1)])
def test_two_of_the_rfcs_shares_give_its_secret_and_the_third_share(two):
    values = {place: SHARES[place] for place in two}
    assert interpolated(values, 0) == SECRET
    for place, share in SHARES.items():
        assert interpolated(values, place) == share
        assert share == (SECRET + SLOPE * place) % ORDER


def test_a_polynomial_of_any_degree_is_found_by_its_values():
    coefficients = [derived(bytes(32), n, 1) for n in range(7)]

    def value(place):
        return sum(c * pow(place, k, ORDER) for k, c in enumerate(coefficients)) % ORDER

    places = [place_of(n) for n in range(5)] + [place_of_point(n) for n in range(2)]
    values = {place: value(place) for place in places}
    for place in (0, 77, 2**40):
        assert interpolated(values, place) == value(place)
    more = values | {place_of(9): value(place_of(9))}
    assert interpolated(more, 0) == coefficients[0]


def test_one_value_too_few_fits_every_secret():
    """For each secret there is a last value with which the others give it."""
    values = {place_of(n): derived(bytes(32), n, 1) for n in range(4)}
    for secret in (0, 1, SECRET):
        last = interpolated({0: secret, **values}, place_of(4))
        assert interpolated({**values, place_of(4): last}, 0) == secret


def test_numbers_are_packed_and_derived_apart():
    numbers = [0, 1, ORDER - 1]
    assert unpack(pack(numbers)) == numbers
    assert len({derived(bytes(32), owner, n) for owner in range(3) for n in range(3)}) == 9
    assert derived(bytes(32), 0, 0) != derived(bytes([1] * 32), 0, 0)
