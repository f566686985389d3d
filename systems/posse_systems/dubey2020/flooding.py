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

`Flood.merge` does this in arrays, in the order of the neighbours' ranks and never in that of
arrival, and refuses what a lying peer may send.
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
from posse_systems.dubey2020.evidence import KIND, Evidence, is_signed, place_of
from posse_systems.dubey2020.messages import Bundle, Records

Faults = Iterable[tuple[str, BoolArray]]

_ENVELOPE: Final = struct.Struct("<IIH")


@mypyc_attr(allow_interpreted_subclasses=True)
@dataclass(slots=True)
class CooperativeLearner:
    """What an agent learns and decides.

    `ties` breaks ties. `pulls` has n_k, shape (K,). `message` has the agent's own message of this
    slot, without its envelope, shape (1,). Slots t count from 1.
    """

    arms: int
    ties: np.random.Generator
    pulls: FloatArray = field(init=False)
    message: Records = field(init=False)

    def choose(self, t: int) -> int:
        """A_t, the arm to pull in slot t: that of the largest index, after a round of all."""
        arm = self.round_robin(t)
        return argmax(self.index(t), self.ties) if arm is None else arm

    def answer(self) -> int:
        """The arm that it pulled most."""
        return int(self.pulls.argmax())

    def round_robin(self, t: int) -> int | None:
        """The arm to pull in slot t <= K; None afterwards."""
        return t - 1 if t <= self.arms else None

    def index(self, t: int) -> FloatArray:
        """The index of each arm in slot t, shape (K,)."""
        raise NotImplementedError

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        """Learn the agent's own reward; returns the releases that follow."""
        raise NotImplementedError

    def hear(self, records: Records) -> None:
        """Learn new messages."""
        raise NotImplementedError

    def find_faults(self, records: Records) -> Faults:
        """Faults of messages by themselves: each reason with a mask of the records it holds for."""
        raise NotImplementedError

    def find_contradictions(self, records: Records) -> BoolArray | None:
        """Which new messages contradict what the agent heard before; None if none does."""
        return None


def argmax(index: FloatArray, ties: np.random.Generator) -> int:
    """The arm of the largest index; ties are broken at random."""
    values: list[float] = index.tolist()
    highest = max(values)
    if values.count(highest) == 1:
        return values.index(highest)
    leaders = [arm for arm, value in enumerate(values) if value == highest]
    return leaders[ties.integers(len(leaders))]


