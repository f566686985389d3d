"""Means that others pass on: what a relay can change, and what is plausible."""

import math

import numpy as np
import pytest

from agent.signed import SignedRows
from protocol.errors import RemoteProtocolError
from protocol.federated import Schedule
from protocol.signing import SIGNATURE_BYTES
from tests.support.signing import signers

ROW = np.array([0.25, 0.5, 0.75])


def travelling() -> tuple[SignedRows, SignedRows, SignedRows]:
    """Agents 0, 1 and 2 in round 4; agent 1 has agent 0's means."""
    first, relay, last = (SignedRows(signer) for signer in signers(3))
    for rank, rows in enumerate((first, relay, last)):
        rows.begin(rank, 4, ROW + rank, math.inf)
    relay.unpack(first.pack(np.stack([ROW, ROW, ROW]), (0,)), (0,), 3)
    return first, relay, last


def test_a_row_is_passed_on_with_its_origins_signature() -> None:
    _, relay, last = travelling()
    data = relay.pack(np.stack([ROW, ROW + 1, ROW]), (0, 1))
    assert len(data) == 2 * (24 + SIGNATURE_BYTES)
    np.testing.assert_array_equal(last.unpack(data, (0, 1), 3), [ROW, ROW + 1])
    assert last.signatures.keys() == {0, 1, 2}


@pytest.mark.parametrize("at", [0, 23, 24, 24 + SIGNATURE_BYTES - 1])
def test_a_relay_can_change_no_byte_of_it(at: int) -> None:
    _, relay, last = travelling()
    data = bytearray(relay.pack(np.stack([ROW, ROW, ROW]), (0,)))
    data[at] ^= 1
    with pytest.raises(RemoteProtocolError, match=r"bad-signature|not-finite"):
        last.unpack(bytes(data), (0,), 3)
    assert last.signatures.keys() == {2}


def test_a_relay_cannot_pass_it_on_in_anothers_name_in_another_round_or_cut_off() -> None:
    _, relay, last = travelling()
    data = relay.pack(np.stack([ROW, ROW, ROW]), (0,))
    with pytest.raises(RemoteProtocolError, match="bad-signature"):
        last.unpack(data, (1,), 3)
    with pytest.raises(RemoteProtocolError, match="wrong-length"):
        last.unpack(data[:24], (0,), 3)
    last.begin(2, 5, ROW, math.inf)
    with pytest.raises(RemoteProtocolError, match="bad-signature"):
        last.unpack(data, (0,), 3)


def test_where_nobody_signs_rows_are_numbers_alone() -> None:
    one, other = SignedRows(), SignedRows()
    one.begin(0, 1, ROW, math.inf)
    data = one.pack(np.stack([ROW, ROW]), (0,))
    assert len(data) == 24
    np.testing.assert_array_equal(other.unpack(data, (0,), 3), [ROW])


def test_means_that_no_noise_makes_are_refused() -> None:
    """ε = 1 for a message, 100 rewards, round 1: Lap(1/100) is farther than .41 once in 6e17."""
    schedule = Schedule(arms=3, senders=1, horizon=10**6, epsilon=1.0)
    margin = schedule.margin(1, 0, 100)
    assert margin == pytest.approx(0.41)
    rows = SignedRows()
    rows.begin(0, 1, ROW, margin)
    for value, fine in ((-0.4, True), (1.4, True), (-0.42, False), (1.42, False), (1e6, False)):
        data = np.array([0.5, value, 0.5]).tobytes()
        if fine:
            rows.unpack(data, (1,), 3)
        else:
            with pytest.raises(RemoteProtocolError, match="implausible"):
                rows.unpack(data, (1,), 3)
    # an average of three, of 100, 200 and 700 rewards, is as far off as its parts
    assert schedule.margin(3, 300, 1000) == pytest.approx(41 * 3 / 1000)
