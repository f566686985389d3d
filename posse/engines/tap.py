"""What hears every frame that a process hands to ZeroMQ, as it hands it over.

That is below the sessions: frames of joining, envelopes and what is sent again are heard, too.
Where nobody listens none of this is there.
"""

from collections.abc import Callable, Iterable
from typing import Any

from posse.engines.base import Tap
from posse.engines.links import Wire
from posse.engines.router import Router
from protocol.machine import COORDINATOR


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


class TappedRouter(Router):
    """A coordinator's socket that is listened to; `rank_of` says whose a connection is."""

    def __init__(self, tap: Tap, rank_of: Callable[[bytes], int | None], *router: Any) -> None:
        super().__init__(*router)
        self._tap = tap
        self._rank_of = rank_of

    def send(self, identity: bytes, frame: bytes) -> None:
        self._tap(COORDINATOR, self._rank_of(identity), frame)
        super().send(identity, frame)

    def reply(self, identity: bytes, frame: bytes) -> bool:
        self._tap(COORDINATOR, self._rank_of(identity), frame)
        return super().reply(identity, frame)
