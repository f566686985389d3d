"""Protocol errors, told apart by whose fault they are: a peer's or ours."""

import re

import msgspec

NOT_SETTLED = "not-settled"

WORD = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,63}")
"""Names of reasons, kinds of messages and tables, which end up as keys in logs and results."""


class ProtocolError(Exception):
    """The protocol was broken; the subclass says by whom."""


class RemoteProtocolError(ProtocolError):
    """A peer broke the protocol: its message is refused and counted, the run goes on.

    `reason` is the name under which the refusal is counted: a letter, then up to 63 letters,
    digits, blanks, `-` and `_`.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        if not isinstance(reason, str) or not WORD.fullmatch(reason):
            raise LocalProtocolError(
                f"the reason {reason!r:.80} of a refusal is not a name to count it by; use up to "
                "64 letters (a to z, A to Z), digits, blanks, - and _, a letter first"
            )
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason

    def described(self, field: bool) -> str:
        """What the coordinator is told: in the field the reason alone, without private values."""
        return self.reason if field else str(self)[:64]  # the limit of a `Complaint`


class Contradiction(msgspec.Struct, frozen=True):
    """Two statements that agent `origin` signed for one `place`: a hash and a signature each."""

    origin: int
    kind: bytes
    place: bytes
    statements: tuple[bytes, bytes]


class Equivocation(RemoteProtocolError):
    """An origin contradicts itself, as `proof` shows; whoever passed it on did no wrong."""

    def __init__(self, proof: Contradiction) -> None:
        text = f"agent {proof.origin} signed two values for one round, as two signatures prove"
        super().__init__("equivocation", text)
        self.proof = proof


class Unsettled(RemoteProtocolError):
    """Too few members of a masked sum settled for the same: `others` say otherwise, or lie."""

    def __init__(self, agreed: int, least: int, others: tuple[int, ...]) -> None:
        super().__init__(NOT_SETTLED, f"{agreed} agree where {least} must")
        self.others = others


class LocalProtocolError(ProtocolError):
    """Our own side broke the protocol: a defect of posse, never a peer's fault."""
