"""Whose fault a broken exchange is."""


class ProtocolError(Exception):
    """The protocol was broken; the subclass says by whom."""


class RemoteProtocolError(ProtocolError):
    """A peer broke the protocol: its message is refused and counted, the run goes on.

    `reason` is the short name under which the refusal is counted.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason

    def told(self, field: bool) -> str:
        """What the coordinator is told: in the field the reason alone, for values are not its."""
        return self.reason if field else str(self)[:64]  # a `Complaint` has no more


class LocalProtocolError(ProtocolError):
    """We ourselves did what the protocol does not allow: a defect of posse, never of a peer."""
