"""Message passing with delay: new messages travel one hop per slot, for γ hops.

Dubey and Pentland 2020, Algorithm 1. A message created at t is usable at distance d for the
decision at t + d, for 0 < d <= γ. Each agent is in lockstep with its neighbours only: its slot
t + 1 begins when it has the bundles of slot t from all of them, so a neighbour is at most one slot
ahead.

Everything is kept and checked in arrays. The bundles of a slot, for all agents of the process, are
joined and processed at once, in the order of the neighbours' ranks and never in that of arrival.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from mypy_extensions import mypyc_attr

from posse.agent.ways import News, Records, State, Steady, Ways, first_of
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.cooperative import Bundle
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import AgentEffect, Received
from posse.protocol.signing import SIGNATURE_BYTES, Signer

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
        turn = {t: self.in_turn(t) for t in set(slots)}
        in_turn = [turn[t] for t in slots]
        late = [i for i, arm in enumerate(in_turn) if arm is None]
        if late and len(late) == len(in_turn):
            return self.by_index(slots, rows)
        arms = iter(
            self.by_index([slots[i] for i in late], [rows[i] for i in late]) if late else ()
        )
        return [next(arms) if arm is None else arm for arm in in_turn]

    def in_turn(self, t: int) -> int | None:
        """The arm to pull in slot t <= K; None afterwards."""
        return t - 1 if t <= self.arms else None

    def by_index(self, slots: Sequence[int], rows: Sequence[int] = (0,)) -> list[int]:
        """The arm of the largest index for each agent of `rows` in its slot."""
        raise NotImplementedError

    def learn(self, arm: int, reward: float, row: int = 0) -> list[AgentEffect]:
        """Learn an agent's own reward; returns the releases that follow."""
        raise NotImplementedError

    def hear(self, news: News) -> None:
        """Learn new messages, each of them once per agent."""
        raise NotImplementedError

    def hear_steady(self, bundles: list[bytes], slot: int, at: IntArray) -> bool:
        """As `hear`, for one agent and a steady slot: all neighbours' own messages, as a slot ago.

        `bundles` has one bundle per neighbour, by rank; `at` is `News.at` of the slot before.
        Returns False, and changes nothing, unless compiled code can take them without refusing any.
        """
        return False

    def faults(self, records: Records) -> Faults:
        """Faults of messages by themselves: each reason with a mask of the records it holds for."""
        raise NotImplementedError

    def contradictions(self, news: News) -> BoolArray | None:
        """Which of the news contradict what these agents heard before; None if none does."""
        return None


