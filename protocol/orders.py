"""What a coordinator orders in the field, signed in a chain that a third party can check.

It signs each control message but those of joining, for one agent each: its configuration, that a
run begins, who is gone, where the others go on, that the run is over. A seal stands before the
frame:

    offset  size  field
    0       4     b"ps", version of this seal, 0
    4       16    random bytes of the session's beginning
    20      96    the coordinator's statement: a hash and a signature
    116           the frame

The hash is of the one before, nothing for the first, and the frame. The statement's run is these
random bytes and the agent's nonce, its place the agent's rank and the number that the session gives
the frame. So nobody can take an order out, or put another in its place, without a second statement
for one place, which proves it (PeerReview, Haeberlen et al. 2007).
"""

from typing import Final, NamedTuple

from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane, kind_name
from posse.protocol.signing import HASH_BYTES, STATEMENT_BYTES, Signer, hash_of, nonce_of
from posse.protocol.wire import MAGIC, kind_of, name_of

KIND: Final = b"order"
MARK: Final = b"ps\x01\x00"
DRAWN: Final = 16
SEAL_BYTES: Final = len(MARK) + DRAWN + STATEMENT_BYTES

_CONTROL: Final = bytes([Plane.CONTROL])
_UNSIGNED: Final = frozenset(map(kind_name, control.TO_JOINING)) - {kind_name(control.Configure)}
_CHAIN: Final = DRAWN + len(nonce_of(b""))


class Order(NamedTuple):
    """A frame, and the coordinator's statement for a place of the chain of this name."""

    chain: bytes
    place: bytes
    statement: bytes
    frame: bytes

    def check(self, checker: Signer, before: bytes) -> None:
        """`RemoteProtocolError` unless the coordinator stated this after the hash `before`."""
        checker.name(self.chain)
        checker.check_statement(COORDINATOR, KIND, self.place, self.statement)
        if self.statement[:HASH_BYTES] != hash_of(before + self.frame):
            raise RemoteProtocolError("bad-signature", "of another frame, or not the next one")


def is_order(frame: bytes) -> bool:
    """Whether the coordinator must sign this frame in the field."""
    return frame[:2] == MAGIC and frame[3:4] == _CONTROL and kind_of(frame) not in _UNSIGNED


def place_of(rank: int, number: int) -> bytes:
    """The place of agent `rank`'s frame of this number; places of an agent are in its order."""
    return name_of(rank) + number.to_bytes(8, "big")


def chain_of(drawn: bytes, incarnation: bytes) -> bytes:
    """The name of a chain to the agent's process of this incarnation."""
    return drawn + nonce_of(incarnation)


def sealed(signer: Signer, said: bytes, place: bytes, frame: bytes) -> tuple[Order, bytes, bytes]:
    """The order, its frame behind a seal, and what is `said` after it: chain and last hash."""
    chain, before = said[:_CHAIN], said[_CHAIN:]
    signer.name(chain)
    statement = signer.state(KIND, place, before + frame)
    order = Order(chain, place, statement, frame)
    return order, MARK + chain[:DRAWN] + statement + frame, chain + statement[:HASH_BYTES]


def opened(
    checker: Signer, said: bytes, incarnation: bytes, place: bytes, data: bytes
) -> tuple[Order | None, bytes, bytes]:
    """The order in a received frame, the frame without its seal, and what is `said` after it.

    `RemoteProtocolError` if the frame must be signed and is not, or not as the next one.
    """
    if not data.startswith(MARK):
        if said and is_order(data):
            raise RemoteProtocolError("bad-signature", "none")
        return None, data, said
    chain = chain_of(data[len(MARK) : len(MARK) + DRAWN], incarnation)
    if said and said[:_CHAIN] != chain:
        raise RemoteProtocolError("bad-signature", "of another chain")
    frame = data[SEAL_BYTES:]
    order = Order(chain, place, data[len(MARK) + DRAWN : SEAL_BYTES], frame)
    order.check(checker, said[_CHAIN:])
    return order, frame, chain + order.statement[:HASH_BYTES]


def unsealed(frame: bytes) -> bytes:
    """The frame without its seal, if it has one."""
    return frame[SEAL_BYTES:] if frame.startswith(MARK) else frame
