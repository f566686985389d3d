"""Message passing with delay: new messages travel one hop per slot, for γ hops.

Dubey and Pentland 2020, Algorithm 1. A message created at t is usable at distance d for the
decision at t + d, for 0 < d <= γ. Each agent is in lockstep with its neighbours only: its slot
t + 1 begins when it has the bundles of slot t from all of them, so a neighbour is at most one slot
ahead.

In plain Python, for agents that create `create(m, t)` in slot t; yields after each slot what every
agent knows, by the message's origin:

    def spread(neighbours, gamma, T, create):
        agents = range(len(neighbours))
        latest = [{} for m in agents]          # Q_m: origin m' -> (t', x')
        relayed = [[] for m in agents]
        for t in range(1, T + 1):
            bundles = [[(m, t, gamma, create(m, t)), *relayed[m]] for m in agents]
            relayed = [[] for m in agents]
            for m in agents:
                for neighbour in neighbours[m]:
                    for origin, created, life, x in bundles[neighbour]:
                        if origin == m or created <= latest[m].get(origin, (0, None))[0]:
                            continue                      # not new
                        latest[m][origin] = created, x
                        if life > 1:                      # it travels on
                            relayed[m].append((origin, created, life - 1, x))
            yield [dict(known) for known in latest]

`SeenMessages.merge` does this in arrays, and refuses what a lying peer may send. The bundles of a
slot, for all agents of the process, are joined and processed at once, in the order of the
neighbours' ranks and never in that of arrival.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from mypy_extensions import mypyc_attr

from posse.seam.machines import AgentEffect, Received
from posse.seam.messages import (
    HASH_BYTES,
    SIGNATURE_BYTES,
    BoolArray,
    Contradiction,
    FloatArray,
    IntArray,
    RemoteProtocolError,
    Signer,
)
from posse_systems.dubey2020.arrivals import (
    Arrivals,
    EnvelopeState,
    NewMessages,
    Records,
    RepeatedSlot,
    first_occurrences,
)
from posse_systems.dubey2020.evidence import KIND, Evidence, is_signed, place_of
from posse_systems.dubey2020.messages import Bundle

Faults = Iterable[tuple[str, BoolArray]]

_ENVELOPE: Final = struct.Struct("<IIH")


@mypyc_attr(allow_interpreted_subclasses=True)
@dataclass(slots=True)
class CooperativeLearner:
    """What the agents of a cohort learn and decide, with one row of state per agent.

    `pulls` has n_k, shape (rows, K). `message` has each agent's own message of this slot, without
    its envelope, shape (rows,). `ties` has the generator by which each agent breaks ties. Slots t
    count from 1.
    """

    arms: int
    ties: list[np.random.Generator]
    pulls: FloatArray = field(init=False)
    message: Records = field(init=False)

    def choose(self, slots: Sequence[int], rows: Sequence[int] = (0,)) -> list[int]:
        """A_t, the arm to pull, for each agent of `rows` in its slot."""
        by_slot = {t: self.round_robin(t) for t in set(slots)}
        arms = [by_slot[t] for t in slots]
        late = [i for i, arm in enumerate(arms) if arm is None]
        if late and len(late) == len(arms):
            return self.choose_by_index(slots, rows)
        chosen = iter(
            self.choose_by_index([slots[i] for i in late], [rows[i] for i in late]) if late else ()
        )
        return [next(chosen) if arm is None else arm for arm in arms]

    def round_robin(self, t: int) -> int | None:
        """The arm to pull in slot t <= K; None afterwards."""
        return t - 1 if t <= self.arms else None

    def choose_by_index(self, slots: Sequence[int], rows: Sequence[int] = (0,)) -> list[int]:
        """The arm of the largest index for each agent of `rows` in its slot."""
        raise NotImplementedError

    def learn(self, arm: int, reward: float, row: int = 0) -> list[AgentEffect]:
        """Learn an agent's own reward; returns the releases that follow."""
        raise NotImplementedError

    def hear(self, new: NewMessages) -> None:
        """Learn new messages, each of them once per agent."""
        raise NotImplementedError

    def hear_repeated(self, bundles: list[bytes], slot: int, cell: IntArray) -> bool:
        """As `hear`, for one agent and a slot that repeats the last: each neighbour's own message.

        `bundles` has one bundle per neighbour, by rank; `cell` is that of the slot before's
        `NewMessages`.
        Returns False, and changes nothing, unless compiled code can take them without refusing any.
        """
        return False

    def find_faults(self, records: Records) -> Faults:
        """Faults of messages by themselves: each reason with a mask of the records it holds for."""
        raise NotImplementedError

    def find_contradictions(self, new: NewMessages) -> BoolArray | None:
        """Which new messages contradict what these agents heard before; None if none does."""
        return None


