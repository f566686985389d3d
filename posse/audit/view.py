"""An adversary's view of a run, as named numbers.

They come from every message that it sees, as the system's `MessageReader` reads it. Further numbers
are the counts of each kind, sizes, order and times; when an agent ends and what it then says; and
pulls, if the view includes them. Times are the run's own, in rounds or slots. They follow from
pulls; no claim covers real clocks.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from posse.audit.sums import RevealedSums
from posse.gates.decode import unpacked
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.machine import COORDINATOR, peer_name
from posse.protocol.message import WHOLE, Message, Plane, kind_name
from posse.protocol.privacy import AdversaryView
from posse.protocol.wire import HEADER, read_header
from posse.system.reading import read_field

_MESSAGES, _PULLS = 32, 64
"""Limits: messages of a sender (a coordinator: to each agent) and kind, turns of an agent to an
arm. Later ones are only counted."""

_CONTROL = {
    kind_name(kind): kind
    for kind in (
        *control.TO_AGENT,
        *control.TO_COORDINATOR,
        *control.TO_LABS_COORDINATOR,
        *control.TO_JOINING,
        *control.TO_LOBBY,
    )
}

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}

PLACE = "what message"
"""Begins the name of what stands at a place among all messages."""

MOST_FRAMES = 5_000
"""Frames of a run that are looked at; some runs never end on some data."""


class EnoughSeen(Exception):
    """Ends a run after `MOST_FRAMES` frames; the audit uses what they show."""


class Adversary:
    """Hears a run's frames (a `Tap`) and keeps the numbers that an adversary with this view sees.

    View "agent" sees `watched` agents, `agent` and the next ones. `most`: messages of a sender and
    kind that are kept. `exact`: of runs that are to be the same every byte counts, but of fields
    that may follow rewards (`Message.follows`).
    """

    def __init__(
        self,
        plan: Plan,
        sees: AdversaryView,
        agent: int,
        watched: int = 1,
        most: int = _MESSAGES,
        *,
        exact: bool = False,
    ) -> None:
        self._most = most
        self._exact = exact
        self._field = plan.field
        self._sees = sees
        count = plan.spec.agents.count
        self._watched = {(agent + step) % count for step in range(watched)}
        self._end = plan.system.end
        self._shares_arms = plan.system.shares_arms
        self._reader = plan.system.make_reader(plan.spec, plan.parameters)
        self._seen: set[tuple[int, int | None, int]] = set()
        self._last: tuple[float, str, list[tuple[str, float]]] | None = None
        precision = getattr(plan.parameters, "precision", 0)
        self._sums = RevealedSums(self._reader, count, precision)
        self._sizes: Counter[str] = Counter()
        self._frames = self._place = self._compared = 0
        self.numbers: dict[str, float] = {}

    def __call__(self, source: int | None, target: int | None, frame: bytes) -> None:
        """Take a frame; `EnoughSeen` if there were too many."""
        self._frames += 1
        if self._frames > max(MOST_FRAMES, self._most):
            raise EnoughSeen
        header = read_header(frame)
        kind, *values = unpacked(frame[HEADER.size :])
        if self._sees == "coordinator":
            self._sums.hear(header.source, target, kind, values)
        # an agent has one sequence for all its frames, a coordinator one per link
        link = target if header.source == COORDINATOR else None
        if (header.source, link, header.sequence) in self._seen:
            return  # the same frame to several targets
        sender = peer_name(header.source)
        if header.plane == Plane.CONTROL and kind not in self._reader.kinds and kind != "Finished":
            self._seen.add((header.source, link, header.sequence))
            self._controlled(sender, header.source, target, kind, values)
            return
        if not self._is_seen(header.source, target, header.plane, kind):
            return
        self._seen.add((header.source, link, header.sequence))
        if kind == "Finished":
            self._ended(sender, values, header.now)
            return
        shown = self._read(kind, values)
        last = None if link is None else (header.now, kind, shown)
        # copies of one message share a place, or each would look like a number of its own; only
        # numbers that are shown decide what a copy is
        self._place += last is None or last != self._last
        self._last = last
        counted = f"number of `{kind}` of {sender}"
        self._sizes[counted] += 1
        to = "" if link is None else f" to {peer_name(link)}"
        if to:
            self._sizes[counted + to] += 1
        n = self._sizes[counted + to]
        if n > self._most:
            return
        name = f"{sender}'s {ordinal(n)} `{kind}`{to}"
        self.numbers |= {f"`{path}` of {name}": item for path, item in shown}
        self._compare(name, self._reader.kinds[kind], values)
        self.numbers[f"size of {name}"] = len(frame)
        self.numbers[f"place of {name}"] = self._place
        self.numbers[f"time of {name}"] = header.now

    def _controlled(
        self, sender: str, source: int, target: int | None, kind: str, values: list[Any]
    ) -> None:
        """Take a control message: it is seen where the adversary sees its link."""
        known = _CONTROL.get(kind, Message)
        may = known.follows
        unseen = ("rewards",) if self._exact else ("rewards", "run")
        if self._exact and self._field:
            may = {}  # nothing of the lab's is sent there, and no time passes
        if may.get(WHOLE) in unseen or not self._is_on_seen_link(source, target):
            return
        counted = f"number of `{kind}` of {sender}"
        self._sizes[counted] += 1
        n = self._sizes[counted]
        if n <= self._most:
            name = f"{sender}'s {ordinal(n)} `{kind}`"
            fields = known.__struct_fields__ or [f"{i}" for i in range(len(values))]
            for field, value in zip(fields, values, strict=False):
                if field not in may and WHOLE not in may:
                    self.numbers |= {f"`{p}` of {name}": x for p, x in read_field(field, value)}
            self._compare(name, known, values)

    def _compare(self, name: str, kind: type[Message], values: list[Any]) -> None:
        """Note all that a message has, byte for byte, where it is compared with another run's.

        And its place among all messages.
        """
        if not self._exact:
            return
        self._compared += 1
        self.numbers[f"{PLACE} {self._compared} is"] = digest_of(name.encode())
        fields = kind.__struct_fields__ or tuple(map(str, range(len(values))))
        compared = {
            field: value
            for field, value in zip(fields, values, strict=False)
            if kind.follows.get(field) != "rewards"
        }
        self.numbers[f"some byte of {name}"] = digest_of(msgspec.msgpack.encode(compared))

    def _read(self, kind: str, values: list[Any]) -> list[tuple[str, float]]:
        """The numbers that a message shows, whatever it is."""
        message = self._reader.decode(kind, values)
        fields = zip(self._reader.kinds[kind].__struct_fields__, values, strict=False)
        if message is None:
            return [pair for name, value in fields for pair in read_field(name, value)]
        if self._sees == "coordinator" and isinstance(message, self._reader.hidden):
            # the sums cover the rest
            return [(name, float(value)) for name, value in fields if isinstance(value, int)]
        return list(self._reader.view(message))

    def collect(self, pulls: dict[int, list[tuple[int, int]]]) -> dict[str, float]:
        """All numbers of the run; `pulls` lists each agent's (arm, times) in order."""
        numbers = self.numbers | {name: float(n) for name, n in self._sizes.items()}
        numbers |= dict(self._sums.form())
        if self._sees == "pulls" and not self._shares_arms:
            for rank, turns in pulls.items():
                numbers |= dict(_read_pulls(rank, turns))
        return numbers

    def _is_seen(self, source: int, target: int | None, plane: int, kind: str) -> bool:
        if kind == "Finished":
            return self._end != "nothing" and (self._sees != "agent" or source in self._watched)
        if kind not in self._reader.kinds or (plane == Plane.WORLD and self._sees != "pulls"):
            return False
        return self._is_on_seen_link(source, target)

    def _is_on_seen_link(self, source: int, target: int | None) -> bool:
        if self._sees == "agent":
            return source in self._watched
        return self._sees != "coordinator" or COORDINATOR in (source, target)

    def _ended(self, sender: str, values: list[Any], now: float) -> None:
        self.numbers[f"place of {sender}'s end"] = self._place
        self.numbers[f"time of {sender}'s end"] = now
        if self._end == "answer" and values and values[0] is not None:
            self.numbers[f"answer of {sender}"] = float(values[0])


