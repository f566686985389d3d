"""Evidence against origins that sign two messages for one slot, from what agents hear of them.

A message travels on several ways, so an agent hears it more than once. Two signed contents of one
origin and slot prove that the origin told others different things; whoever passed them on did no
wrong. Who is not reached by both, because the life of messages ends before, notices nothing.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from posse.seam.messages import HASH_BYTES, SIGNATURE_BYTES, Contradiction, Signer, hash_of
from posse_systems.dubey2020.arrivals import Arrivals, Records

KIND: Final = b"bundle"

_LIFE: Final = slice(8, 10)
_CONTENT: Final = slice(10, -SIGNATURE_BYTES)


def place_of(message: bytes) -> bytes:
    """What a message is of: origin and slot, but not its life, which changes with every hop."""
    return message[: _LIFE.start]


def statement_of(message: bytes) -> bytes:
    """What its origin states by a message: a hash of the content, and the signature."""
    return hash_of(message[_CONTENT]) + message[-SIGNATURE_BYTES:]


def is_signed(signer: Signer, origin: int, message: bytes) -> bool:
    """Whether its origin signed this message."""
    place, statement = place_of(message), statement_of(message)
    return signer.signed(origin, KIND, place + statement[:HASH_BYTES], statement[HASH_BYTES:])


@dataclass(slots=True)
class Evidence:
    """What the agents of one process heard of each origin, by slot, in the last γ + 2 slots.

    `heard[slot]` has the first message of each origin that came to an agent, by row and origin. It
    may be forged: signatures are checked where two differ. `proven`: whose guilt the agent of a row
    can prove.
    """

    gamma: int
    heard: defaultdict[int, dict[tuple[int, int], bytes]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    proven: set[tuple[int, int]] = field(default_factory=set)

    def compare(
        self, slot: int, records: Records, arrivals: Arrivals, signers: Sequence[Signer | None]
    ) -> list[tuple[int, Contradiction]]:
        """Hold a slot's messages against those before; new proofs, each with its agent's row.

        `signers` has each row's.
        """
        oldest = slot - self.gamma - 1
        for gone in [created for created in self.heard if created < oldest]:
            del self.heard[gone]
        origins, slots = records["origin"].tolist(), records["created"].tolist()
        data, size = records.tobytes(), records.itemsize
        proofs = []
        for index, row in zip(arrivals.index.tolist(), arrivals.row.tolist(), strict=True):
            origin, created, signer = origins[index], slots[index], signers[row]
            if signer is None or not oldest <= created <= slot or (row, origin) in self.proven:
                continue
            message = data[index * size : (index + 1) * size]
            first = self.heard[created].setdefault((row, origin), message)
            if first[_CONTENT] == message[_CONTENT] or not is_signed(signer, origin, message):
                continue
            if not is_signed(signer, origin, first):
                self.heard[created][row, origin] = message
                continue
            self.proven.add((row, origin))
            both = statement_of(first), statement_of(message)
            proofs.append((row, Contradiction(origin, KIND, place_of(message), both)))
        return proofs
