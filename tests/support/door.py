"""Those at a door, of the coordinator or of an agent's inbox."""

from typing import Generic, TypeVar

from posse.wire.door import Door
from tests.support.remote import until

AnyDoor = TypeVar("AnyDoor", bound=Door)


class Watched(Generic[AnyDoor]):
    """Looks when it is asked to."""

    door: AnyDoor

    def time(self) -> float:
        """The time at which is looked."""
        raise NotImplementedError

    def look(self) -> list[str]:
        """Why connections were closed."""
        self.door.drain()
        self.door.look(self.time())
        reasons = [reason for reason, _ in self.door.refused]
        self.door.refused.clear()
        return reasons

    def closes(self) -> list[str]:
        """Why it closed what it must close sooner or later."""
        why: list[str] = []

        def closed() -> bool:
            why.extend(self.look())
            return bool(why)

        until(closed, "that it is closed")
        return why
