"""Sink agent collection, SAC (Li and Song 2022, section VI-A): means hop towards a sink.

In slot 1 an agent sends its own means, in slot s the means that reached it in slot s - 1. It knows
its next hop, the neighbours whose next hop it is, and the number of slots in which each of these
sends. So no message is needed to say that there is nothing to send.
"""

from dataclasses import dataclass, field
from itertools import chain

from agent.exchange import Exchange, taken
from agent.gis import check_origins
from protocol.errors import RemoteProtocolError
from protocol.federated import Hop
from protocol.machine import AgentEffect, AgentEffects, Received, Send


@dataclass(slots=True)
class Relay(Exchange):
    """One agent's part of SAC.

    `towards` is the next hop, None at the sink. `children` has the neighbours whose next hop this
    agent is, with the number of slots in which each sends. `slots` is max_q ecc(SA_q), the slots of
    a round. A neighbour may be ahead of this agent; its messages wait in `ahead` for their slot.
    """

    towards: int | None = field(init=False)
    children: dict[int, int] = field(init=False)
    arrived: dict[int, tuple[int, ...]] = field(default_factory=dict, init=False)
    ahead: dict[tuple[int, int, int], Received] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        Exchange.__post_init__(self)
        self.towards = self.knowledge["towards"]
        self.children = {int(child): slots for child, slots in self.knowledge["children"]}

    @property
    def slots(self) -> int | None:
        total: int = self.knowledge["slots"]
        return total

    def open(self) -> AgentEffects:
        self.slot += 1
        self.idle = False
        self.arrived = {}
        effects: list[AgentEffect] = []
        if self.towards is not None and self.fresh:
            hop = Hop(self.round, self.slot, self.fresh, self.signed.pack(self.rows, self.fresh))
            # the paper counts a link for each agent's means and each hop, however they are bundled
            self.links += len(self.fresh)
            effects.append(Send(self.towards, hop))
        places = [(self.round, self.slot, child) for child in sorted(self.children)]
        effects += taken([self.ahead.pop(at) for at in places if at in self.ahead], self._take)
        self._end_slot()
        return effects

    def receive(self, event: Received) -> AgentEffects:
        hop = event.message
        if not isinstance(hop, Hop):
            raise RemoteProtocolError("out-of-turn", type(hop).__name__)
        if hop.slot > self.children.get(event.sender, 0):
            raise RemoteProtocolError("unasked", "this agent is not on that path to the sink")
        at = (hop.round, hop.slot)
        if at == (self.round, self.slot) and not self.idle:
            self._take(event)
            self._end_slot()
            return []
        later = hop.round == self.round + 1 or (
            hop.round == self.round and 0 <= self.slot < hop.slot
        )
        key = (*at, event.sender)
        if not later or key in self.ahead:
            raise RemoteProtocolError("out-of-turn", f"round, slot {at}")
        self.ahead[key] = event
        return []

    def _take(self, event: Received) -> None:
        hop = event.message
        assert isinstance(hop, Hop)
        if event.sender in self.arrived:
            raise RemoteProtocolError("duplicate", "a second message in a slot")
        check_origins(hop.origins, self.agents)
        if hop.slot == 1 and hop.origins != (event.sender,):
            raise RemoteProtocolError("not-held", "in slot 1 an agent has only its own means")
        if not self.has.isdisjoint(hop.origins):
            raise RemoteProtocolError("not-new", "the same means twice")
        rows = self.signed.unpack(hop.means, hop.origins, self.rows.shape[1])
        self.rows[list(hop.origins)] = rows
        self.has.update(hop.origins)
        self.arrived[event.sender] = hop.origins

    def _end_slot(self) -> None:
        expected = sum(1 for sends in self.children.values() if sends >= self.slot)
        if not self.idle and len(self.arrived) == expected:
            self.fresh = tuple(sorted(chain.from_iterable(self.arrived.values())))
            self.idle = True
