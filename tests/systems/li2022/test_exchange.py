"""Means that others pass on: what a relay can change, and what is plausible."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.signing import SIGNATURE_BYTES
from posse_systems.li2022.exchange import Exchange
from posse_systems.li2022.messages import Schedule
from tests.support.signing import signers

ROW = np.array([0.25, 0.5, 0.75])


def travelling() -> tuple[Exchange, Exchange, Exchange]:
    """Agents 0, 1 and 2 in round 4; agent 1 has agent 0's means."""
    first, relay, last = (Exchange(n, 3, signer=signer) for n, signer in enumerate(signers(3)))
    for rank, exchange in enumerate((first, relay, last)):
        exchange.begin(4, ROW + rank)
    relay.rows[0] = relay.unpack(first.pack((0,)), (0,))[0]
    return first, relay, last


def test_a_row_is_passed_on_with_its_origins_signature() -> None:
    _, relay, last = travelling()
    data = relay.pack((0, 1))
    assert len(data) == 2 * (24 + SIGNATURE_BYTES)
    np.testing.assert_array_equal(last.unpack(data, (0, 1)), [ROW, ROW + 1])
    assert last.statements.keys() == {0, 1, 2}


@given(st.integers(0, 24 + SIGNATURE_BYTES - 1), st.integers(1, 255))
@example(24, 1)
def test_a_relay_can_change_no_byte_of_it(at: int, mask: int) -> None:
    _, relay, last = travelling()
    data = bytearray(relay.pack((0,)))
    data[at] ^= mask
    with pytest.raises(RemoteProtocolError, match=r"bad-signature|not-finite"):
        last.unpack(bytes(data), (0,))
    assert last.statements.keys() == {2}


def test_a_relay_cannot_pass_it_on_in_anothers_name_in_another_round_or_cut_off() -> None:
    _, relay, last = travelling()
    data = relay.pack((0,))
    with pytest.raises(RemoteProtocolError, match="bad-signature"):
        last.unpack(data, (1,))
    with pytest.raises(RemoteProtocolError, match="wrong-length"):
        last.unpack(data[:24], (0,))
    last.begin(5, ROW)
    with pytest.raises(RemoteProtocolError, match="bad-signature"):
        last.unpack(data, (0,))


def test_two_values_that_an_origin_signed_are_its_fault_and_no_relays() -> None:
    first, relay, last = travelling()
    first.signer._last.clear()  # as who keeps no register
    first.begin(4, ROW / 2)
    last.rows[0] = last.unpack(first.pack((0,)), (0,))[0]
    with pytest.raises(RemoteProtocolError, match="equivocation: agent 0 signed two values"):
        last.unpack(relay.pack((0, 1)), (0, 1))
    # what this agent itself passes on has the signature that belongs to it
    fourth = Exchange(1, 3, signer=signers(3)[1])
    fourth.begin(4, ROW + 1)
    np.testing.assert_array_equal(fourth.unpack(last.pack((0,)), (0,)), [ROW / 2])


@given(st.floats(-1, 2) | st.floats(-1e9, 1e9))
@example(-0.4)
@example(-0.42)
@example(1.4)
@example(1.42)
def test_means_that_no_noise_makes_are_refused(value: float) -> None:
    """ε = 1 for a message, 100 rewards, round 1: Lap(1/100) is farther than .41 once in 6e17."""
    schedule = Schedule(arms=3, senders=1, horizon=10**6, epsilon=1.0)
    margin = schedule.margin(1, 0, 100)
    assert margin == pytest.approx(0.41)
    rows = Exchange(0, 2)
    rows.begin(1, ROW, margin)
    data = np.array([0.5, value, 0.5]).tobytes()
    if -margin <= value <= 1 + margin:
        rows.unpack(data, (1,))
    else:
        with pytest.raises(RemoteProtocolError, match="implausible"):
            rows.unpack(data, (1,))
    # an average of three, of 100, 200 and 700 rewards, is as far off as its parts
    assert schedule.margin(3, 300, 1000) == pytest.approx(41 * 3 / 1000)
