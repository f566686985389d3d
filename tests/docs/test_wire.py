"""The page of the wire says what the code does."""

import hashlib
import math
import re
import struct

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from posse.agent.masking import Masker, SumMasker
from posse.durable import frames
from posse.protocol import orders, wire
from posse.protocol.masking import Words
from posse.protocol.signing import HASH_BYTES, SIGNATURE_BYTES
from tests.support.kinds import PAGE, written

TEXT = PAGE.read_text()


def offsets(heading: str) -> list[tuple[int, int]]:
    """Offset and size of each row of a section's first table."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [(int(at), int(size)) for at, size in re.findall(r"^\|(\d+)\|(\d+)\|", section, re.M)]


def of_struct(form: struct.Struct) -> list[tuple[int, int]]:
    codes = re.findall(r"\d*[a-zA-Z]", form.format.lstrip("<"))
    return [
        (struct.calcsize("<" + "".join(codes[:number])), struct.calcsize("<" + code))
        for number, code in enumerate(codes)
    ]


def test_every_kind_is_there_with_its_fields() -> None:
    assert written(TEXT) == TEXT, "write them anew: python -m tests.support.kinds"


def test_header_and_envelope_are_laid_out_as_the_page_says() -> None:
    assert offsets("A frame") == of_struct(wire.HEADER) == of_struct(frames.HEADER)
    assert offsets("The envelope") == of_struct(frames.ENVELOPE)
    seal = [(0, 4), (4, orders.DRAWN), (4 + orders.DRAWN, HASH_BYTES), (52, SIGNATURE_BYTES)]
    assert offsets("Orders") == seal
    assert orders.SEAL_BYTES == 52 + SIGNATURE_BYTES
    assert wire.MAX_FRAME == 8 << 20
    assert wire.MAX_DATA == 1 << 20


PRIME = 2**252 + 27742317777372353535851937790883648493
PRIVATE = [X25519PrivateKey.from_private_bytes(bytes([rank]) * 32) for rank in range(1, 5)]


def agreed(i: int, j: int) -> bytes:
    pair = b"posse pair" + struct.pack("<II", *sorted((i, j)))
    secret = PRIVATE[i].exchange(PRIVATE[j].public_key())
    return HKDF(SHA256(), 64, None, pair).derive(secret)


def stream(seed: bytes, number: int, width: int) -> Words:
    nonce = struct.pack("<I", 1) + b"mask" + struct.pack("<Q", number)
    cipher = Cipher(algorithms.ChaCha20(seed, nonce), None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * width)), "<u8").astype(np.uint64)


def share(owner: int, member: int, number: int) -> int:
    info = b"posse share".ljust(15, b"\0") + struct.pack("<IQ", owner, number)
    wide = HKDF(SHA256(), 64, None, info).derive(agreed(owner, member)[32:])
    return int.from_bytes(wide, "little") % PRIME


def tag(i: int, j: int, number: int, sender: int, group: tuple[int, ...]) -> bytes:
    keys = b"".join(key.public_key().public_bytes_raw() for key in PRIVATE)
    who = struct.pack("<4I", *range(4)) + keys
    who += struct.pack("<I4I4I", len(group), *group, *sorted(group))
    said = struct.pack("<QI", number, sender) + hashlib.blake2b(who, digest_size=32).digest()
    key, person = agreed(i, j)[32:], b"posse survivors"
    return hashlib.blake2b(said, key=key, digest_size=16, person=person).digest()


def at_zero(values: dict[int, int]) -> int:
    total = 0
    for x, value in values.items():
        others = values.keys() - {x}
        total += value * math.prod(others) * pow(math.prod(y - x for y in others), -1, PRIME)
    return total % PRIME


@pytest.mark.parametrize(("kind", "size"), [(SumMasker, 4), (Masker, 3)])
def test_masks_made_as_the_page_says_are_those_of_ours(kind: type[SumMasker], size: int) -> None:
    me, number, group, width = 2, 7, (0, 1, 2, 3), 8
    ours = kind(me, size, PRIVATE[me].private_bytes_raw(), dropouts=1)
    ours.take_keys({n: key.public_key().public_bytes_raw() for n, key in enumerate(PRIVATE)})
    ours.begin(number, group)
    masked = ours.mask(number, group, np.arange(width, dtype=np.uint64))
    values = {member + 1: share(me, member, number) for member in (0, 1, 3)}
    values[2**33] = int.from_bytes(ours.points(number, group), "little")
    seed = at_zero(values).to_bytes(32, "little")
    told = ours.settle(number)
    assert told[16:32] == tag(me, 1, number, me, group)
    tags = b"".join(tag(me, n, number, n, group) for n in (0, 1, 3))
    assert ours.reveal(number, tags[:32] + bytes(16)) == seed
    words = np.arange(width, dtype=np.uint64) + stream(seed, number, width)
    for member in (0, 1, 3):
        mask = stream(agreed(me, member)[:32], number, width)
        if kind is Masker:
            mask[1 + member] = 0
        words = words + mask if me < member else words - mask
    if kind is Masker:
        words[1 + me] = 0
    assert masked.tolist() == words.tolist()
