"""Messages and parameters: their bounds, bytes, signatures, and what machines refuse."""

from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.bounds import (
    MOST_AGENTS,
    MOST_PULLS,
    Arm,
    Candidates,
    Count,
    PackedBytes,
    Rank,
    RankNumbers,
)
from posse.protocol.errors import (
    Contradiction,
    Equivocation,
    LocalProtocolError,
    RemoteProtocolError,
)
from posse.protocol.log import PublicRow, Row
from posse.protocol.machine import MOST_ARMS, OnMissing, Parameters, Variant
from posse.protocol.message import Message, Plane
from posse.protocol.signing import HASH_BYTES, SIGNATURE_BYTES, STATEMENT_BYTES, Signer, hash_of
from posse.protocol.wire import Codec, pack_floats, read_header, unpack_floats

__all__ = [
    "HASH_BYTES",
    "MOST_AGENTS",
    "MOST_ARMS",
    "MOST_PULLS",
    "SIGNATURE_BYTES",
    "STATEMENT_BYTES",
    "Arm",
    "BoolArray",
    "Candidates",
    "Codec",
    "Contradiction",
    "Count",
    "Equivocation",
    "FloatArray",
    "IntArray",
    "LocalProtocolError",
    "Message",
    "OnMissing",
    "PackedBytes",
    "Parameters",
    "Plane",
    "PublicRow",
    "Rank",
    "RankNumbers",
    "RemoteProtocolError",
    "Row",
    "Signer",
    "Variant",
    "hash_of",
    "pack_floats",
    "read_header",
    "unpack_floats",
]
