"""Whose fault a broken exchange is."""

import re

WORD = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,63}")
"""What names a reason, a kind of message or a table, wherever these are counted and written."""


class ProtocolError(Exception):
    """The protocol was broken; the subclass says by whom."""


class RemoteProtocolError(ProtocolError):
    """A peer broke the protocol: its message is refused and counted, the run goes on.

    `reason` is the short name under which the refusal is counted: up to 64 letters, digits, blanks,
    `-` and `_`, a letter first.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        if not isinstance(reason, str) or not WORD.fullmatch(reason):
            raise LocalProtocolError(
                f"the reason {reason!r:.80} of a refusal is no name by which it can be counted: up "
                "to 64 letters (a to z, A to Z), digits, blanks, - and _, a letter first"
            )
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason

    def told(self, field: bool) -> str:
        """What the coordinator is told: in the field the reason alone, for values are not its."""
        return self.reason if field else str(self)[:64]  # a `Complaint` has no more


class LocalProtocolError(ProtocolError):
    """We ourselves did what the protocol does not allow: a defect of posse, never of a peer."""
