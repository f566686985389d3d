"""Who sent which message to whom in a slot, and a cache of what follows while this repeats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from mypy_extensions import mypyc_attr
from numpy.typing import NDArray

from posse.seam.messages import BoolArray, IntArray
from posse_systems.dubey2020.messages import ENVELOPE

Records = NDArray[np.void]

_WORD: Final = np.dtype("<u2")
_ENVELOPE = np.dtype(ENVELOPE)
_ENVELOPE_WORDS: Final = _ENVELOPE.itemsize // _WORD.itemsize


@dataclass(slots=True)
class NewMessages:
    """New messages: `records[index[i]]` is new to the agent of `row[i]`.

    That agent's entry for the message's origin is at `cell[i]` = origin * rows + row of flat arrays
    of shape (agents, rows).
    """

    records: Records
    index: IntArray
    row: IntArray
    cell: IntArray

    def select(self, which: IntArray | BoolArray) -> "NewMessages":
        """The messages that an index or a mask selects."""
        return NewMessages(self.records, self.index[which], self.row[which], self.cell[which])


@dataclass(slots=True)
class EnvelopeState:
    """Everything that decides which messages are new in a slot, relative to the slot's number.

    For each record sent its `life` and `age`; for each that arrived how many slots its row is
    `behind`.
    """

    slot: int
    life: IntArray
    age: IntArray
    behind: IntArray

    def follows(self, before: "EnvelopeState") -> bool:
        """Whether this is the state of the next slot and otherwise equal to `before`."""
        return (
            self.slot == before.slot + 1
            and np.array_equal(self.life, before.life)
            and np.array_equal(self.age, before.age)
            and np.array_equal(self.behind, before.behind)
        )


@mypyc_attr(allow_interpreted_subclasses=True)
class RepeatedSlot:
    """What follows from a slot's envelopes, while each slot repeats them, created one slot later.

    `new` are the new messages, `new_age` their ages and `relayed` the index of those passed on.
    `tally_change` is added to `SeenMessages.tallies` in each slot. `stream` and `age` are those of
    all arrivals. `settled` is the last slot that `SeenMessages.settle` has accounted for.
    """

    def __init__(
        self,
        state: EnvelopeState,
        arrivals: "Arrivals",
        new: NewMessages,
        relayed: IntArray,
        tally_change: IntArray,
    ) -> None:
        self.slot = self.settled = state.slot
        self.stream, self.age = arrivals.stream, state.age.take(arrivals.index)
        self.new, self.relayed, self.tally_change = new, relayed, tally_change
        self.new_age = state.age.take(new.index)
        envelopes = np.empty(len(new.records), dtype=_ENVELOPE)
        for name in ("origin", "created", "life"):
            envelopes[name] = new.records[name]
        envelopes["created"] += 1
        self._words = len(envelopes), new.records.itemsize // _WORD.itemsize
        self._expected = envelopes.view(_WORD).reshape(len(envelopes), -1)
        # the lower half of a u4; after an overflow nothing matches and the slot is processed
        self._created = self._expected[:, 2]
        self._expected_slot = state.slot + 1

    def repeats(self, slot: int, records: bytes) -> bool:
        """Whether these records, sent over the same links, have the envelopes due in `slot`."""
        if slot != self.slot + 1:
            return False
        if slot != self._expected_slot:
            later = np.uint16(slot - self._expected_slot & 0xFFFF)
            np.add(self._created, later, out=self._created)
            self._expected_slot = slot
        words = np.frombuffer(records, dtype=_WORD).reshape(self._words)
        # compared as bytes: comparing strided numbers takes twice as long
        return words[:, :_ENVELOPE_WORDS].tobytes() == self._expected.tobytes()


def first_occurrences(key: IntArray) -> BoolArray:
    """A mask of the entries that are the first with their key."""
    mask = np.zeros(len(key), dtype=bool)
    mask[np.unique(key, return_index=True)[1]] = True
    return mask


@mypyc_attr(allow_interpreted_subclasses=True)
class Arrivals:
    """Who sent what to whom in a slot.

    `layout` has the listening rows, the senders of the bundles (none, if each link has a bundle of
    its own) and the bundles' lengths in bytes. `neighbours` has those of each row.

    Each record sent has a `sender` and an `origin`. Each arrival has the `index` of its record
    among those sent, the `row` it came to, its `stream` (one link's messages of one origin) and its
    `cell` (see `NewMessages`). `duplicated` marks arrivals whose link has already brought a record
    of this origin; None if there are none.
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
        self.state: EnvelopeState | None = None
        self.repeated: RepeatedSlot | None = None
        self._agents, self._rows = agents, rows
        first_link = np.cumsum([0, *map(len, neighbours)])
        ends = [(row, rank) for row in listening for rank in neighbours[row]]
        row, sender = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        link = np.concatenate([np.arange(first_link[r], first_link[r + 1]) for r in listening])
        size = np.array(lengths, dtype=np.int64) // itemsize
        # a sender whose bundle went to all has it joined in once; every link then points to it
        bundle = np.searchsorted(senders, sender) if senders else np.arange(len(sender))
        sender_of_bundle = np.zeros(len(lengths), dtype=np.int64)
        sender_of_bundle[bundle] = sender
        self.sender = np.repeat(sender_of_bundle, size)
        came, start = size[bundle], np.cumsum(size) - size
        within = np.arange(came.sum()) - np.repeat(np.cumsum(came) - came, came)
        self._index = np.repeat(start[bundle], came) + within
        self._row, self._link = np.repeat(row, came), np.repeat(link, came) * agents
        self._single = bool((came <= 1).all())
        self.origin = np.full(len(self.sender), -1)

    def locate(self, origin: IntArray) -> IntArray | None:
        """Find the cell of each arrival; returns the rows that got a record of an unknown agent.

        `origin` has the agent that created each record, shape (records,).
        """
        if len(origin) and not np.count_nonzero(origin != self.origin):
            return None
        unknown = self.state = None
        self.origin, self.index, self.row, link = origin, self._index, self._row, self._link
        if len(origin) and origin.max() >= self._agents:
            real = (origin < self._agents)[self.index]
            unknown = self.row[~real]
            self.index, self.row, link = self.index[real], self.row[real], link[real]
            self.origin = np.where(origin < self._agents, origin, -1)  # as in no other slot
        creator = origin.take(self.index)
        self.stream, self.cell = link + creator, creator * self._rows + self.row
        duplicated = None if self._single else ~first_occurrences(self.stream)
        self.duplicated = duplicated if duplicated is not None and duplicated.any() else None
        return unknown
