"""Means that others pass on: whose they are is shown by their origin's signature."""

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
    """The means of one round as they travel: numbers, and behind them a signature for each origin.

    Without a `signer` there are no signatures, and a relay may change what it passes on. What is
    signed is the run, the round and the numbers. `signatures` are those known of this round,
    whose means may lie outside of [0, 1] by `margin`.
    """

    signer: Signer | None = None
    margin: float = math.inf
    round: int = 0
    signatures: dict[int, bytes] = field(default_factory=dict)

    def begin(self, rank: int, round_: int, row: FloatArray, margin: float) -> None:
        """A round begins with agent `rank`'s own means."""
        self.margin = margin
        self.round, self.signatures = round_, {}
        if self.signer is not None:
            self.signatures[rank] = self.signer.sign(b"means", self._text(row))

    def pack(self, rows: FloatArray, origins: tuple[int, ...]) -> bytes:
        """The rows of these origins; `rows` has one of every agent."""
        means = pack_floats(rows[list(origins)])
        if self.signer is None:
            return means
        return means + b"".join(self.signatures[origin] for origin in origins)

    def unpack(self, data: bytes, origins: tuple[int, ...], columns: int) -> FloatArray:
        """A peer's rows of these origins, each of which was signed by its own.

        Raises `RemoteProtocolError`.
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
