"""Evidence against origins that sign two messages for one slot, from what agents hear of them.

A message travels on several ways, so an agent hears it more than once. Two signed contents of one
origin and slot prove that the origin told others different things; whoever passed them on did no
wrong. Who is not reached by both, because the life of messages ends before, notices nothing.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from posse.seam.messages import HASH_BYTES, SIGNATURE_BYTES, Contradiction, Signer, hash_of
from posse_systems.dubey2020.messages import Records

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
    """What an agent heard of each origin, by slot, in the last γ + 2 slots.

    `heard[slot]` has the first message of each origin that came. It may be forged: signatures are
    checked where two differ. `proven`: whose guilt the agent can prove.
    """

    gamma: int
    signer: Signer
    heard: defaultdict[int, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    proven: set[int] = field(default_factory=set)

    def compare(self, slot: int, records: Records) -> list[Contradiction]:
        """Hold a slot's messages against those before; returns new proofs."""
        oldest = slot - self.gamma - 1
        for gone in [created for created in self.heard if created < oldest]:
            del self.heard[gone]
        origins, slots = records["origin"].tolist(), records["created"].tolist()
        data, size = records.tobytes(), records.itemsize
        proofs = []
        for index, (origin, created) in enumerate(zip(origins, slots, strict=True)):
            if not oldest <= created <= slot or origin in self.proven:
                continue
            message = data[index * size : (index + 1) * size]
            first = self.heard[created].setdefault(origin, message)
            if first[_CONTENT] == message[_CONTENT] or not self._signed(origin, message):
                continue
            if not self._signed(origin, first):
                self.heard[created][origin] = message
                continue
            self.proven.add(origin)
            both = statement_of(first), statement_of(message)
            proofs.append(Contradiction(origin, KIND, place_of(message), both))
        return proofs

    def _signed(self, origin: int, message: bytes) -> bool:
        return is_signed(self.signer, origin, message)
