"""Tests of what neighbours send over the coordinator."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.errors import InputError, RunFailed
from posse.security import keys
from posse.wire.forwarding import FORWARD, HEAD, Forwarding

pytest.importorskip("nacl", reason="PyNaCl is not installed (extra: field)")

_, PAIRS = keys.make_ephemeral_keys(3)
PUBLIC = {rank: pair.public for rank, pair in enumerate(PAIRS)}


def agent(rank: int, run: bytes = b"run") -> tuple[Forwarding, list[bytes]]:
    sent: list[bytes] = []
    made = Forwarding(PAIRS[rank], sent.append, os.urandom, alone=True)
    others = {other: key for other, key in PUBLIC.items() if other != rank}
    setup: Any = SimpleNamespace(keys=others, signed_name=run)
    made.know(setup, rank)
    return made, sent


def handed_on(sent: bytes, source: int) -> bytes:
    """As the coordinator does."""
    return HEAD.pack(FORWARD, source) + sent[HEAD.size :]


@given(st.binary(max_size=200))
def test_the_receiver_alone_reads_what_was_sealed_for_it(data: bytes) -> None:
    (one, sent), (two, _), (three, _) = agent(0), agent(1), agent(2)
    one.to(1)(data)
    (sealed,) = sent
    assert HEAD.unpack_from(sealed) == (b"pf", 1)
    assert len(sealed) == 6 + 24 + 16 + len(b"run") + 4 + 4 + len(data)
    assert two.opened(handed_on(sealed, 0)) == (0, data)
    assert three.opened(handed_on(sealed, 0)) is None
    if len(data) > 3:
        assert data not in sealed


def test_nothing_of_another_run_direction_or_sender_passes() -> None:
    (one, sent), (two, _) = agent(0), agent(1)
    one.to(1)(b"data")
    (sealed,) = sent
    later, _ = agent(1, b"another run")
    assert later.opened(handed_on(sealed, 0)) is None
    assert one.opened(handed_on(sealed, 1)) is None  # the same box, as its own words come back
    assert two.opened(handed_on(sealed, 2)) is None
    assert two.opened(handed_on(sealed, 7)) is None


@given(st.data())
def test_what_was_changed_on_its_way_is_nobodys(draw: st.DataObject) -> None:
    (one, sent), (two, _) = agent(0), agent(1)
    one.to(1)(b"data")
    whole = handed_on(sent[0], 0)
    place = draw.draw(st.integers(2, len(whole) - 1))
    bit = draw.draw(st.integers(0, 7))
    flipped = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
    assert two.opened(flipped) is None
    assert two.opened(whole[:place]) is None


@given(st.binary(max_size=60))
def test_hostile_bytes_are_nobodys(data: bytes) -> None:
    assert agent(1)[0].opened(FORWARD + data) is None


def test_without_the_library_or_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunFailed, match="agent 5 accepts no connections, and has no key"):
        agent(0)[0].to(5)
    monkeypatch.setitem(sys.modules, "nacl.public", None)
    with pytest.raises(InputError, match="pip install"):
        agent(0)[0].to(1)
