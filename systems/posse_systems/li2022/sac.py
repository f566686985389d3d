"""Sink agent collection, SAC (Li and Song 2022, section VI-A): means hop towards a sink.

In slot 1 an agent sends its own means, in slot s the means that reached it in slot s - 1. It knows
its next hop, the neighbours whose next hop it is, and the number of slots in which each of these
sends. So no message is needed to say that there is nothing to send.
"""

from dataclasses import dataclass, field
from itertools import chain

from posse.seam.machines import AgentEffects, Received, Send
from posse.seam.messages import RemoteProtocolError
from posse_systems.li2022.messages import Hop
from posse_systems.li2022.push import Flooding


@dataclass(slots=True)
class Relay(Flooding):
    """One agent's part of SAC.

    `towards` is the next hop, None at the sink. `children` has the neighbours whose next hop this
    agent is, with the number of slots in which each sends. `slots` is max_q ecc(SA_q), the slots of
    a round. A neighbour may be several slots ahead of this agent.
    """

    reads = (Hop,)

    towards: int | None = field(init=False)
    children: dict[int, int] = field(init=False)
    arrived: dict[int, tuple[int, ...]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        Flooding.__post_init__(self)
        self.towards = self.knowledge["towards"]
        self.children = {int(child): slots for child, slots in self.knowledge["children"]}

    @property
    def slots(self) -> int | None:
        total: int = self.knowledge["slots"]
        return total

    def _say(self) -> AgentEffects:
        self.arrived = {}
        if self.towards is None or not self.fresh:
            return []
        # the paper counts a link for each agent's means and each hop, however they are bundled
        self.links += len(self.fresh)
        return [Send(self.towards, Hop(self.round, self.slot, self.fresh, self.pack(self.fresh)))]

    def receive(self, event: Received) -> AgentEffects:
        hop = event.message
        if isinstance(hop, Hop) and hop.slot > self.children.get(event.sender, 0):
            raise RemoteProtocolError("unasked", "this agent is not on that path to the sink")
        return Flooding.receive(self, event)

    def _keep(self, event: Received, place: tuple[int, int]) -> None:
        round_, slot = place
        later = round_ == self.round + 1 or (round_ == self.round and 0 <= self.slot < slot)
        key = (*place, event.sender, Hop)
        if not later or key in self.early:
            raise RemoteProtocolError("out-of-turn", f"round, slot {place}")
        self.early[key] = event

    def _take(self, event: Received) -> None:
        hop = event.message
        assert isinstance(hop, Hop)
        if event.sender in self.arrived:
            raise RemoteProtocolError("duplicate", "a second message in a slot")
        self.check_held(event.sender, hop)
        if not self.has.isdisjoint(hop.origins):
            raise RemoteProtocolError("not-new", "the same means twice")
        self.rows[list(hop.origins)] = self.unpack(hop.means, hop.origins)
        self.has.update(hop.origins)
        self.arrived[event.sender] = hop.origins

    @property
    def _complete(self) -> bool:
        return len(self.arrived) == sum(sends >= self.slot for sends in self.children.values())

    def _end_slot(self) -> None:
        self.fresh = tuple(sorted(chain.from_iterable(self.arrived.values())))
