"""Who sent which message to whom in a slot, and a cache of what follows while this repeats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from mypy_extensions import mypyc_attr
from numpy.typing import NDArray

from posse.protocol.arrays import BoolArray, IntArray
from posse.protocol.cooperative import ENVELOPE

Records = NDArray[np.void]

_WORD: Final = np.dtype("<u2")
_ENVELOPE = np.dtype(ENVELOPE)
_ENVELOPE_WORDS: Final = _ENVELOPE.itemsize // _WORD.itemsize


@dataclass(slots=True)
class News:
    """New messages: `records[pick[i]]` is new to the agent of `row[i]`.

    That agent's knowledge of the message's origin is at `at[i]` = origin * rows + row.
    """

    records: Records
    pick: IntArray
    row: IntArray
    at: IntArray

    def only(self, which: IntArray | BoolArray) -> "News":
        """The part of the news that an index or a mask selects."""
        return News(self.records, self.pick[which], self.row[which], self.at[which])


@dataclass(slots=True)
class State:
    """Everything that decides which messages are new in a slot, relative to the slot's number.

    For each record sent its `life` and `age`; for each that arrived how many slots its row is
    `behind`.
    """

    slot: int
    life: IntArray
    age: IntArray
    behind: IntArray

    def follows(self, before: "State") -> bool:
        """Whether this is the state of the next slot and otherwise equal to `before`."""
        return (
            self.slot == before.slot + 1
            and np.array_equal(self.life, before.life)
            and np.array_equal(self.age, before.age)
            and np.array_equal(self.behind, before.behind)
        )


@mypyc_attr(allow_interpreted_subclasses=True)
class Steady:
    """What follows from a slot's envelopes, while each slot repeats them, created one slot later.

    `new` are the news, `age_of_new` their ages and `on` those passed on. `counted` is added to
    `Known.tallies` in each slot. `way` and `age` are those of all arrivals.
    """

    def __init__(
        self, state: State, ways: "Ways", new: News, on: IntArray, counted: IntArray
    ) -> None:
        self.slot = self.settled = state.slot
        self.way, self.age = ways.way, state.age.take(ways.pick)
        self.new, self.on, self.counted = new, on, counted
        self.age_of_new = state.age.take(new.pick)
        envelopes = np.empty(len(new.records), dtype=_ENVELOPE)
        for name in ("origin", "created", "life"):
            envelopes[name] = new.records[name]
        envelopes["created"] += 1
        self._words = len(envelopes), new.records.itemsize // _WORD.itemsize
        self._expected = envelopes.view(_WORD).reshape(len(envelopes), -1)
        # the lower half of a u4; after an overflow nothing matches and the slot is processed
        self._created = self._expected[:, 2]
        self._expects = state.slot + 1

    def goes_on(self, slot: int, records: bytes) -> bool:
        """Whether these records, sent the same ways, have the envelopes expected for `slot`."""
        if slot != self.slot + 1:
            return False
        if slot != self._expects:
            np.add(self._created, np.uint16(slot - self._expects & 0xFFFF), out=self._created)
            self._expects = slot
        words = np.frombuffer(records, dtype=_WORD).reshape(self._words)
        # compared as bytes: comparing strided numbers takes twice as long
        return words[:, :_ENVELOPE_WORDS].tobytes() == self._expected.tobytes()


def first_of(key: IntArray) -> BoolArray:
    """A mask of the entries that are the first with their key."""
    mask = np.zeros(len(key), dtype=bool)
    mask[np.unique(key, return_index=True)[1]] = True
    return mask


@mypyc_attr(allow_interpreted_subclasses=True)
class Ways:
    """Who sent what to whom in a slot.

    `layout` has the listening rows, the senders of the bundles (none, if each link has a bundle of
    its own) and the bundles' lengths in bytes. `neighbours` has those of each row.

    Each record sent has a `sender` and an `origin`. Each arrival has its place among those sent
    (`pick`), the `row` it came to, its `way` (link and origin) and the place of what the row knows
    of its origin (`at`). `again` marks arrivals whose link has already brought a record of this
    origin; None if there are none.
    """

    def __init__(
        self,
        neighbours: Sequence[tuple[int, ...]],
        agents: int,
        rows: int,
        itemsize: int,
        layout: tuple[list[int], list[int], list[int]],
    ) -> None:
        self.layout = listening, senders, lengths = layout
        self.state: State | None = None
        self.steady: Steady | None = None
        self._agents, self._rows = agents, rows
        first = np.cumsum([0, *map(len, neighbours)])
        ends = [(row, rank) for row in listening for rank in neighbours[row]]
        row, sender = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        link = np.concatenate([np.arange(first[r], first[r + 1]) for r in listening])
        size = np.array(lengths, dtype=np.int64) // itemsize
        of = np.searchsorted(senders, sender) if senders else np.arange(len(sender))
        by_part = np.zeros(len(lengths), dtype=np.int64)
        by_part[of] = sender
        self.sender = np.repeat(by_part, size)
        came, start = size[of], np.cumsum(size) - size
        within = np.arange(came.sum()) - np.repeat(np.cumsum(came) - came, came)
        self._pick = np.repeat(start[of], came) + within
        self._row, self._link = np.repeat(row, came), np.repeat(link, came) * agents
        self._single = bool((came <= 1).all())
        self.origin = np.full(len(self.sender), -1)

    def locate(self, origin: IntArray) -> IntArray | None:
        """Place the records of these origins; returns the rows that got one of an unknown agent."""
        if len(origin) and not np.count_nonzero(origin != self.origin):
            return None
        unknown = self.state = None
        self.origin, self.pick, self.row, link = origin, self._pick, self._row, self._link
        if len(origin) and origin.max() >= self._agents:
            real = (origin < self._agents)[self.pick]
            unknown = self.row[~real]
            self.pick, self.row, link = self.pick[real], self.row[real], link[real]
            self.origin = np.where(origin < self._agents, origin, -1)  # as in no other slot
        by = origin.take(self.pick)
        self.way, self.at = link + by, by * self._rows + self.row
        again = None if self._single else ~first_of(self.way)
        self.again = again if again is not None and again.any() else None
        return unknown
