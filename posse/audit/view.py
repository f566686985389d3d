"""An adversary's view of a run, as named numbers.

They come from every field of every message that it sees: numbers as they are, texts as length and
hash. Further numbers are the counts of each kind, sizes, order and times; when an agent ends and
what it then says; and pulls, if the view includes them. Times are the run's own, in rounds or
slots. They follow from pulls; no claim covers real clocks.
"""

import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.audit.sums import MASKING, Sums
from posse.plan import Plan
from posse.protocol.cooperative import Bundle, ByzantineParameters, means_record, reward_record
from posse.protocol.machine import COORDINATOR, peer_name
from posse.protocol.message import Plane, kind_name
from posse.protocol.privacy import AdversaryView
from posse.protocol.signing import SIGNATURE_BYTES
from posse.protocol.wire import HEADER, read_header

_MESSAGES, _ITEMS, _PULLS = 32, 64, 64
"""Limits: messages of a sender (a coordinator: to each agent) and kind, items of a field, turns of
an agent to an arm. Later ones are only counted."""

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}

_LARGE, _SMALL = 1e12, 1e-12
"""Eight bytes are read as a float if its size lies between these."""

MOST_FRAMES = 5_000
"""Frames of a run that are looked at; some runs never end on some data."""

_decode = msgspec.msgpack.Decoder().decode


_A_PLAYERS_OWN = ("sample", "payoff")
"""Fields with what a player got from the shared arms; other players do not see them."""


class EnoughSeen(Exception):
    """Ends a run after `MOST_FRAMES` frames; the audit uses what they show."""


class Watch:
    """Hears a run's frames (a `Tap`) and keeps what an adversary with this view sees.

    `agent` is the one that view "agent" sees.
    """

    def __init__(self, plan: Plan, sees: AdversaryView, agent: int) -> None:
        self._sees = sees
        self._agent = agent
        self._end = plan.system.end
        self._shares_arms = plan.system.shares_arms
        self._hidden = _A_PLAYERS_OWN if self._shares_arms else ()
        self._fields = fields_of(plan)
        self._bundles = Bundles(plan) if Bundle in plan.system.agent.hears else None
        self._seen: set[tuple[int, int | None, int]] = set()
        self._told: tuple[float, str, list[tuple[str, Any]]] | None = None
        self._sums = Sums(plan.spec.agents.count, getattr(plan.parameters, "precision", 0))
        self._sizes: Counter[str] = Counter()
        self._frames = self._place = 0
        self.numbers: dict[str, float] = {}

    def __call__(self, source: int | None, target: int | None, frame: bytes) -> None:
        """Take a frame; `EnoughSeen` if there were too many."""
        self._frames += 1
        if self._frames > MOST_FRAMES:
            raise EnoughSeen
        header = read_header(frame)
        kind, *values = _decode(frame[HEADER.size :])
        if self._sees == "coordinator":
            self._sums.hear(header.source, target, kind, values)
        # an agent has one sequence for all its frames, a coordinator one per link
        link = target if header.source == COORDINATOR else None
        if (header.source, link, header.sequence) in self._seen:
            return  # the same frame to several targets
        if not self._is_seen(header.source, target, header.plane, kind):
            return
        self._seen.add((header.source, link, header.sequence))
        said_by = peer_name(header.source)
        if kind == "Finished":
            self._ended(said_by, values, header.now)
            return
        shown = [
            (field, value)
            for field, value in zip(self._fields[kind], values, strict=False)
            if field not in self._hidden
        ]
        told = None if link is None else (header.now, kind, shown)
        # copies of one message share a place, or each would look like a number of its own; only
        # fields that are shown decide what a copy is
        self._place += told is None or told != self._told
        self._told = told
        counted = f"number of `{kind}` of {said_by}"
        self._sizes[counted] += 1
        to = "" if link is None else f" to {peer_name(link)}"
        if to:
            self._sizes[counted + to] += 1
        n = self._sizes[counted + to]
        if n > _MESSAGES:
            return
        name = f"{said_by}'s {ordinal(n)} `{kind}`{to}"
        if self._sees == "coordinator" and kind in MASKING:
            shown = [pair for pair in shown if isinstance(pair[1], int)]  # sums cover the rest
        for field, value in shown:
            for path, item in self._items(field, value):
                self.numbers[f"`{path}` of {name}"] = item
        self.numbers[f"size of {name}"] = len(frame)
        self.numbers[f"place of {name}"] = self._place
        self.numbers[f"time of {name}"] = header.now

    def found(self, pulls: dict[int, list[tuple[int, int]]]) -> dict[str, float]:
        """All numbers of the run; `pulls` lists each agent's (arm, times) in order."""
        found = self.numbers | {name: float(n) for name, n in self._sizes.items()}
        found |= dict(self._sums.found())
        if self._sees == "pulls" and not self._shares_arms:
            for rank, pulled in pulls.items():
                found |= dict(_pulled(rank, pulled))
        return found

    def _is_seen(self, source: int, target: int | None, plane: int, kind: str) -> bool:
        if kind == "Finished":
            return self._end != "nothing" and (self._sees != "agent" or source == self._agent)
        if kind not in self._fields or (plane == Plane.WORLD and self._sees != "pulls"):
            return False
        if self._sees == "agent":
            return source == self._agent
        return self._sees != "coordinator" or COORDINATOR in (source, target)

    def _ended(self, said_by: str, values: list[Any], now: float) -> None:
        self.numbers[f"place of {said_by}'s end"] = self._place
        self.numbers[f"time of {said_by}'s end"] = now
        if self._end == "answer" and values and values[0] is not None:
            self.numbers[f"answer of {said_by}"] = float(values[0])

    def _items(self, field: str, value: Any) -> Iterator[tuple[str, float]]:
        """The numbers in one field of a message."""
        match value:
            case bool() | int() | float():
                yield field, float(value)
            case bytes() if self._bundles is not None and field == "items":
                yield from self._bundles.numbers(value)
            case bytes():
                yield f"length of {field}", float(len(value))
                for i, item in enumerate(numbers_in(value)[:_ITEMS]):
                    yield f"{field}[{i}]", item
            case list():
                yield f"length of {field}", float(len(value))
                for i, item in enumerate(value[:_ITEMS]):
                    yield from self._items(f"{field}[{i}]", item)
            case dict():
                for key in list(value)[:_ITEMS]:
                    yield from self._items(f"{field}[{key}]", value[key])
            case _:  # text, time or None: a hash tells values apart
                text = str(value)
                yield f"length of {field}", float(len(text))
                yield f"hash of {field}", zlib.crc32(text.encode()) / 2.0**32


