"""Shamir's sharing against published vectors, and what too few shares tell."""

from hypothesis import example, given
from hypothesis import strategies as st

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


@given(st.permutations([1, 2, 3]).map(lambda places: places[:2]))
def test_two_of_the_rfcs_shares_give_its_secret_and_the_third_share(two):
    values = {place: SHARES[place] for place in two}
    assert interpolated(values, 0) == SECRET
    for place, share in SHARES.items():
        assert interpolated(values, place) == share
        assert share == (SECRET + SLOPE * place) % ORDER


numbers = st.integers(0, ORDER - 1)


PLACES = st.tuples(st.binary(min_size=32, max_size=32), st.integers(0, 99), st.integers(0, 99))


@given(st.lists(numbers, max_size=5), st.lists(PLACES, unique=True))
@example([0, 1, ORDER - 1], [(bytes(32), 0, 0), (bytes([1] * 32), 0, 0), (bytes(32), 0, 1)])
def test_numbers_are_packed_and_derived_apart(values, places):
    assert unpack(pack(values)) == values
    assert len({derived(*place) for place in places}) == len(places)


@given(st.lists(numbers, min_size=1, max_size=7), st.integers(0, 2), st.integers(0, 2**40))
def test_a_polynomial_of_any_degree_is_found_by_its_values(
    coefficients: list[int], public: int, place: int
) -> None:
    def value(at: int) -> int:
        return sum(c * pow(at, k, ORDER) for k, c in enumerate(coefficients)) % ORDER

    count = len(coefficients)
    places = [place_of_point(n) for n in range(public)] + [place_of(n) for n in range(count)]
    for known in (places[:count], places):  # more than are needed do no harm
        values = {at: value(at) for at in known}
        assert interpolated(values, 0) == coefficients[0]
        assert interpolated(values, place) == value(place)


@given(st.lists(numbers, min_size=1, max_size=5), numbers)
def test_one_value_too_few_fits_every_secret(known: list[int], secret: int) -> None:
    """For each secret there is a last value with which the others give it."""
    values = {place_of(n): value for n, value in enumerate(known)}
    missing = place_of(len(known))
    last = interpolated({0: secret, **values}, missing)
    assert interpolated({**values, missing: last}, 0) == secret
