"""What stands between an agent's sessions and ZeroMQ: who hears its frames, and its journal.

That is below the sessions: frames of joining, envelopes and what is sent again are heard, too.
Where there is neither none of this is there. A coordinator's frames are heard at its `Router`.
"""

from collections.abc import Callable, Iterable

from posse.durable.journal import Journal
from posse.engines.base import Tap
from posse.engines.links import Wire


class HeardWire:
    """A wire to which nothing is handed before it is heard, and what it follows from written down.

    `ends` says whose frames these are, and for whom.
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
        """See `Wire`. What is done again was sent before; the sessions know what is missing."""
        if self._journal is not None:
            if self._journal.replaying:
                return None
            self._journal.commit()
        if self._tap is not None:
            source, targets = self._ends()
            for target in targets:
                self._tap(source, target, data)
        return self._wire.send(data, flags)
