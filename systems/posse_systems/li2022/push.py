"""Flooding and gossip, which send means unasked; GIS is compared with them."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from posse.seam.machines import AgentEffect, AgentEffects, Received, Send
from posse.seam.messages import FloatArray, Message, RemoteProtocolError
from posse_systems.li2022.exchange import Exchange, Origins, take_each
from posse_systems.li2022.messages import Data, Hop, InSlot, Quiet


@dataclass(slots=True)
class Flooding(Exchange):
    """One agent's part of flooding: in each of d_G slots all new means to every neighbour.

    A message for the next slot or round waits in `early` and is checked when that slot opens: the
    active arms may not be known before. It is found by its round, slot, sender and kind.
    """

    reads: ClassVar[tuple[type[InSlot], ...]] = (Data, Quiet)

    data: dict[int, tuple[Origins, FloatArray]] = field(default_factory=dict, init=False)
    ended: dict[int, Quiet | None] = field(default_factory=dict, init=False)
    early: dict[tuple[int, int, int, type[Message]], Received] = field(
        default_factory=dict, init=False
    )
    sent: set[int] = field(default_factory=set, init=False)

    def open(self) -> AgentEffects:
        self.slot += 1
        self.idle = False
        self.data, self.ended = {}, {}
        sent = self._say()
        due = [key for key in self.early if key[:2] <= (self.round, self.slot)]
        refusals = take_each(map(self.early.pop, due), self._take_early)
        self._close()
        return [*sent, *refusals]

    def receive(self, event: Received) -> AgentEffects:
        message = event.message
        if not isinstance(message, self.reads):
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        place = (message.round, message.slot)
        if place == (self.round, self.slot) and not self.idle:
            self._take(event)
            self._close()
        else:
            self._keep(event, place)
        return []

    def _take_early(self, event: Received) -> None:
        message = event.message
        assert isinstance(message, InSlot)
        place = (message.round, message.slot)
        if place != (self.round, self.slot):  # of a slot that the round before did not have
            raise RemoteProtocolError("out-of-turn", f"round, slot {place}")
        self._take(event)

    def _close(self) -> None:
        """End the slot if all of its messages are here."""
        if self._complete:
            self._end_slot()
            self.idle = True

    def _keep(self, event: Received, place: tuple[int, int]) -> None:
        """Keep a message that came early."""
        # A neighbour ends a slot only with this agent's message, so it is one slot ahead at most:
        # in the next slot, or, if this may be a round's last, in the first of the next round.
        following = [(self.round, self.slot + 1), (self.round + 1, 1)]
        key = (*place, event.sender, type(event.message))
        if place not in (following[1:] if self.over else following[:1] if self.idle else following):
            raise RemoteProtocolError("out-of-turn", f"round, slot {place}")
        if key in self.early:
            raise RemoteProtocolError("duplicate", "more messages than a slot has")
        self.early[key] = event

    def _say(self) -> AgentEffects:
        place = (self.round, self.slot)
        if not self.fresh:
            return [Send(j, Quiet(*place, "push")) for j in self.neighbours]
        data = Data(*place, self.fresh, self.pack(self.fresh))
        self.sent = set(self.neighbours)
        return [Send(j, data) for j in self.neighbours]

    def _take(self, event: Received) -> None:
        if event.sender in self.ended:
            raise RemoteProtocolError("duplicate", "a second message in a slot")
        if isinstance(event.message, Data):
            self._take_means(event.sender, event.message)
        self.ended[event.sender] = None

    def check_held(self, sender: int, message: Data | Hop) -> None:
        """Refuse means of unknown agents, or of others in slot 1."""
        self.check_origins(message.origins)
        if message.slot == 1 and message.origins != (sender,):
            raise RemoteProtocolError("not-held", "in slot 1 an agent has only its own means")

    def _take_means(self, sender: int, message: Data) -> None:
        self.check_held(sender, message)
        rows = self.unpack(message.means, message.origins)
        repeated = [index for index, origin in enumerate(message.origins) if origin in self.has]
        if (rows[repeated] != self.rows[[message.origins[index] for index in repeated]]).any():
            raise RemoteProtocolError("conflict", "means that differ from those received before")
        self.data[sender] = message.origins, rows

    @property
    def _complete(self) -> bool:
        return len(self.ended) == len(self.neighbours)

    def _end_slot(self) -> None:
        self.links += sum(
            1 for j in self.neighbours if j > self.rank and (j in self.sent or j in self.data)
        )
        fresh: set[int] = set()
        for sender in sorted(self.data):
            for origin, row in zip(*self.data[sender], strict=True):
                if origin not in self.has:
                    self.rows[origin] = row
                    fresh.add(origin)
                    self.has.add(origin)
        self.fresh = tuple(sorted(fresh))
        self.sent = set()


@dataclass(slots=True)
class Gossip(Flooding):
    """One agent's part of gossip, until every agent has all means and knows that all have them.

    In every slot it sends one random neighbour the means that it is not known to have.
    An agent ends each slot with a `Quiet` to every neighbour: who is known to have all means
    (`full`), and since which slot F the last of them (`since`). d_G slots after F all agents know F
    and stop together; this part is the clock's, not the paper's. `known` has the agents whose means
    each neighbour is known to have.
    """

    choice: np.random.Generator = field(default_factory=np.random.default_rng)
    full: set[int] = field(default_factory=set, init=False)
    since: int = field(default=0, init=False)
    known: dict[int, set[int]] = field(default_factory=dict, init=False)

    @property
    def slots(self) -> int | None:
        """None: their number is not known in advance."""
        return None

    @property
    def over(self) -> bool:
        complete = len(self.full) == len(self.members)
        return self.slot == -1 or (complete and self.slot == self.since + self.diameter)

    def begin(self, round_: int, row: FloatArray, margin: float = math.inf) -> None:
        Flooding.begin(self, round_, row, margin)
        self.full = {self.rank} if len(self.members) == 1 else set()
        self.since = 0
        self.known = {j: set() for j in self.neighbours}

    def _say(self) -> AgentEffects:
        effects: list[AgentEffect] = []
        place = (self.round, self.slot)
        chosen = self.neighbours[int(self.choice.integers(len(self.neighbours)))]
        lacking = tuple(sorted(self.has - self.known[chosen]))
        if lacking:
            self.known[chosen].update(lacking)
            self.sent = {chosen}
            effects.append(Send(chosen, Data(*place, lacking, self.pack(lacking))))
        bits = np.zeros(self.agents, dtype=np.uint8)
        bits[list(self.full)] = 1
        quiet = Quiet(*place, "push", np.packbits(bits).tobytes(), self.since)
        return [*effects, *(Send(j, quiet) for j in self.neighbours)]

    def _take(self, event: Received) -> None:
        message = event.message
        if event.sender in self.ended:
            raise RemoteProtocolError("duplicate", "a message after the end of a slot")
        if isinstance(message, Data):
            if event.sender in self.data:
                raise RemoteProtocolError("duplicate", "a second message in a slot")
            self._take_means(event.sender, message)
            return
        assert isinstance(message, Quiet)
        if len(message.full) != (self.agents + 7) // 8 or message.since >= message.slot:
            raise RemoteProtocolError("malformed", "the bits that say which lists are full")
        self.ended[event.sender] = message

    def _end_slot(self) -> None:
        Flooding._end_slot(self)
        for sender, (origins, _) in self.data.items():
            self.known[sender].update(origins)
        if self.rank not in self.full and len(self.has) == len(self.members):
            self.full.add(self.rank)
            self.since = max(self.since, self.slot)
        for quiet in self.ended.values():
            assert quiet is not None
            bits = np.unpackbits(np.frombuffer(quiet.full, dtype=np.uint8), count=self.agents)
            self.full.update(np.flatnonzero(bits).tolist())
            self.since = max(self.since, quiet.since)
