"""What agents with keys sign at the end: their answer, and the run that they took part in."""

from typing import Any

import msgspec

from posse.protocol.signing import Signer

KIND = b"answer"


class Signed(msgspec.Struct, frozen=True):
    """Agents' signatures (Ed25519) of their answers, by rank; all in hexadecimal.

    `run` is the name of the run in signatures.
    """

    run: str
    answers: dict[int, str] = {}


def last_word(
    system: str, variant: str, agents: int, parameters: dict[str, Any], arm: int | None
) -> bytes:
    """What an agent signs: that in a run of `agents` agents with these parameters it answers so."""
    said = system, variant, agents, parameters, arm
    return msgspec.json.encode(said, order="deterministic")


def signed_by(
    keys: dict[int, bytes], run: bytes, rank: int, kind: bytes, content: bytes, signature: str
) -> bool:
    """Whether the key of agent `rank` signed this content in the run of this name."""
    try:
        return Signer(None, keys, run).signed(rank, kind, content, bytes.fromhex(signature))
    except ValueError:
        return False