@dataclass(slots=True)
class Flood:
    """One agent's ends of its links: the bundles of this slot, and the messages to pass on.

    With a `signer` each message ends with its origin's signature of everything but the life, which
    changes with every hop. An agent that passes it on can then withhold it, but not change it.
    `proofs`: new ones, that an origin signed two messages for one slot.
    """

    rank: int
    neighbours: tuple[int, ...]
    seen: "SeenMessages"
    signer: Signer | None = None
    row: int = field(init=False)
    slot: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    proofs: list[Contradiction] = field(default_factory=list)
    bundles: dict[int, bytes] = field(default_factory=dict)
    ahead: dict[int, bytes] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    relayed: Records = field(init=False)
    expected: frozenset[int] = field(init=False)
    sizes: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.neighbours = tuple(sorted(self.neighbours)) if self.seen.gamma else ()
        self.expected = frozenset(self.neighbours)
        record_type = self.seen.record_type
        self.relayed = np.zeros(0, dtype=record_type)
        # bytes of one record, and the most that one bundle may hold
        self.sizes = record_type.itemsize, record_type.itemsize * self.seen.agents
        self.row = self.seen.add_agent(self)

    @property
    def complete(self) -> bool:
        """Whether every neighbour's bundle of this slot is here."""
        return len(self.bundles) == len(self.neighbours)

    def begin_slot(self) -> None:
        """Begin the next slot."""
        self.slot += 1
        self.bundles, self.ahead = self.ahead, {}
        for neighbour in self.lost:
            self.bundles.setdefault(neighbour, b"")

    def lose(self, neighbour: int) -> None:
        """Wait for nothing more from a lost neighbour; its bundles that arrived still count."""
        if neighbour in self.neighbours:
            self.lost.add(neighbour)
            self.bundles.setdefault(neighbour, b"")

    def bundle(self, own: Records) -> Bundle:
        """This slot's bundle: the agent's own message and those that it passes on.

        `own`, shape (1,), lacks its envelope, which is added here.
        """
        seen = self.seen
        seen.latest[self.rank * seen.rows + self.row] = self.slot
        content = own.tobytes()[_ENVELOPE.size :]
        items = _ENVELOPE.pack(self.rank, self.slot, seen.gamma) + content
        if self.signer is not None:
            items += self.signer.state(KIND, place_of(items), content)[HASH_BYTES:]
        if len(self.relayed):
            items += self.relayed.tobytes()
        return Bundle(self.slot, items)

    def take(self, sender: int, bundle: Bundle) -> None:
        """Take a bundle of this slot, or of the next from a neighbour that is ahead."""
        if sender not in self.expected:
            raise RemoteProtocolError("out-of-turn", f"a bundle from {sender}")
        items, slot = bundle.items, bundle.slot
        record_size, largest = self.sizes
        if len(items) % record_size or len(items) > largest:
            raise RemoteProtocolError("wrong-length", f"{len(items)} bytes of items")
        if sender in self.lost and slot <= self.slot:
            return  # word of its loss came first, and an empty bundle took this one's place
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
        self.seen.lengths.add(len(items))

    def take_all(self, received: Sequence[Received]) -> bool:
        """Take several bundles as `take` does, but faster.

        Returns False, and takes none, if `take` might refuse one of them.
        """
        slot, now, ahead = self.slot, {}, {}
        for event in received:
            bundle = event.message
            if type(bundle) is not Bundle:
                return False
            if bundle.slot == slot:
                now[event.sender] = bundle.items
            elif bundle.slot == slot + 1:
                ahead[event.sender] = bundle.items
            else:
                return False
        if len(now) + len(ahead) < len(received):
            return False
        if now.keys() & self.bundles.keys() or ahead.keys() & self.ahead.keys():
            return False
        if not self.expected.issuperset(now) or not self.expected.issuperset(ahead):
            return False
        lengths = {*map(len, now.values()), *map(len, ahead.values())}
        if not lengths <= self.seen.lengths:
            return False
        self.bundles |= now
        self.ahead |= ahead
        return True