@dataclass(slots=True)
class Flood:
    """One agent's ends of its links: the bundles of this slot, and the messages to pass on.

    With a `signer` each message ends with its origin's signature of everything but the life, which
    changes with every hop. An agent that passes it on can then withhold it, but not change it.
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
        # bytes of one record, and the most that one bundle may hold
        self.sizes = record.itemsize, record.itemsize * self.known.agents
        self.row = self.known.enter(self)

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
        """Take a bundle of this slot, or of the next from a neighbour that is ahead."""
        if sender not in self.expected:
            raise RemoteProtocolError("out-of-turn", f"a bundle from {sender}")
        items, slot = bundle.items, bundle.slot
        size, most = self.sizes
        if len(items) % size or len(items) > most:
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
        self.known.lengths.add(len(items))

    def take_all(self, received: Sequence[Received]) -> bool:
        """Take several bundles as `take` does, but faster.

        Returns False, and takes none, if `take` might refuse one of them.
        """
        slot, now, ahead = self.slot, {}, {}
        for one in received:
            bundle = one.message
            if type(bundle) is not Bundle:
                return False
            if bundle.slot == slot:
                now[one.sender] = bundle.items
            elif bundle.slot == slot + 1:
                ahead[one.sender] = bundle.items
            else:
                return False
        if len(now) + len(ahead) < len(received):
            return False
        if now.keys() & self.bundles.keys() or ahead.keys() & self.ahead.keys():
            return False
        if not self.expected.issuperset(now) or not self.expected.issuperset(ahead):
            return False
        lengths = {*map(len, now.values()), *map(len, ahead.values())}
        if not lengths <= self.known.lengths:
            return False
        self.bundles |= now
        self.ahead |= ahead
        return True


@dataclass(slots=True)
class Known:
    """What the agents of one process know of all M agents' messages, one row for each of them.

    `latest[m, row]` is the slot in which the newest known message of agent m was created, 0 if
    there is none. `passed[link, m]` is the same for messages that came over one link: an honest
    neighbour sends each message of m once, in the order of creation. Both are kept flat, and
    `settle` brings them up to date.

    `arrivals[row, d]` counts the new messages that came over d hops, `delays[row, d]` adds up the
    slots that they travelled, and `duplicates[row]` counts repeated messages. All three are parts
    of `tallies`. `lengths` has the lengths of all bundles taken so far.
    """

    agents: int
    gamma: int
    record: np.dtype[np.void]
    rows: int = 1
    signed: bool = False
    floods: list[Flood] = field(default_factory=list)
    lengths: set[int] = field(default_factory=set)
    tallies: IntArray = field(init=False)
    duplicates: IntArray = field(init=False)
    arrivals: IntArray = field(init=False)
    delays: IntArray = field(init=False)
    latest: IntArray = field(init=False)
    passed: IntArray = field(init=False)
    ways: Ways | None = None

    def __post_init__(self) -> None:
        if self.signed:
            self.record = np.dtype([*self.record.descr, ("signature", f"V{SIGNATURE_BYTES}")])
        shape = self.rows, self.gamma + 1
        self.tallies = np.zeros(self.rows + 2 * self.rows * shape[1], dtype=np.int64)
        self.duplicates, distances = np.split(self.tallies, [self.rows])
        self.arrivals, self.delays = distances.reshape(2, *shape)
        self.latest = np.zeros(self.agents * self.rows, dtype=np.int64)
        self.passed = np.zeros(0, dtype=np.int64)

    def enter(self, flood: Flood) -> int:
        """Add an agent; returns its row."""
        self.floods.append(flood)
        return len(self.floods) - 1

    def merge(self, floods: Sequence[Flood], learner: CooperativeLearner) -> News:
        """The messages of this slot's bundles that are new, each once per agent, in order of rows.

        `floods` are in the same slot and in the order of their rows. This also prepares what they
        pass on. A wrong message is refused and counted; the others of its bundle are taken. A
        record sent to several agents is checked once. What follows from the envelopes alone is kept
        while each slot's envelopes repeat those of the slot before.
        """
        slot, (senders, parts) = floods[0].slot, _parts(floods)
        said = b"".join(parts)
        records = np.frombuffer(said, dtype=self.record)
        ways = self._ways_of(floods, senders, parts)
        steady = ways.steady
        if steady is not None and steady.goes_on(slot, said):
            new = steady.new
            news = News(records, new.pick, new.row, new.at)
            if not self._wrong(news, learner):
                steady.slot += 1
                self._pass_on(floods, news, steady.on)
                return news
        self.settle()
        ways.steady = None
        return self._merge(floods, records, ways, learner)

    def hear_steady(self, flood: Flood, learner: CooperativeLearner) -> bool:
        """See `CooperativeLearner.hear_steady`; never where messages are signed or relayed."""
        if self.gamma > 1 or self.signed or self.ways is None:
            return False
        steady = self.ways.steady
        if steady is None or steady.slot + 1 != flood.slot:
            return False
        bundles = [flood.bundles[rank] for rank in flood.neighbours]
        if not learner.hear_steady(bundles, flood.slot, steady.new.at):
            return False
        steady.slot += 1
        return True

    def settle(self) -> None:
        """Bring `latest` and `passed` up to date after slots that repeated the one before."""
        if self.ways is not None and (steady := self.ways.steady) is not None:
            self.tallies += steady.counted * (steady.slot - steady.settled)
            steady.settled = steady.slot
            self.passed[steady.way] = steady.slot - steady.age
            self.latest[steady.new.at] = steady.slot - steady.age_of_new

    def _merge(
        self, floods: Sequence[Flood], records: Records, ways: Ways, learner: CooperativeLearner
    ) -> News:
        slot, tallies = floods[0].slot, self.tallies.copy()
        unknown = ways.locate(records["origin"].astype(np.int64))
        if unknown is not None:
            self._count("no-such-agent", unknown)
        pick, row, way = ways.pick, ways.row, ways.way
        created = records["created"].astype(np.int64)
        life = records["life"].astype(np.int64)
        age = slot - created
        made, behind = created.take(pick), slot - self.latest.take(ways.at)
        twice = made <= self.passed.take(way)
        if ways.again is not None:
            twice |= ways.again
        bad = self._refuse(self._faults(life, age, ways.sender == ways.origin), row, pick)
        bad = self._refuse([("replayed", twice)], row, bad=bad)
        bad = self._refuse(learner.faults(records), row, pick, bad)
        fresh = slot - made < behind
        if bad is not None:
            fresh &= ~bad
        new = fresh.nonzero()[0]
        came = News(records, pick, row, ways.at)
        for reason, check in (
            ("counts-go-down", learner.contradictions),
            ("bad-signature", self._forged),
        ):
            wrong = check(came.only(new))
            if wrong is not None:
                bad = np.zeros(len(row), dtype=bool) if bad is None else bad
                bad[new[wrong]] = True
                self._count(reason, row[new[wrong]])
                new = new[~wrong]
        good = slice(None) if bad is None else ~bad
        self.passed[way[good]] = made[good]
        if self.gamma > 1:
            # the key has the age: only a liar's messages of different ages meet in one slot
            new = new[first_of(ways.at[new] * self.gamma + age[pick[new]])]
        news = came.only(new)
        self.duplicates += np.bincount(row[good], minlength=self.rows)
        self.duplicates -= np.bincount(news.row, minlength=self.rows)
        np.maximum.at(self.latest, news.at, made[new])
        self._travelled(news.row, (self.gamma + 1 - life)[news.pick], age[news.pick])
        on = (life > 1)[news.pick].nonzero()[0]
        self._pass_on(floods, news, on)
        if bad is None and unknown is None:
            state, last = State(slot, life, age, behind), ways.state
            if last is not None and state.follows(last):
                ways.steady = Steady(state, ways, news, on, self.tallies - tallies)
            ways.state = state
        return news

    def _wrong(self, news: News, learner: CooperativeLearner) -> bool:
        """Whether any of these must be refused for content or signature."""
        return (
            any(np.count_nonzero(mask) for _, mask in learner.faults(news.records))
            or learner.contradictions(news) is not None
            or self._forged(news) is not None
        )

    def _travelled(self, row: IntArray, distance: IntArray, age: IntArray) -> None:
        """Count messages by hops, and add up their delays, age + 1."""
        at = row * (self.gamma + 1) + distance
        over = np.bincount(at, minlength=self.arrivals.size)
        self.arrivals += over.reshape(self.arrivals.shape)
        slots = np.bincount(at, age + 1, minlength=self.delays.size)
        self.delays += slots.astype(np.int64).reshape(self.delays.shape)

    def _ways_of(self, floods: Sequence[Flood], senders: list[int], parts: list[bytes]) -> Ways:
        """Who sent each record to whom; reused if it is as in the slot before."""
        layout = [flood.row for flood in floods], senders, list(map(len, parts))
        if self.ways is None or self.ways.layout != layout:
            self.settle()
            neighbours = [flood.neighbours for flood in self.floods]
            self.ways = Ways(neighbours, self.agents, self.rows, self.record.itemsize, layout)
            missing = sum(map(len, neighbours)) * self.agents - len(self.passed)
            if missing:
                self.passed = np.concatenate([self.passed, np.zeros(missing, dtype=np.int64)])
        return self.ways

    def _pass_on(self, floods: Sequence[Flood], news: News, on: IntArray) -> None:
        """Put the news that may travel further, `on`, into the agents' next bundles."""
        if self.gamma == 1:
            return
        relayed, row = news.records[news.pick[on]], news.row[on]
        relayed["life"] -= 1
        ends = np.searchsorted(row, [flood.row for flood in floods], side="right").tolist()
        for flood, start, end in zip(floods, [0, *ends], ends, strict=False):
            flood.relayed = relayed[start:end]

    def _forged(self, news: News) -> BoolArray | None:
        """Which of the news their origins did not sign; each message is checked once."""
        if not self.signed:
            return None
        known: dict[bytes, bool] = {}
        forged = np.zeros(len(news.pick), dtype=bool)
        unsealed = news.records[news.pick]
        unsealed["life"] = 0
        for place, origin in enumerate(unsealed["origin"].tolist()):
            said = unsealed[place].tobytes()
            if said not in known:
                signer = self.floods[news.row[place]].signer
                assert signer is not None
                known[said] = not signer.signed(
                    origin, b"bundle", said[:-SIGNATURE_BYTES], said[-SIGNATURE_BYTES:]
                )
            forged[place] = known[said]
        return forged

    def _refuse(
        self,
        faults: Faults,
        row: IntArray,
        pick: IntArray | None = None,
        bad: BoolArray | None = None,
    ) -> BoolArray | None:
        """Count wrong messages, each by its first fault; returns the mask of all, None if empty.

        The masks of `faults` are over arrivals, or, with `pick`, over the records that were sent.
        """
        for reason, mask in faults:
            if np.count_nonzero(mask):
                wrong = mask if pick is None else mask[pick]
                bad = np.zeros(len(row), dtype=bool) if bad is None else bad
                self._count(reason, row[wrong & ~bad])
                bad |= wrong
        return bad

    def _count(self, reason: str, row: IntArray) -> None:
        """Count a refusal for each entry of `row`, at the agent of that row."""
        counts = np.bincount(row)
        for one in np.flatnonzero(counts).tolist():
            self.floods[one].refused[reason] += int(counts[one])

    def _faults(self, life: IntArray, age: IntArray, first_hand: BoolArray) -> Faults:
        """Faults of the envelopes: each reason with a mask of the records it holds for."""
        wrong = life + age != self.gamma
        forged = first_hand != (age == 0)
        if np.count_nonzero(wrong | forged | (life < 1) | (life > self.gamma)):
            yield "life-above-gamma", life > self.gamma
            yield "from-the-future", age < 0
            yield "expired", age >= self.gamma
            yield "wrong-life", wrong
            yield "forged-origin", forged


def _parts(floods: Sequence[Flood]) -> tuple[list[int], list[bytes]]:
    """The senders in order, and the one bundle that each sent to all of these agents.

    If a sender did not send the same to all, no senders, and the bundle of each link.
    """
    said: dict[int, bytes] = {}
    for flood in floods:
        said.update(flood.bundles)
    if len(floods) == 1 or all(flood.bundles.items() <= said.items() for flood in floods):
        senders = sorted(said)
        return senders, [said[sender] for sender in senders]
    return [], [flood.bundles[rank] for flood in floods for rank in flood.neighbours]
