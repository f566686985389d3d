"""The layer between an agent's sessions and ZeroMQ: a tap that hears frames, and the journal.

It is below the sessions, so the tap also hears joining, envelopes and frames that are sent again.
Without tap and journal there is no such layer. A coordinator's frames are heard at its `Router`.
"""

from collections.abc import Callable, Iterable

from posse.durable.journal import Journal
from posse.engines.base import Tap
from posse.engines.links import Wire


class HeardWire:
    """A wire that commits the journal and calls the tap before it hands anything over.

    `ends` gives the source of the frames and their targets.
    """

    def __init__(
        self,
        wire: Wire,
        tap: Tap | None,
        journal: Journal | None,
        ends: Callable[[], tuple[int | None, Iterable[int]]],
    ) -> None:
        self._wire = wire
        self._tap = tap
        self._journal = journal
        self._ends = ends

    def send(self, data: bytes, flags: int = 0, /) -> object:
        """See `Wire`. A replay sends nothing: the sessions know what the other ends still miss."""
        if self._journal is not None:
            if self._journal.replaying:
                return None
            self._journal.commit()
        if self._tap is not None:
            source, targets = self._ends()
            for target in targets:
                self._tap(source, target, data)
        return self._wire.send(data, flags)