@dataclass(slots=True)
class SeenMessages:
    """What the agents of one process have seen of all M agents' messages, one row for each of them.

    `latest[m, row]` is the slot in which the newest known message of agent m was created, 0 if
    there is none. `last_on_stream[link, m]` is the same for messages that came over one link: an
    honest neighbour sends each message of m once, in the order of creation. Both are kept flat, and
    `settle` brings them up to date.

    `hop_counts[row, d]` counts the new messages that came over d hops, `hop_slots[row, d]` adds up
    the slots that they travelled, and `duplicates[row]` counts repeated messages. All three are
    views of `tallies`. `lengths` has the lengths of all bundles taken so far.
    """

    agents: int
    gamma: int
    record_type: np.dtype[np.void]
    rows: int = 1
    signed: bool = False
    floods: list[Flood] = field(default_factory=list)
    lengths: set[int] = field(default_factory=set)
    tallies: IntArray = field(init=False)
    duplicates: IntArray = field(init=False)
    hop_counts: IntArray = field(init=False)
    hop_slots: IntArray = field(init=False)
    latest: IntArray = field(init=False)
    last_on_stream: IntArray = field(init=False)
    arrivals: Arrivals | None = None
    evidence: Evidence = field(init=False)

    def __post_init__(self) -> None:
        self.evidence = Evidence(self.gamma)
        if self.signed:
            signature = ("signature", f"V{SIGNATURE_BYTES}")
            self.record_type = np.dtype([*self.record_type.descr, signature])
        shape = self.rows, self.gamma + 1
        self.tallies = np.zeros(self.rows + 2 * self.rows * shape[1], dtype=np.int64)
        self.duplicates, by_hops = np.split(self.tallies, [self.rows])
        self.hop_counts, self.hop_slots = by_hops.reshape(2, *shape)
        self.latest = np.zeros(self.agents * self.rows, dtype=np.int64)
        self.last_on_stream = np.zeros(0, dtype=np.int64)

    def add_agent(self, flood: Flood) -> int:
        """Add an agent; returns its row."""
        self.floods.append(flood)
        return len(self.floods) - 1

    def merge(self, floods: Sequence[Flood], learner: CooperativeLearner) -> NewMessages:
        """The messages of this slot's bundles that are new, each once per agent, in order of rows.

        `floods` are in the same slot and in the order of their rows. This also prepares what they
        pass on. A wrong message is refused and counted; the others of its bundle are taken. A
        record sent to several agents is checked once. What follows from the envelopes alone is kept
        while each slot's envelopes repeat those of the slot before.
        """
        slot, (senders, bundles) = floods[0].slot, _distinct_bundles(floods)
        joined = b"".join(bundles)
        records = np.frombuffer(joined, dtype=self.record_type)
        arrivals = self._arrivals_of(floods, senders, bundles)
        repeated = arrivals.repeated
        if repeated is not None and repeated.repeats(slot, joined):
            before = repeated.new
            new = NewMessages(records, before.index, before.row, before.cell)
            if not self._any_wrong(new, learner):
                self._compare(slot, records, arrivals)
                repeated.slot += 1
                self._relay(floods, new, repeated.relayed)
                return new
        self.settle()
        arrivals.repeated = None
        return self._merge(floods, records, arrivals, learner)

    def hear_repeated(self, flood: Flood, learner: CooperativeLearner) -> bool:
        """Let the learner take a repeated slot at once; never if messages are signed or relayed.

        Returns False, and changes nothing, unless `CooperativeLearner.hear_repeated` took it.
        """
        if self.gamma > 1 or self.signed or self.arrivals is None:
            return False
        repeated = self.arrivals.repeated
        if repeated is None or repeated.slot + 1 != flood.slot:
            return False
        bundles = [flood.bundles[rank] for rank in flood.neighbours]
        if not learner.hear_repeated(bundles, flood.slot, repeated.new.cell):
            return False
        repeated.slot += 1
        return True

    def settle(self) -> None:
        """Bring all that is counted up to date after slots that repeated the one before."""
        if self.arrivals is not None and (repeated := self.arrivals.repeated) is not None:
            self.tallies += repeated.tally_change * (repeated.slot - repeated.settled)
            repeated.settled = repeated.slot
            self.last_on_stream[repeated.stream] = repeated.slot - repeated.age
            self.latest[repeated.new.cell] = repeated.slot - repeated.new_age

    def _merge(
        self,
        floods: Sequence[Flood],
        records: Records,
        arrivals: Arrivals,
        learner: CooperativeLearner,
    ) -> NewMessages:
        slot, tallies = floods[0].slot, self.tallies.copy()
        unknown = arrivals.locate(records["origin"].astype(np.int64))
        if unknown is not None:
            self._count_refusals("no-such-agent", unknown)
        self._compare(slot, records, arrivals)
        index, row, stream = arrivals.index, arrivals.row, arrivals.stream
        created = records["created"].astype(np.int64)
        life = records["life"].astype(np.int64)
        age = slot - created
        # Two questions to each arrival: did this link bring as new a message of the origin before
        # (then it is a replay), and did any link (then it is a duplicate, which is no fault)?
        came_created, behind = created.take(index), slot - self.latest.take(arrivals.cell)
        replayed = came_created <= self.last_on_stream.take(stream)
        if arrivals.duplicated is not None:
            replayed |= arrivals.duplicated
        # Each message counts under its first fault, in this order: the envelope's come first,
        # because the content of a message from nowhere proves nothing about its origin.
        envelope_faults = self._find_envelope_faults(life, age, arrivals.sender == arrivals.origin)
        bad = self._refuse(envelope_faults, row, index)
        bad = self._refuse([("replayed", replayed)], row, bad=bad)
        bad = self._refuse(learner.find_faults(records), row, index, bad)
        fresh = slot - came_created < behind
        if bad is not None:
            fresh &= ~bad
        kept = fresh.nonzero()[0]
        came = NewMessages(records, index, row, arrivals.cell)
        # Only fresh messages are held against what is known, and signatures are checked last:
        # a verification takes as long as a thousand of the comparisons above.
        for reason, find_wrong in (
            ("counts-go-down", learner.find_contradictions),
            ("bad-signature", self._find_forged),
        ):
            wrong = find_wrong(came.select(kept))
            if wrong is not None:
                bad = np.zeros(len(row), dtype=bool) if bad is None else bad
                bad[kept[wrong]] = True
                self._count_refusals(reason, row[kept[wrong]])
                kept = kept[~wrong]
        good = slice(None) if bad is None else ~bad
        # A refused message leaves no trace: a neighbour cannot use it to make the origin's real
        # message look like a replay.
        self.last_on_stream[stream[good]] = came_created[good]
        if self.gamma > 1:
            # A message may come over several links in one slot; the first link's is taken. The key
            # has the age: only a liar's messages of different ages meet in one slot.
            key = arrivals.cell[kept] * self.gamma + age[index[kept]]
            kept = kept[first_occurrences(key)]
        new = came.select(kept)
        self.duplicates += np.bincount(row[good], minlength=self.rows)
        self.duplicates -= np.bincount(new.row, minlength=self.rows)
        np.maximum.at(self.latest, new.cell, came_created[kept])
        self._count_hops(new.row, (self.gamma + 1 - life)[new.index], age[new.index])
        relayed = (life > 1)[new.index].nonzero()[0]
        self._relay(floods, new, relayed)
        # Two slots alike show that the network has settled: from here on what follows from the
        # envelopes is the same until one differs. A slot with a refusal is never repeated.
        if bad is None and unknown is None:
            state, before = EnvelopeState(slot, life, age, behind), arrivals.state
            if before is not None and state.follows(before):
                change = self.tallies - tallies
                arrivals.repeated = RepeatedSlot(state, arrivals, new, relayed, change)
            arrivals.state = state
        return new

    def _any_wrong(self, new: NewMessages, learner: CooperativeLearner) -> bool:
        """Whether any of these must be refused for content or signature."""
        return (
            any(np.count_nonzero(mask) for _, mask in learner.find_faults(new.records))
            or learner.find_contradictions(new) is not None
            or self._find_forged(new) is not None
        )

    def _count_hops(self, row: IntArray, distance: IntArray, age: IntArray) -> None:
        """Count messages by hops, and add up their delays, age + 1."""
        cell = row * (self.gamma + 1) + distance
        messages = np.bincount(cell, minlength=self.hop_counts.size)
        self.hop_counts += messages.reshape(self.hop_counts.shape)
        slots = np.bincount(cell, age + 1, minlength=self.hop_slots.size)
        self.hop_slots += slots.astype(np.int64).reshape(self.hop_slots.shape)

    def _arrivals_of(
        self, floods: Sequence[Flood], senders: list[int], bundles: list[bytes]
    ) -> Arrivals:
        """Who sent each record to whom; reused if it is as in the slot before."""
        layout = [flood.row for flood in floods], senders, list(map(len, bundles))
        if self.arrivals is None or self.arrivals.layout != layout:
            self.settle()
            neighbours = [flood.neighbours for flood in self.floods]
            itemsize = self.record_type.itemsize
            self.arrivals = Arrivals(neighbours, self.agents, self.rows, itemsize, layout)
            missing = sum(map(len, neighbours)) * self.agents - len(self.last_on_stream)
            if missing:
                more = np.zeros(missing, dtype=np.int64)
                self.last_on_stream = np.concatenate([self.last_on_stream, more])
        return self.arrivals

    def _relay(self, floods: Sequence[Flood], new: NewMessages, relayed: IntArray) -> None:
        """Put the new messages that may travel further into the agents' next bundles."""
        if self.gamma == 1:
            return
        records, row = new.records[new.index[relayed]], new.row[relayed]
        records["life"] -= 1
        ends = np.searchsorted(row, [flood.row for flood in floods], side="right").tolist()
        for flood, start, end in zip(floods, [0, *ends], ends, strict=False):
            flood.relayed = records[start:end]

    def _compare(self, slot: int, records: Records, arrivals: Arrivals) -> None:
        """Look whether an origin signed two messages for one slot; never where nobody passes on."""
        if self.signed and self.gamma > 1:
            signers = [flood.signer for flood in self.floods]
            for row, proof in self.evidence.compare(slot, records, arrivals, signers):
                self.floods[row].proofs.append(proof)

    def _find_forged(self, new: NewMessages) -> BoolArray | None:
        """Which of these their origins did not sign; each message is checked once."""
        if not self.signed:
            return None
        checked: dict[bytes, bool] = {}
        forged = np.zeros(len(new.index), dtype=bool)
        records = new.records[new.index]
        records["life"] = 0  # it changes with every hop, so no signature covers it
        for i, origin in enumerate(records["origin"].tolist()):
            message = records[i].tobytes()
            if message not in checked:
                signer = self.floods[new.row[i]].signer
                assert signer is not None
                checked[message] = not is_signed(signer, origin, message)
            forged[i] = checked[message]
        return forged

    def _refuse(
        self,
        faults: Faults,
        row: IntArray,
        index: IntArray | None = None,
        bad: BoolArray | None = None,
    ) -> BoolArray | None:
        """Count wrong messages, each by its first fault; returns the mask of all, None if empty.

        The masks of `faults` are over arrivals, or, with `index`, over the records that were sent.
        """
        for reason, mask in faults:
            if np.count_nonzero(mask):
                wrong = mask if index is None else mask[index]
                bad = np.zeros(len(row), dtype=bool) if bad is None else bad
                self._count_refusals(reason, row[wrong & ~bad])
                bad |= wrong
        return bad

    def _count_refusals(self, reason: str, row: IntArray) -> None:
        """Count a refusal for each entry of `row`, at the agent of that row."""
        counts = np.bincount(row)
        for refusing in np.flatnonzero(counts).tolist():
            self.floods[refusing].refused[reason] += int(counts[refusing])

    def _find_envelope_faults(self, life: IntArray, age: IntArray, first_hand: BoolArray) -> Faults:
        """Faults of the envelopes: each reason with a mask of the records it holds for."""
        wrong = life + age != self.gamma
        forged = first_hand != (age == 0)
        if np.count_nonzero(wrong | forged | (life < 1) | (life > self.gamma)):
            yield "life-above-gamma", life > self.gamma
            yield "from-the-future", age < 0
            yield "expired", age >= self.gamma
            yield "wrong-life", wrong
            yield "forged-origin", forged


def _distinct_bundles(floods: Sequence[Flood]) -> tuple[list[int], list[bytes]]:
    """The senders in order, and the one bundle that each sent to all of these agents.

    If a sender did not send the same to all, no senders, and the bundle of each link.
    """
    by_sender: dict[int, bytes] = {}
    for flood in floods:
        by_sender.update(flood.bundles)
    if len(floods) == 1 or all(flood.bundles.items() <= by_sender.items() for flood in floods):
        senders = sorted(by_sender)
        return senders, [by_sender[sender] for sender in senders]
    return [], [flood.bundles[rank] for flood in floods for rank in flood.neighbours]
