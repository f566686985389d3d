"""Signatures: whose they are, of what, in which run."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol import signing
from posse.protocol.errors import Contradiction, LocalProtocolError, RemoteProtocolError
from posse.protocol.signing import (
    PAYLOADS,
    SIGNATURE_BYTES,
    Signer,
    is_weak,
    public_of,
    run_name,
)
from posse.results.vouched import KIND
from tests.support.conversations import examples
from tests.support.signing import signers

STATEMENTS = st.tuples(
    st.sampled_from([b"means", b"bundle"]), st.integers(0, 2), st.sampled_from([b"0.5", b"0.6"])
)


@given(st.lists(STATEMENTS, max_size=12))
@example([(b"means", 0, b"0.5"), (b"means", 0, b"0.6"), (b"bundle", 0, b"0.6")])
def test_at_one_place_of_a_run_one_content_is_stated(said: list[tuple[bytes, int, bytes]]) -> None:
    """Two would convict whoever states them, also if somebody else brought it about.

    Without a register the last place of each kind is known.
    """
    (one,) = signers(1)
    last: dict[bytes, tuple[int, bytes, bytes]] = {}
    for kind, place, payload in said:
        at, stated, signature = last.get(kind, (-1, b"", b""))
        if place == at and payload != stated:
            with pytest.raises(LocalProtocolError, match="signed once for each place"):
                one.state(kind, place.to_bytes(8), payload)
            continue
        made = one.state(kind, place.to_bytes(8), payload)
        assert place != at or made == signature
        last[kind] = place, payload, made


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def points(y: int) -> set[tuple[int, int]]:
    """The points of Ed25519 with this y: -x² + y² = 1 + d x² y²."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    roots = {x for x in (root, root * pow(2, (P - 1) // 4, P) % P) if x * x % P == square}
    return {(x, y) for one in roots for x in (one, -one % P)}


def doubled(point: tuple[int, int]) -> tuple[int, int]:
    (x, y), k = point, D * point[0] ** 2 * point[1] ** 2 % P
    return (
        2 * x * y * pow(1 + k, -1, P) % P,
        (y * y + x * x) * pow(1 - k, -1, P) % P,
    )


def test_what_is_signed_itself_is_no_statement_however_it_is_cut() -> None:
    """Two answers of 48 bytes that begin alike would be two statements of one place."""
    own, other = signers(2)
    assert {KIND, b"masking key"} == PAYLOADS
    for kind in (*PAYLOADS, b"means"):
        place, ends = bytes(16), (bytes([1]) * 32, bytes([2]) * 32)
        statements = [end + own._sign(kind, place + end) for end in ends]
        proof = Contradiction(0, kind, place, (statements[0], statements[1]))
        if kind in PAYLOADS:
            with pytest.raises(RemoteProtocolError, match="no-proof"):
                other.check_contradiction(proof)
        else:
            other.check_contradiction(proof)


def test_the_keys_of_small_order_are_all_known_and_no_honest_one_is_among_them() -> None:
    """Eight points, worked out slowly; y and y + p are the same number, in other bytes."""
    ys = {int.from_bytes(key, "little") for key in signing._SMALL}
    orders = []
    for y in ys:
        for x, _ in points(y % P):
            eight = doubled(doubled(doubled((x, y % P))))
            assert eight == (0, 1), "order 8 at most"
            orders.append((x, y % P))
    assert len(set(orders)) == 8, "there are eight"
    for y in sorted(ys):
        for sign in (0, 0x80):
            key = bytearray(y.to_bytes(32, "little"))
            key[31] |= sign
            assert is_weak(bytes(key))
    assert not any(is_weak(public_of(bytes([n]) * 32)) for n in range(100))


@example(b"0.5", b"means", 0, 1, "kind")
@given(
    st.binary(max_size=40), st.binary(min_size=1, max_size=9), st.integers(0, 63),
    st.integers(1, 255), st.sampled_from(["payload", "kind", "signature", "run", "rank"]),
)  # fmt: skip
def test_a_signature_is_of_one_payload_kind_run_and_agent(
    payload: bytes, kind: bytes, at: int, mask: int, changed: str
) -> None:
    secret = bytes([7]) * 32
    own = Signer(secret, {0: public_of(secret), 1: public_of(bytes([8]) * 32)}, b"run")
    signature = own.sign(kind, payload)
    assert own.signed(0, kind, payload, signature)
    other = bytearray(signature)
    other[at] ^= mask
    match changed:
        case "payload":
            assert not own.signed(0, kind, payload + b"x", signature)
        case "kind":
            assert not own.signed(0, kind + b"x", payload[1:], signature)
            assert not own.signed(0, kind[:-1], kind[-1:] + payload, signature)
        case "signature":
            for wrong in (bytes(other), signature[:-1], bytes(SIGNATURE_BYTES)):
                assert not own.signed(0, kind, payload, wrong)
            with pytest.raises(RemoteProtocolError, match="bad-signature"):
                own.check(0, kind, payload, bytes(other))
        case "run":
            own.name(b"another")
            assert not own.signed(0, kind, payload, signature)
        case "rank":
            assert not own.signed(1, kind, payload, signature)
            assert not own.signed(2, kind, payload, signature)


@given(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=5), st.integers(0, 4))
def test_a_runs_name_has_a_part_of_each_agent(nonces: list[bytes], which: int) -> None:
    name = run_name(b"run", nonces)
    which %= len(nonces)
    other = [*nonces[:which], bytes(b ^ 1 for b in nonces[which]), *nonces[which + 1 :]]
    assert len(name) == 32
    assert len({name, run_name(b"run", other), run_name(b"rux", nonces)}) == 3


@examples(Path(__file__).with_name("signing.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
