"""Message passing with delay: what is new travels one hop per slot, for γ hops.

Dubey and Pentland 2020, Algorithm 1. A message created at t is usable at distance d for the
decision at t + d, for 0 < d <= γ. Agents go in lockstep with their neighbours alone: slot t + 1
begins when the bundles of slot t are here from all of them, so a neighbour is at most one slot
ahead.

Everything is kept and checked in arrays. The bundles of a slot are put together and looked at once,
in the order of the neighbours' ranks, never in the order in which they arrived; and where several
agents live in one process, those of all of them.
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protocol.cooperative import Bundle
from protocol.errors import RemoteProtocolError
from protocol.signing import SIGNATURE_BYTES, Signer

Records = NDArray[np.void]
Mask = NDArray[np.bool_]
Faults = Iterable[tuple[str, Mask]]
IntArray = NDArray[np.int64]

_ENVELOPE = struct.Struct("<IIH")


@dataclass(slots=True)
class Flood:
    """One agent's ends of its links: what came in this slot, and what it passes on.

    With a `signer` each message ends with its origin's signature of all of it but its life, which
    changes with every hop. Whoever passes it on can then keep it back and change nothing.
    """

    rank: int
    neighbours: tuple[int, ...]
    known: "Known"
    signer: Signer | None = None
    row: int = field(init=False)
    slot: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    bundles: dict[int, bytes] = field(default_factory=dict)
    ahead: dict[int, bytes] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    relayed: Records = field(init=False)
    expected: frozenset[int] = field(init=False)
    sizes: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.neighbours = tuple(sorted(self.neighbours)) if self.known.gamma else ()
        self.expected = frozenset(self.neighbours)
        record = self.known.record
        self.relayed = np.zeros(0, dtype=record)
        # of a record, and of all that one bundle may hold
        self.sizes = record.itemsize, record.itemsize * self.known.agents
        self.row = self.known.enter(self)

    @property
    def complete(self) -> bool:
        """Whether every neighbour's bundle of this slot is here."""
        return len(self.bundles) == len(self.neighbours)

    def begin_slot(self) -> None:
        """The next slot begins."""
        self.slot += 1
        self.bundles, self.ahead = self.ahead, {}
        for neighbour in self.lost:
            self.bundles.setdefault(neighbour, b"")

    def lose(self, neighbour: int) -> None:
        """Of a neighbour that is gone what came counts, and nothing more is waited for."""
        if neighbour in self.neighbours:
            self.lost.add(neighbour)
            self.bundles.setdefault(neighbour, b"")

    def bundle(self, own: Records) -> Bundle:
        """This slot's bundle: the agent's own message, shape (1,), and what it passes on.

        The envelope of `own` is written here.
        """
        known = self.known
        known.latest[self.rank * known.rows + self.row] = self.slot
        said = own.tobytes()[_ENVELOPE.size :]
        items = _ENVELOPE.pack(self.rank, self.slot, known.gamma) + said
        if self.signer is not None:
            items += self.signer.sign(b"bundle", _ENVELOPE.pack(self.rank, self.slot, 0) + said)
        if len(self.relayed):
            items += self.relayed.tobytes()
        return Bundle(self.slot, items)

    def take(self, sender: int, bundle: Bundle) -> None:
        """A bundle of this slot, or of the next from a neighbour that is ahead."""
        if sender not in self.expected:
            raise RemoteProtocolError("out-of-turn", f"a bundle from {sender}")
        items, slot = bundle.items, bundle.slot
        size, most = self.sizes
        if len(items) % size or len(items) > most:
            raise RemoteProtocolError("wrong-length", f"{len(items)} bytes of items")
        if slot == self.slot:
            store = self.bundles
        elif slot == self.slot + 1:
            store = self.ahead
        else:
            reason = "from-the-future" if slot > self.slot else "replayed"
            raise RemoteProtocolError(reason, f"slot {slot} in slot {self.slot}")
        if sender in store:
            raise RemoteProtocolError("replayed", f"a second bundle of slot {slot}")
        store[sender] = items