class Bundles:
    """Reads the bundles of a plan."""

    def __init__(self, plan: Plan) -> None:
        byzantine = isinstance(plan.parameters, ByzantineParameters)
        record = reward_record() if byzantine else means_record(plan.spec.arms.arm_count())
        signed = np.dtype([*record.descr, ("signature", f"V{SIGNATURE_BYTES}")])
        self._forms = record, signed
        self._said = (record.names or ())[3:]
        self._agents = plan.spec.agents.count

    def rows(self, items: bytes) -> NDArray[np.void]:
        """The rows of a bundle, signed or not; none if the bytes are no bundle."""
        for form in self._forms:
            if len(items) % form.itemsize == 0:
                rows = np.frombuffer(items, form)
                if (rows["origin"] < self._agents).all():
                    return rows
        return np.zeros(0, self._forms[0])

    def numbers(self, items: bytes) -> Iterator[tuple[str, float]]:
        """The sender's own row of a bundle; other rows are copies of what their origins sent."""
        rows = self.rows(items)
        yield "number of items", len(rows)
        for own in rows[:1]:
            for name in self._said:
                for i, item in enumerate(np.atleast_1d(own[name])[:_ITEMS].tolist()):
                    yield f"{name}[{i}]", float(item)


def fields_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The fields of each kind of message of the plan's system."""
    kinds = plan.system.agent.hears + plan.system.server_hears
    return {kind_name(kind): kind.__struct_fields__ for kind in kinds}


def sees_only_ends(plan: Plan, sees: AdversaryView) -> bool:
    """Whether the view shows no message of this system; players' choices are seen as pulls."""
    kinds = plan.system.agent.hears + plan.system.server_hears
    worlds = bool(kinds) and all(kind.plane == Plane.WORLD for kind in kinds)
    return worlds and sees != "pulls"


def numbers_in(data: bytes) -> list[float]:
    """Packed floats, or words of eight bytes as shares of 2^64; then the remaining bytes."""
    end = len(data) // 8 * 8
    whole = data[:end]
    floats = are_floats(whole)
    read = np.frombuffer(whole, "<f8") if floats else np.frombuffer(whole, "<u8") / 2.0**64
    return [*read.tolist(), *map(float, data[end:])]


def are_floats(data: bytes) -> bool:
    """Whether every eight of these bytes are read as a float."""
    if len(data) % 8:
        return False
    size = np.abs(np.frombuffer(data, "<f8"))
    return bool(((size == 0) | ((size > _SMALL) & (size < _LARGE))).all())


def ordinal(n: int) -> str:
    """First, second, …, 10th, …, 21st."""
    if n <= len(_ORDINALS):
        return _ORDINALS[n - 1]
    last = 0 if n % 100 in (11, 12, 13) else n % 10
    return f"{n}{_ENDINGS.get(last, 'th')}"


def _pulled(rank: int, pulled: list[tuple[int, int]]) -> Iterator[tuple[str, float]]:
    """The slots in which an agent turned to each arm, counted from 1, and how often it did.

    Consecutive pulls of an arm are one turn, in the slot of the first.
    """
    times: dict[int, list[int]] = {}
    slot = 0
    for arm, count in pulled:
        times.setdefault(arm, []).append(slot + 1)
        slot += count
    for arm, slots in sorted(times.items()):
        yield f"number of times that agent {rank} turned to arm {arm}", float(len(slots))
        for j, at in enumerate(slots[:_PULLS], start=1):
            yield f"slot of agent {rank}'s {ordinal(j)} turn to arm {arm}", float(at)
    yield f"slots of agent {rank}", float(slot)
