"""Rows of means that other agents pass on, each with its origin's signature."""

import math
import struct
from dataclasses import dataclass, field

from protocol.federated import check_plausible
from protocol.machine import FloatArray
from protocol.signing import SIGNATURE_BYTES, Signer
from protocol.wire import pack_floats, unpack_floats

_ROUND = struct.Struct("<q")


@dataclass(slots=True)
class SignedRows:
    """Packs the means of one round for travel: the numbers, then a signature for each origin.

    A signature covers the run, the round and the numbers. Without a `signer` there are none, and a
    relay may change what it passes on. `signatures` has those known of this round, by origin. Means
    may lie outside [0, 1] by `margin`.
    """

    signer: Signer | None = None
    margin: float = math.inf
    round: int = 0
    signatures: dict[int, bytes] = field(default_factory=dict)

    def begin(self, rank: int, round_: int, row: FloatArray, margin: float) -> None:
        """Begin a round with agent `rank`'s own means."""
        self.margin = margin
        self.round, self.signatures = round_, {}
        if self.signer is not None:
            self.signatures[rank] = self.signer.sign(b"means", self._text(row))

    def pack(self, rows: FloatArray, origins: tuple[int, ...]) -> bytes:
        """The rows of these origins as bytes; `rows`, shape (agents, arms), has everybody's."""
        means = pack_floats(rows[list(origins)])
        if self.signer is None:
            return means
        return means + b"".join(self.signatures[origin] for origin in origins)

    def unpack(self, data: bytes, origins: tuple[int, ...], columns: int) -> FloatArray:
        """The rows of these origins from a peer's bytes, shape (len(origins), columns).

        Raises `RemoteProtocolError` for any fault in them.
        """
        end = len(data)
        if self.signer is not None:
            end = max(0, end - SIGNATURE_BYTES * len(origins))
        rows = unpack_floats(data[:end], len(origins) * columns).reshape(-1, columns)
        check_plausible(rows, self.margin)
        if self.signer is None:
            return rows
        signed = {
            origin: data[end + i * SIGNATURE_BYTES : end + (i + 1) * SIGNATURE_BYTES]
            for i, origin in enumerate(origins)
        }
        for origin, row in zip(origins, rows, strict=True):
            self.signer.check(origin, b"means", self._text(row), signed[origin])
        self.signatures.update(signed)
        return rows

    def _text(self, row: FloatArray) -> bytes:
        return _ROUND.pack(self.round) + pack_floats(row)