def digest_of(content: bytes) -> float:
    """A number that is another where any byte is."""
    return float(int.from_bytes(hashlib.blake2b(content, digest_size=6).digest(), "little"))


def sees_only_ends(plan: Plan, sees: AdversaryView) -> bool:
    """Whether the view shows no message of this system; players' choices are seen as pulls."""
    kinds = plan.system.agent.hears + plan.system.server_hears
    worlds = bool(kinds) and all(kind.plane == Plane.WORLD for kind in kinds)
    return worlds and sees != "pulls"


def ordinal(n: int) -> str:
    """First, second, …, 10th, …, 21st."""
    if n <= len(_ORDINALS):
        return _ORDINALS[n - 1]
    last = 0 if n % 100 in (11, 12, 13) else n % 10
    return f"{n}{_ENDINGS.get(last, 'th')}"


def _read_pulls(rank: int, turns: list[tuple[int, int]]) -> Iterator[tuple[str, float]]:
    """The slots in which an agent turned to each arm, counted from 1, and how often it did.

    Consecutive pulls of an arm are one turn, in the slot of the first.
    """
    times: dict[int, list[int]] = {}
    slot = 0
    for arm, count in turns:
        times.setdefault(arm, []).append(slot + 1)
        slot += count
    for arm, slots in sorted(times.items()):
        yield f"number of times that agent {rank} turned to arm {arm}", float(len(slots))
        for j, first in enumerate(slots[:_PULLS], start=1):
            yield f"slot of agent {rank}'s {ordinal(j)} turn to arm {arm}", float(first)
    yield f"slots of agent {rank}", float(slot)