@dataclass(slots=True)
class Flood:
    """An agent's ends of its links: the bundles of this slot, and the messages to pass on.

    It has γ, M `agents`, and messages of `record_type`. With a `signer` each message ends with its
    origin's signature of everything but the life, which changes with every hop. An agent that
    passes it on can then withhold it, but not change it. `proofs`: new ones, that an origin signed
    two messages for one slot.

    `latest[m]` is the slot in which the newest known message of agent m was created, 0 if there is
    none. `last_on_link[i * M + m]` is the same for messages that came from the i-th neighbour: if
    honest, it sends each message of m once, in the order of creation.

    `hop_counts[d]` counts the new messages that came over d hops, a slot each, and `duplicates`
    repeated messages. `lengths` has the lengths of all bundles taken so far.
    """

    rank: int
    neighbours: tuple[int, ...]
    agents: int
    gamma: int
    record_type: np.dtype[np.void]
    signer: Signer | None = None
    slot: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    proofs: list[Contradiction] = field(default_factory=list)
    bundles: dict[int, bytes] = field(default_factory=dict)
    ahead: dict[int, bytes] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    duplicates: int = 0
    evidence: Evidence | None = None
    relayed: Records = field(init=False)
    latest: IntArray = field(init=False)
    last_on_link: IntArray = field(init=False)
    hop_counts: IntArray = field(init=False)
    ranks: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.neighbours = tuple(sorted(self.neighbours)) if self.gamma else ()
        if self.signer is not None:
            signature = ("signature", f"V{SIGNATURE_BYTES}")
            self.record_type = np.dtype([*self.record_type.descr, signature])
            # where nobody passes on, each neighbour may be told something of its own
            self.evidence = Evidence(self.gamma, self.signer) if self.gamma > 1 else None
        self.relayed = np.zeros(0, dtype=self.record_type)
        self.latest = np.zeros(self.agents, dtype=np.int64)
        self.last_on_link = np.zeros(len(self.neighbours) * self.agents, dtype=np.int64)
        self.hop_counts = np.zeros(self.gamma + 1, dtype=np.int64)
        self.ranks = np.array(self.neighbours, dtype=np.int64)

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
        self.latest[self.rank] = self.slot
        content = own.tobytes()[_ENVELOPE.size :]
        items = _ENVELOPE.pack(self.rank, self.slot, self.gamma) + content
        if self.signer is not None:
            items += self.signer.state(KIND, place_of(items), content)[HASH_BYTES:]
        if len(self.relayed):
            items += self.relayed.tobytes()
        return Bundle(self.slot, items)

    def take(self, sender: int, bundle: Bundle) -> None:
        """Take a bundle of this slot, or of the next from a neighbour that is ahead."""
        if sender not in self.neighbours:
            raise RemoteProtocolError("out-of-turn", f"a bundle from {sender}")
        items, slot, size = bundle.items, bundle.slot, self.record_type.itemsize
        if len(items) % size or len(items) > size * self.agents:
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
        self.lengths.add(len(items))

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
        if not (now.keys() | ahead.keys()).issubset(self.neighbours):
            return False
        lengths = {*map(len, now.values()), *map(len, ahead.values())}
        if not lengths <= self.lengths:
            return False
        self.bundles |= now
        self.ahead |= ahead
        return True

    def merge(self, learner: CooperativeLearner) -> Records:
        """The messages of this slot's bundles that are new, each once; those to pass on are kept.

        A wrong message is refused and counted; the others of its bundle are taken.
        """
        bundles = [self.bundles[neighbour] for neighbour in self.neighbours]
        records = np.frombuffer(b"".join(bundles), dtype=self.record_type)
        if self.gamma == 1 and self._only_first_hand(bundles) and not self._any(records, learner):
            self.latest[self.ranks] = self.slot
            self.hop_counts[1] += len(records)
            return records
        sizes = [len(items) // self.record_type.itemsize for items in bundles]
        link = np.arange(len(sizes)).repeat(sizes)
        origin = records["origin"].astype(np.int64)
        if np.count_nonzero(unknown := origin >= self.agents):
            self._count("no-such-agent", unknown)
            records, link, origin = records[~unknown], link[~unknown], origin[~unknown]
        created, life = records["created"].astype(np.int64), records["life"].astype(np.int64)
        age, stream = self.slot - created, link * self.agents + origin
        if self.evidence is not None:
            self.proofs += self.evidence.compare(self.slot, records)
        # Did this link bring as new a message of the origin before? Then it is a replay. Did any
        # link? Then it is a duplicate, which is no fault.
        replayed = created <= self.last_on_link.take(stream)
        if max(sizes) > 1:
            replayed |= ~first_occurrences(stream, len(self.last_on_link))
        first_hand = self.ranks.take(link) == origin
        # Each message counts under its first fault, in this order: the envelope's come first,
        # because the content of a message from nowhere proves nothing about its origin.
        good = np.ones(len(records), dtype=bool)
        for faults in (
            self._find_envelope_faults(life, age, first_hand),
            [("replayed", replayed)],
            learner.find_faults(records),
        ):
            for reason, wrong in faults:
                if np.count_nonzero(wrong):
                    self._count(reason, wrong & good)
                    good &= ~wrong
        kept = (good & (created > self.latest.take(origin))).nonzero()[0]
        # Only fresh messages are held against what is known, and signatures are checked last:
        # a verification takes as long as a thousand of the comparisons above.
        new = records[kept]
        for reason, find_wrong in (
            ("counts-go-down", learner.find_contradictions),
            ("bad-signature", self._find_forged),
        ):
            if (late := find_wrong(new)) is not None:
                self._count(reason, late)
                good[kept[late]] = False
                kept = kept[~late]
                new = records[kept]
        # A refused message leaves no trace: a neighbour cannot use it to make the origin's real
        # message look like a replay.
        self.last_on_link[stream[good]] = created[good]
        if self.gamma > 1:
            # A message may come over several links in one slot; the first link's is taken. The key
            # has the age: only a liar's messages of different ages meet in one slot.
            key = origin[kept] * self.gamma + age[kept]
            kept = kept[first_occurrences(key, self.agents * self.gamma)]
            new = records[kept]
            self.relayed = new[life[kept] > 1]
            self.relayed["life"] -= 1
        self.duplicates += int(np.count_nonzero(good)) - len(new)
        np.maximum.at(self.latest, origin[kept], created[kept])
        self.hop_counts += np.bincount(age[kept] + 1, minlength=self.gamma + 1)
        return new

    def _only_first_hand(self, bundles: list[bytes]) -> bool:
        """Whether each neighbour sent its own message of this slot, and nothing else."""
        size, slot = self.record_type.itemsize, self.slot
        for i, items in enumerate(bundles):
            own = _ENVELOPE.pack(self.neighbours[i], slot, 1)
            if len(items) != size or not items.startswith(own):
                return False
        return True

    def _any(self, new: Records, learner: CooperativeLearner) -> bool:
        """Whether any of these must be refused for its content or signature."""
        for _, wrong in learner.find_faults(new):
            if np.count_nonzero(wrong):
                return True
        return learner.find_contradictions(new) is not None or self._find_forged(new) is not None

    def _find_forged(self, new: Records) -> BoolArray | None:
        """Which of these their origins did not sign, each checked once; None if all did."""
        signer = self.signer
        if signer is None:
            return None
        checked: dict[bytes, bool] = {}
        forged = np.zeros(len(new), dtype=bool)
        new = new.copy()
        new["life"] = 0  # it changes with every hop, so no signature covers it
        for i, origin in enumerate(new["origin"].tolist()):
            message = new[i].tobytes()
            if message not in checked:
                checked[message] = not is_signed(signer, origin, message)
            forged[i] = checked[message]
        return forged if forged.any() else None

    def _count(self, reason: str, wrong: BoolArray) -> None:
        if refused := int(np.count_nonzero(wrong)):
            self.refused[reason] += refused

    def _find_envelope_faults(self, life: IntArray, age: IntArray, first_hand: BoolArray) -> Faults:
        """Faults of the envelopes: each reason with a mask of the messages it holds for."""
        wrong = life + age != self.gamma
        forged = first_hand != (age == 0)
        if np.count_nonzero(wrong | forged | (life < 1) | (life > self.gamma)):
            yield "life-above-gamma", life > self.gamma
            yield "from-the-future", age < 0
            yield "expired", age >= self.gamma
            yield "wrong-life", wrong
            yield "forged-origin", forged


def first_occurrences(key: IntArray, size: int) -> BoolArray:
    """A mask of the entries that are the first with their key, which is below `size`."""
    first, place = np.empty(size, dtype=np.int64), np.arange(len(key))
    first[key[::-1]] = place[::-1]  # of equal keys the last one written stays
    mask: BoolArray = first[key] == place
    return mask
