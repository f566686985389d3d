"""Counting what crosses the wire, where it is sent; and how long it took, where it arrives."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from protocol.control import LinkCount
from protocol.wire import HEADER

_PER_OCTAVE = 8
_SORT_EVERY = 1_024


class Meter:
    """Messages, payload bytes and frame bytes per link, plane and kind, counted by the sender."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int, int, str], list[int]] = {}
        self._to_each: dict[tuple[int, tuple[int, ...], int, str], list[int]] = {}

    def count(self, source: int, target: int, plane: int, kind: str, frame: bytes) -> None:
        """One frame was handed to the transport."""
        key = (source, target, plane, kind)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = [0, 0, 0]
        _add(row, frame)

    def count_each(
        self, source: int, targets: tuple[int, ...], plane: int, kind: str, frame: bytes
    ) -> None:
        """One frame was handed to the transport for each of `targets`."""
        key = (source, targets, plane, kind)
        row = self._to_each.get(key)
        if row is None:
            row = self._to_each[key] = [0, 0, 0]
        _add(row, frame)

    def links(self) -> list[LinkCount]:
        """The counts so far, sorted."""
        for (source, targets, plane, kind), row in self._to_each.items():
            self.add(LinkCount(source, target, plane, kind, *row) for target in targets)
        self._to_each.clear()
        return [LinkCount(*key, *row) for key, row in sorted(self._rows.items())]

    def add(self, links: Iterable[LinkCount]) -> None:
        """Add another's counts."""
        for link in links:
            key = (link.source, link.target, link.plane, link.kind)
            row = self._rows.setdefault(key, [0, 0, 0])
            row[0] += link.messages
            row[1] += link.payload_bytes
            row[2] += link.frame_bytes


def _add(row: list[int], frame: bytes) -> None:
    size = len(frame)
    row[0] += 1
    row[1] += size - HEADER.size
    row[2] += size


class Delays:
    """The histogram of delays, kept at little cost per frame: sorted into buckets by thousands."""

    def __init__(self) -> None:
        self._histogram: Counter[int] = Counter()
        self._unsorted: list[int] = []

    def add(self, nanoseconds: int) -> None:
        """One frame arrived so long after it was sent."""
        self._unsorted.append(nanoseconds)
        if len(self._unsorted) == _SORT_EVERY:
            self._sort()

    def histogram(self) -> Counter[int]:
        """Delays per bucket: eight buckets per factor of two, so within 9 % of the value."""
        self._sort()
        return self._histogram

    def _sort(self) -> None:
        if self._unsorted:
            octaves = np.log2(np.maximum(np.array(self._unsorted, dtype=np.float64), 1.0))
            found, counts = np.unique(np.rint(octaves * _PER_OCTAVE), return_counts=True)
            for index, count in zip(found.astype(int).tolist(), counts.tolist(), strict=True):
                self._histogram[index] += count
            self._unsorted.clear()


def seconds(index: int) -> float:
    """The middle of a bucket."""
    return float(2.0 ** (index / _PER_OCTAVE) * 1e-9)


def quantile(histogram: Counter[int], q: float) -> float | None:
    """The q-quantile of a histogram of delays, in seconds."""
    total = histogram.total()
    if not total:
        return None
    seen = 0
    for index in sorted(histogram):
        seen += histogram[index]
        if seen >= q * total:
            break
    return seconds(index)
