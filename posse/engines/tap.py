"""What hears every frame that a process hands to ZeroMQ, as it hands it over.

That is below the sessions: frames of joining, envelopes and what is sent again are heard, too.
Where nobody listens none of this is there. A coordinator's frames are heard at its `Router`.
"""

from collections.abc import Callable, Iterable

from posse.engines.base import Tap
from posse.engines.links import Wire


class TappedWire:
    """A wire that is listened to. `ends` says whose frames these are, and for whom."""

    def __init__(
        self, wire: Wire, tap: Tap, ends: Callable[[], tuple[int | None, Iterable[int]]]
    ) -> None:
        self._wire = wire
        self._tap = tap
        self._ends = ends

    def send(self, data: bytes, flags: int = 0, /) -> object:
        """See `Wire`."""
        source, targets = self._ends()
        for target in targets:
            self._tap(source, target, data)
        return self._wire.send(data, flags)
