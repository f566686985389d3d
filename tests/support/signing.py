"""Agents that sign, for tests."""

from posse.protocol.signing import Signer, public_of


def signers(count: int, run: bytes = b"run") -> list[Signer]:
    """One for each agent, who know each other."""
    secrets = [bytes([rank + 1]) * 32 for rank in range(count)]
    known = {rank: public_of(secret) for rank, secret in enumerate(secrets)}
    return [Signer(secret, known, run) for secret in secrets]
