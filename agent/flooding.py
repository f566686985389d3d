"""Message passing with delay: what is new travels one hop per slot, for γ hops.

Dubey and Pentland 2020, Algorithm 1. A message created at t is usable at distance d for the
decision at t + d, for 0 < d <= γ. Agents go in lockstep with their neighbours alone: slot t + 1
begins when the bundles of slot t are here from all of them, so a neighbour is at most one slot
ahead.

Everything is kept and checked in arrays. The bundles of a slot are put together and looked at once,
in the order of the neighbours' ranks, never in the order in which they arrived.
"""

from collections import Counter
from collections.abc import Callable, Iterable
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


@dataclass(slots=True)
class Flood:
    """One agent's part of the message passing.

    `latest[m]` is the slot in which the newest message known of agent m was created, 0 if none.
    `passed[i M + m]` is the same for what neighbour i sent: an honest one sends each message of m
    once, in the order in which they were created. `arrivals[d]` counts the new messages that came
    over d hops, and `delays[d]` adds up the slots that they were under way.

    With a `signer` each message ends with its origin's signature of all of it but its life, which
    changes with every hop. Whoever passes it on can then keep it back and change nothing.

    Above 20 fields: what is known of M messages and sent to each neighbour is kept in arrays.
    """

    rank: int
    agents: int
    neighbours: tuple[int, ...]
    gamma: int
    record: np.dtype[np.void]
    signer: Signer | None = None
    slot: int = 0
    duplicates: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    arrivals: IntArray = field(init=False)
    delays: IntArray = field(init=False)
    latest: IntArray = field(init=False)
    passed: IntArray = field(init=False)
    bundles: dict[int, bytes] = field(default_factory=dict)
    ahead: dict[int, bytes] = field(default_factory=dict)
    relayed: Records = field(init=False)
    place: dict[int, int] = field(init=False)
    first: IntArray = field(init=False)
    lengths: list[int] = field(default_factory=list)
    senders: IntArray = field(init=False)
    ranks: IntArray = field(init=False)

    def __post_init__(self) -> None:
        if self.signer is not None:
            self.record = np.dtype([*self.record.descr, ("signature", f"V{SIGNATURE_BYTES}")])
        self.neighbours = tuple(sorted(self.neighbours)) if self.gamma else ()
        self.place = {rank: i for i, rank in enumerate(self.neighbours)}
        self.ranks = np.array(self.neighbours, dtype=np.int64)
        self.arrivals = np.zeros(self.gamma + 1, dtype=np.int64)
        self.delays = np.zeros(self.gamma + 1, dtype=np.int64)
        self.latest = np.zeros(self.agents, dtype=np.int64)
        self.passed = np.zeros(len(self.neighbours) * self.agents, dtype=np.int64)
        self.first = np.zeros(max(len(self.neighbours), self.gamma) * self.agents, dtype=np.int64)
        self.relayed = np.zeros(0, dtype=self.record)

    @property
    def complete(self) -> bool:
        """Whether every neighbour's bundle of this slot is here."""
        return len(self.bundles) == len(self.neighbours)

    def begin_slot(self) -> None:
        """The next slot begins."""
        self.slot += 1
        self.bundles, self.ahead = self.ahead, {}

    def bundle(self, own: Records) -> Bundle:
        """This slot's bundle: the agent's own message, shape (1,), and what it passes on."""
        own["origin"] = self.rank
        own["created"] = self.slot
        own["life"] = self.gamma
        self.latest[self.rank] = self.slot
        items = own.tobytes()
        if self.signer is not None:
            own["life"] = 0
            items += self.signer.sign(b"bundle", own.tobytes())
        return Bundle(self.slot, items + self.relayed.tobytes())

    def take(self, sender: int, bundle: Bundle) -> None:
        """A bundle of this slot, or of the next from a neighbour that is ahead."""
        if sender not in self.place:
            raise RemoteProtocolError("out-of-turn", f"a bundle from {sender}")
        size = self.record.itemsize
        if len(bundle.items) % size or len(bundle.items) > size * self.agents:
            raise RemoteProtocolError("wrong-length", f"{len(bundle.items)} bytes of items")
        ahead = bundle.slot - self.slot
        if ahead not in (0, 1):
            reason = "from-the-future" if ahead > 1 else "replayed"
            raise RemoteProtocolError(reason, f"slot {bundle.slot} in slot {self.slot}")
        store = self.ahead if ahead else self.bundles
        if sender in store:
            raise RemoteProtocolError("replayed", f"a second bundle of slot {bundle.slot}")
        store[sender] = bundle.items

    def merge(self, faults: Callable[[Records], Faults]) -> Records:
        """What is new in the bundles of this slot, each message once, and prepare to pass it on.

        `faults` names what is wrong with the contents of records whose origins exist. A message
        that is wrong is refused and counted; the others of its bundle are not.
        """
        parts = [self.bundles[rank] for rank in self.neighbours]
        records = np.frombuffer(b"".join(parts), dtype=self.record)
        sender = self._senders([len(part) // self.record.itemsize for part in parts])
        origin = records["origin"].astype(np.int64)
        if len(records) and origin.max() >= self.agents:
            known = origin < self.agents
            self.refused["no-such-agent"] += int((~known).sum())
            records, sender, origin = records[known], sender[known], origin[known]
        created = records["created"].astype(np.int64)
        link = sender * self.agents + origin
        bad = self._refuse(self._faults(records, sender, origin, created, link), len(records))
        bad = self._refuse(faults(records), len(records), bad)
        if self.signer is not None and len(records):
            unread = created > self.latest[origin]
            unread &= True if bad is None else ~bad
            forged = self._forged(self.signer, records, origin, unread)
            bad = self._refuse([("bad-signature", forged)], len(records), bad)
        if bad is not None:
            good = ~bad
            records, origin = records[good], origin[good]
            created, link = created[good], link[good]
        self.passed[link] = created
        new = (created > self.latest[origin]).nonzero()[0]
        if self.gamma > 1:
            # by the shortest path an honest agent's messages never meet; a liar's may
            new = new[self._first_of(origin[new] * self.gamma + self.slot - created[new])]
        if len(new) < len(records):
            self.duplicates += len(records) - len(new)
            records, origin, created = records[new], origin[new], created[new]
        np.maximum.at(self.latest, origin, created)
        travelled = self.gamma + 1 - records["life"].astype(np.int64)
        self.arrivals += np.bincount(travelled, minlength=self.gamma + 1)
        np.add.at(self.delays, travelled, self.slot + 1 - created)
        if self.gamma > 1:
            self.relayed = records[records["life"] > 1]
            self.relayed["life"] -= 1
        return records

    @staticmethod
    def _forged(signer: Signer, records: Records, origin: IntArray, unread: Mask) -> Mask:
        """Which of the unread records their origins did not sign; each message is checked once."""
        unsealed = records.copy()
        unsealed["life"] = 0
        forged = np.zeros(len(records), dtype=bool)
        known: dict[bytes, bool] = {}
        for place in np.flatnonzero(unread).tolist():
            said = unsealed[place].tobytes()
            if said not in known:
                known[said] = not signer.signed(
                    int(origin[place]), b"bundle", said[:-SIGNATURE_BYTES], said[-SIGNATURE_BYTES:]
                )
            forged[place] = known[said]
        return forged

    def _senders(self, lengths: list[int]) -> IntArray:
        """The place of each record's sender among the neighbours; often as in the slot before."""
        if lengths != self.lengths:
            self.lengths = lengths
            self.senders = np.repeat(np.arange(len(lengths)), lengths)
        return self.senders

    def _refuse(self, faults: Faults, count: int, bad: Mask | None = None) -> Mask | None:
        """Count what is wrong, each message once, by its first fault; None if nothing is."""
        for reason, mask in faults:
            if np.count_nonzero(mask):
                bad = np.zeros(count, dtype=bool) if bad is None else bad
                if new := int((mask & ~bad).sum()):
                    self.refused[reason] += new
                bad |= mask
        return bad

    def _first_of(self, key: IntArray) -> NDArray[np.bool_]:
        """Which entries are the first with their key."""
        index = np.arange(len(key))
        # of several assignments to one place the last one stands
        self.first[key[::-1]] = index[::-1]
        mask: NDArray[np.bool_] = self.first[key] == index
        return mask

    def _faults(
        self,
        records: Records,
        sender: IntArray,
        origin: IntArray,
        created: IntArray,
        link: IntArray,
    ) -> Faults:
        """What is wrong with the envelopes: each reason and the records it holds for."""
        life = records["life"]
        age = self.slot - created
        wrong = life + age != self.gamma
        forged = (self.ranks[sender] == origin) != (age == 0)
        twice = created <= self.passed[link]
        if max(self.lengths) > 1:
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