@dataclass(slots=True)
class Known:
    """What the agents of one process know of the messages of all M, one row for each of them.

    `latest[m, row]` is the slot in which the newest message known of agent m was created, 0 if
    none. `passed[link, m]` is the same for what came over a link: an honest neighbour sends each
    message of m once, in the order in which they were created. `arrivals[row, d]` counts the new
    messages that came over d hops, and `delays[row, d]` adds up the slots that they were under way.
    Both of the first are kept flat.
    """

    agents: int
    gamma: int
    record: np.dtype[np.void]
    rows: int = 1
    signed: bool = False
    floods: list[Flood] = field(default_factory=list)
    links: int = 0
    duplicates: IntArray = field(init=False)
    arrivals: IntArray = field(init=False)
    delays: IntArray = field(init=False)
    latest: IntArray = field(init=False)
    passed: IntArray = field(init=False)
    first: IntArray = field(init=False)
    heard: "_Heard | None" = None

    def __post_init__(self) -> None:
        if self.signed:
            self.record = np.dtype([*self.record.descr, ("signature", f"V{SIGNATURE_BYTES}")])
        self.duplicates = np.zeros(self.rows, dtype=np.int64)
        self.arrivals = np.zeros((self.rows, self.gamma + 1), dtype=np.int64)
        self.delays = np.zeros((self.rows, self.gamma + 1), dtype=np.int64)
        self.latest = np.zeros(self.agents * self.rows, dtype=np.int64)
        self.passed = np.zeros(0, dtype=np.int64)
        self.first = np.zeros(0, dtype=np.int64)

    def enter(self, flood: Flood) -> int:
        """The row of one more agent."""
        self.floods.append(flood)
        self.links += len(flood.neighbours)
        return len(self.floods) - 1

    def merge(
        self, floods: Sequence[Flood], faults: Callable[[Records, IntArray], Faults]
    ) -> tuple[Records, IntArray]:
        """What is new to these agents in their bundles of the slot, each message once, and to whom.

        What they are to pass on is prepared. `floods` are in the order of their rows, and so is
        what comes out. `faults` names what is wrong with the contents of records whose origins
        exist, given the rows that they came to. A message that is wrong is refused and counted; the
        others of its bundle are not.
        """
        rows, size = self.rows, self.record.itemsize
        parts = [flood.bundles[rank] for flood in floods for rank in flood.neighbours]
        records = np.frombuffer(b"".join(parts), dtype=self.record)
        heard = self._heard_by(floods, [len(part) // size for part in parts])
        row, sender, link, slot = heard.row, heard.sender, heard.link, heard.slots(floods)
        origin = records["origin"].astype(np.int64)
        if len(records) and origin.max() >= self.agents:
            known = origin < self.agents
            self._count("no-such-agent", row[~known])
            records, origin, row = records[known], origin[known], row[known]
            sender, link, slot = sender[known], link[known], slot[known]
        link = link + origin
        created = records["created"].astype(np.int64)
        at = origin * rows + row
        age = slot - created
        bad = self._refuse(
            self._faults(records["life"], age, sender == origin, created, link, heard.single), row
        )
        bad = self._refuse(faults(records, row), row, bad)
        if self.signed and len(records):
            unread = created > self.latest[at]
            unread &= True if bad is None else ~bad
            forged = self._forged(records, origin, row, unread)
            bad = self._refuse([("bad-signature", forged)], row, bad)
        if bad is not None:
            good = ~bad
            records, row, at, link = records[good], row[good], at[good], link[good]
            created, age = created[good], age[good]
        self.passed[link] = created
        new = (created > self.latest[at]).nonzero()[0]
        if self.gamma > 1:
            # by the shortest path an honest agent's messages never meet; a liar's may
            new = new[self._first_of(at[new] * self.gamma + age[new])]
        if len(new) < len(records):
            self.duplicates += np.bincount(row, minlength=rows)
            records, row, at, age = records[new], row[new], at[new], age[new]
            created = created[new]
            self.duplicates -= np.bincount(row, minlength=rows)
        np.maximum.at(self.latest, at, created)
        life = records["life"].astype(np.int64)
        travelled = row * (self.gamma + 1) + self.gamma + 1 - life
        over = np.bincount(travelled, minlength=self.arrivals.size)
        self.arrivals += over.reshape(self.arrivals.shape)
        under_way = np.bincount(travelled, age + 1, minlength=self.delays.size)
        self.delays += under_way.astype(np.int64).reshape(self.delays.shape)
        if self.gamma > 1:
            self._pass_on(floods, records, row, life > 1)
        return records, row

    def _heard_by(self, floods: Sequence[Flood], lengths: list[int]) -> "_Heard":
        """Who sent each record to whom, given how many each neighbour sent; often as before."""
        listening = [flood.row for flood in floods]
        heard = self.heard
        if heard is None or heard.listening != listening or heard.lengths != lengths:
            heard = self.heard = _Heard(self, listening, lengths)
        if len(self.passed) < self.links * self.agents:
            missing = self.links * self.agents - len(self.passed)
            self.passed = np.concatenate([self.passed, np.zeros(missing, dtype=np.int64)])
            most = max(self.links, self.rows * self.gamma) * self.agents
            self.first = np.zeros(most, dtype=np.int64)
        return heard

    def _pass_on(
        self, floods: Sequence[Flood], records: Records, row: IntArray, lives: Mask
    ) -> None:
        relayed = records[lives]
        relayed["life"] -= 1
        ends = np.searchsorted(row[lives], [flood.row for flood in floods], side="right").tolist()
        for flood, start, end in zip(floods, [0, *ends], ends, strict=False):
            flood.relayed = relayed[start:end]

    def _forged(self, records: Records, origin: IntArray, row: IntArray, unread: Mask) -> Mask:
        """Which of the unread records their origins did not sign; each message is checked once."""
        unsealed = records.copy()
        unsealed["life"] = 0
        forged = np.zeros(len(records), dtype=bool)
        known: dict[bytes, bool] = {}
        for place in np.flatnonzero(unread).tolist():
            said = unsealed[place].tobytes()
            if said not in known:
                signer = self.floods[row[place]].signer
                assert signer is not None
                known[said] = not signer.signed(
                    int(origin[place]), b"bundle", said[:-SIGNATURE_BYTES], said[-SIGNATURE_BYTES:]
                )
            forged[place] = known[said]
        return forged

    def _refuse(self, faults: Faults, row: IntArray, bad: Mask | None = None) -> Mask | None:
        """Count what is wrong, each message once, by its first fault; None if nothing is."""
        for reason, mask in faults:
            if np.count_nonzero(mask):
                bad = np.zeros(len(row), dtype=bool) if bad is None else bad
                self._count(reason, row[mask & ~bad])
                bad |= mask
        return bad

    def _count(self, reason: str, row: IntArray) -> None:
        """As refused, once for each record that came to an agent."""
        counts = np.bincount(row)
        for one in np.flatnonzero(counts).tolist():
            self.floods[one].refused[reason] += int(counts[one])

    def _first_of(self, key: IntArray) -> Mask:
        """Which entries are the first with their key."""
        index = np.arange(len(key))
        # of several assignments to one place the last one stands
        self.first[key[::-1]] = index[::-1]
        mask: Mask = self.first[key] == index
        return mask

    def _faults(
        self,
        life: IntArray,
        age: IntArray,
        first_hand: Mask,
        created: IntArray,
        link: IntArray,
        single: bool,
    ) -> Faults:
        """What is wrong with the envelopes: each reason and the records it holds for."""
        wrong = life + age != self.gamma
        forged = first_hand != (age == 0)
        twice = created <= self.passed[link]
        if not single:
            twice |= ~self._first_of(link)
        if not np.count_nonzero(wrong | forged | twice | (life - 1 >= self.gamma)):
            # a life of 0 is 65,535 too many; so 0 < life <= γ, and 0 <= age < γ
            return
        yield "life-above-gamma", life > self.gamma
        yield "from-the-future", age < 0
        yield "expired", age >= self.gamma
        yield "wrong-life", wrong
        yield "forged-origin", forged
        yield "replayed", twice


class _Heard:
    """Where each record of a slot came from: the rows that listen, and what came over each link.

    `row` it came to, `sender`, and M times the number of the `link`, each of shape (records,).
    """

    def __init__(self, known: Known, listening: list[int], lengths: list[int]) -> None:
        self.listening, self.lengths = listening, lengths
        self.single = max(lengths, default=0) <= 1
        floods = known.floods
        firsts = np.cumsum([0, *(len(flood.neighbours) for flood in floods)])
        ends = [(row, rank) for row in listening for rank in floods[row].neighbours]
        row, sender = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        links = [np.arange(firsts[row], firsts[row + 1]) for row in listening]
        link = np.concatenate(links) * known.agents
        self.row, self.sender = np.repeat(row, lengths), np.repeat(sender, lengths)
        self.link = np.repeat(link, lengths)

    def slots(self, floods: Sequence[Flood]) -> IntArray:
        """The slot that each record's receiver is in, shape (records,)."""
        slot = floods[0].slot
        if all(flood.slot == slot for flood in floods):
            return np.full(len(self.row), slot)
        of = np.zeros(self.listening[-1] + 1, dtype=np.int64)
        of[self.listening] = [flood.slot for flood in floods]
        return of[self.row]
