"""What this process uses of its machine."""

from collections.abc import Callable, Iterable

from posse.hosts.sources import ResourceMeter
from posse.measure.traffic import CONFIRMATION, RESENT
from posse.protocol.control import LinkCount, ResourceUse
from posse.protocol.message import Plane
from posse.protocol.wire import HEADER
from posse.wire.session import ENVELOPE_BYTES, Session
from posse.wire.world import HERE, World

Sessions = Callable[[], Iterable[tuple[int, Session]]]
"""This process's sessions, each with who is at the other end."""

_SHARED_BY = [1]
"""How many agents share this process: each one's part of what it uses is even."""

_FRESH = 1.0
"""Seconds for which its agents share a reading of its memory, which takes a millisecond."""
_read: tuple[float, tuple[int, int]] = -_FRESH, (0, 0)

_CONTROL = int(Plane.CONTROL)
_Counts = tuple[int, int, int]


def share(agents: int) -> None:
    """This number of agents share this process from now on."""
    _SHARED_BY[0] = agents


class ProcessResources(ResourceMeter):
    """Measures processor time and memory of this process, and what its sessions sent themselves."""

    def __init__(self, sessions: Sessions = tuple, world: World = HERE) -> None:
        self._cpu = 0.0
        self._world = world
        self._sessions = sessions
        self._before: dict[int, tuple[Session, _Counts]] = {}

    def begin(self) -> None:
        self._cpu = self._world.process_time()
        self._before = {end: (session, _counts(session)) for end, session in self._sessions()}

    def links(self, source: int) -> list[LinkCount]:
        rows = []
        for end, session in self._sessions():
            known, before = self._before.get(end, (None, (0, 0, 0)))
            resent, size, bare = (
                now - then
                for now, then in zip(
                    _counts(session), before if known is session else (0, 0, 0), strict=True
                )
            )
            for kind, count, payload, own in (
                (RESENT, resent, size - resent * HEADER.size, size),
                (CONFIRMATION, bare, 0, 0),
            ):
                if count:
                    whole = own + count * ENVELOPE_BYTES
                    rows.append(LinkCount(source, end, _CONTROL, kind, count, payload, whole))
        return rows

    def used(self) -> ResourceUse:
        """See `ResourceMeter`. Shared memory counts in proportion (Pss) where Linux tells it."""
        agents = _SHARED_BY[0]
        peak, proportional = self._memory() if agents > 1 else self._world.memory()
        seconds = (self._world.process_time() - self._cpu) / agents
        return ResourceUse(seconds, peak // agents, proportional // agents)

    def _memory(self) -> tuple[int, int]:
        """The memory of a process of several agents."""
        global _read  # noqa: PLW0603
        now = self._world.monotonic()
        if now >= _read[0] + _FRESH:
            _read = now, self._world.memory()
        return _read[1]


def _counts(session: Session) -> _Counts:
    return session.resent, session.resent_bytes, session.bare
