"""Traffic, counted where it is sent, and delays, measured where it arrives."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from mypy_extensions import mypyc_attr

from posse.protocol.control import LinkCount
from posse.protocol.message import Message, kind_name
from posse.protocol.wire import HEADER, measure_payloads

RESENT, CONFIRMATION = "Resent", "Confirmation"
"""Kinds (plane `control`) of what sessions send besides the first sending of each frame."""

_Row = tuple[int, int | tuple[int, ...], type[Message]]
"""Source, target or targets, and kind."""

_PER_OCTAVE: Final = 8
"""Buckets of delays per factor of two."""
_PER_E: Final = _PER_OCTAVE / math.log(2)
"""Buckets per factor of e."""
_TOGETHER: Final = 1_024
"""Messages handed over whose sizes are measured at once."""


@lru_cache(maxsize=1 << 10)
def _named(kind: type[Message]) -> tuple[int, str]:
    """The plane and name by which messages of a kind are counted."""
    return int(kind.plane), kind_name(kind)


def counted(
    source: int, target: int, kind: type[Message], payload: int, messages: int = 1
) -> LinkCount:
    """Messages of one kind on a link, by the bytes of their payloads."""
    frame = payload + messages * HEADER.size
    return LinkCount(source, target, *_named(kind), messages, payload, frame)


class _Count:
    """Messages and frame bytes of one row."""

    __slots__ = ("messages", "size")

    def __init__(self) -> None:
        self.messages = self.size = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class Meter:
    """Messages, payload bytes and frame bytes per link, plane and kind, counted by the sender."""

    def __init__(self) -> None:
        self._counted: defaultdict[_Row, _Count] = defaultdict(_Count)
        self._handed: defaultdict[_Row, list[Message]] = defaultdict(list)
        self._added: list[LinkCount] = []

    def count(
        self, source: int, target: int | tuple[int, ...], kind: type[Message], frame: bytes
    ) -> None:
        """Count one frame handed to the transport, for one target or for each of several."""
        row = self._counted[source, target, kind]
        row.messages += 1
        row.size += len(frame)

    def hand(self, source: int, target: int, message: Message) -> None:
        """Count a message handed to a host in this process; sizes are measured in batches."""
        handed = self._handed[source, target, type(message)]
        handed.append(message)
        if len(handed) == _TOGETHER:
            self._count_handed()

    def _count_handed(self) -> None:
        for way, handed in self._handed.items():
            row = self._counted[way]
            row.messages += len(handed)
            row.size += measure_payloads(handed) + len(handed) * HEADER.size
        self._handed.clear()

    def add(self, links: Iterable[LinkCount]) -> None:
        """Add counts from elsewhere."""
        self._added += links

    def counted(self) -> Iterator[tuple[int, int | tuple[int, ...], type[Message], int]]:
        """Source, target or targets, kind and number of messages counted here, without `add`."""
        self._count_handed()
        for (source, target, kind), count in self._counted.items():
            yield source, target, kind, count.messages

    def links(self) -> list[LinkCount]:
        """The counts so far, sorted."""
        self._count_handed()
        rows = [*self._added]
        for (source, target, kind), row in self._counted.items():
            payload = row.size - row.messages * HEADER.size
            for receiver in target if isinstance(target, tuple) else (target,):
                rows.append(counted(source, receiver, kind, payload, row.messages))
        rows.sort()
        links = rows[:1]
        for last, link in pairwise(rows):
            if (
                last.target == link.target
                and last.source == link.source
                and last.kind == link.kind
                and last.plane == link.plane
            ):
                links[-1] = links[-1].plus(link)
            else:
                links.append(link)
        return links


def bucket(nanoseconds: int) -> int:
    """The bucket of a delay: eight buckets per factor of two, each 9 % wide."""
    delay = float(nanoseconds if nanoseconds > 0 else 1)
    return int(_PER_E * math.log(delay) + 0.5)


def seconds(index: int) -> float:
    """The middle of a bucket, in seconds."""
    return float(2.0 ** (index / _PER_OCTAVE) * 1e-9)


def quantile(histogram: Counter[int], q: float) -> float | None:
    """The q-quantile of a histogram of delays, in seconds; None if it is empty."""
    total = histogram.total()
    if not total:
        return None
    seen = 0
    for index in sorted(histogram):
        seen += histogram[index]
        if seen >= q * total:
            break
    return seconds(index)
