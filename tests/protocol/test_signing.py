"""Signatures: whose they are, of what, in which run."""

import pytest

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.signing import SIGNATURE_BYTES, Signer, nonce_of, public_of, run_name
from tests.support.signing import signers


def test_what_one_agent_signs_the_others_believe() -> None:
    one, other = signers(2)
    signature = one.sign(b"means", b"0.5")
    assert len(signature) == SIGNATURE_BYTES
    other.check(0, b"means", b"0.5", signature)
    assert other.signed(0, b"means", b"0.5", signature)


@pytest.mark.parametrize(
    ("rank", "kind", "payload"),
    [
        (1, b"means", b"0.5"),
        (2, b"means", b"0.5"),
        (0, b"bundle", b"0.5"),
        (0, b"means", b"0.6"),
        (0, b"mean", b"s0.5"),
    ],
)
def test_nothing_else_is_believed(rank: int, kind: bytes, payload: bytes) -> None:
    one, other = signers(2)
    signature = one.sign(b"means", b"0.5")
    with pytest.raises(RemoteProtocolError, match="bad-signature"):
        other.check(rank, kind, payload, signature)
    assert not other.signed(0, b"means", b"0.5", signature[:-1])
    assert not other.signed(0, b"means", b"0.5", bytes(SIGNATURE_BYTES))


def test_what_was_signed_in_one_run_is_worth_nothing_in_another() -> None:
    secret = bytes(range(32))
    known = {0: public_of(secret)}
    today, tomorrow = (Signer(secret, known, name) for name in (b"today", b"tomorrow"))
    assert not tomorrow.signed(0, b"means", b"0.5", today.sign(b"means", b"0.5"))


def test_ed25519_is_the_one_of_rfc_8032() -> None:
    """Section 7.1, test 1: the public key of a secret one."""
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert public_of(secret) == public


def test_a_runs_name_depends_on_every_part_and_its_place() -> None:
    one, other = nonce_of(b"one"), nonce_of(b"other")
    names = [run_name(b"run", (one, other)), run_name(b"run", (other, one)), run_name(b"", (one,))]
    assert [len(name) for name in names] == [32, 32, 32]
    assert len({*names}) == 3
