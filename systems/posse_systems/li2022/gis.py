"""Global information synchronisation, GIS (Li and Song 2022, section V, Algorithm 2).

In every slot an agent with new means advertises them to its neighbours (ADV). A neighbour requests
those that it lacks, each from one advertiser (REQ). The advertiser sends them (DATA). After d_G
slots every agent has everybody's means.

An agent with nothing to send in a stage says so on the control plane (`Quiet`), to tell silence
from slowness. A stage begins when the one before is complete, so the order of arrival does not
matter.
"""

import math
from dataclasses import dataclass, field

from posse.seam.machines import AgentEffect, AgentEffects, Received, Send
from posse.seam.messages import FloatArray, Message, RemoteProtocolError
from posse_systems.li2022.exchange import Exchange, Origins
from posse_systems.li2022.messages import Adv, Data, Quiet, Req


@dataclass(slots=True)
class Gis(Exchange):
    """One agent's part of GIS.

    A neighbour may be ahead by one slot's advertisement (`early`), but not by more: it cannot end a
    slot without this agent. `advertised` and `requests` have what each neighbour sent in this slot,
    `wanted` what was requested of it, and `known` the agents whose means it has advertised so far.
    """

    stage: str = field(default="idle", init=False)
    advertised: dict[int, Origins] = field(default_factory=dict, init=False)
    early: dict[int, Origins] = field(default_factory=dict, init=False)
    known: dict[int, set[int]] = field(default_factory=dict, init=False)
    requests: dict[int, Origins] = field(default_factory=dict, init=False)
    wanted: dict[int, Origins] = field(default_factory=dict, init=False)
    data: dict[int, FloatArray] = field(default_factory=dict, init=False)

    def begin(self, round_: int, row: FloatArray, margin: float = math.inf) -> None:
        Exchange.begin(self, round_, row, margin)
        self.known = {j: set() for j in self.neighbours}

    def open(self) -> AgentEffects:
        """Begin the next slot with stage ADV."""
        self.slot += 1
        self.stage, self.idle = "adv", False
        self.advertised, self.early = self.early, {}
        self.requests, self.wanted, self.data = {}, {}, {}
        place = (self.round, self.slot)
        message: Message = Adv(*place, self.fresh) if self.fresh else Quiet(*place, "adv")
        return [*(Send(j, message) for j in self.neighbours), *self._advance()]

    def receive(self, event: Received) -> AgentEffects:
        match event.message:
            case Adv(round_, slot, origins):
                self._take_adv(event.sender, (round_, slot), origins)
            case Quiet(round_, slot, "adv"):
                self._take_adv(event.sender, (round_, slot), ())
            case Req(round_, slot, origins):
                self._take_req(event.sender, (round_, slot), origins)
            case Quiet(round_, slot, "req"):
                self._take_req(event.sender, (round_, slot), ())
            case Data(round_, slot, origins, means):
                self._take_data(event.sender, (round_, slot), origins, means)
            case other:
                raise RemoteProtocolError("out-of-turn", type(other).__name__)
        return self._advance()

    def _take_adv(self, sender: int, place: tuple[int, int], origins: Origins) -> None:
        following = (self.round, self.slot + 1) if not self.over else (self.round + 1, 1)
        if not self.idle and place == (self.round, self.slot):
            into = self.advertised
        elif place == following and (self.idle or sender in self.advertised):
            into = self.early
        else:
            raise RemoteProtocolError("out-of-turn", f"an advertisement of round, slot {place}")
        if sender in into:
            raise RemoteProtocolError("duplicate", "a second advertisement in a slot")
        if place[1] == 1 and origins != (sender,):
            raise RemoteProtocolError("not-held", "in slot 1 an agent has only its own means")
        if origins:
            self.check_origins(origins)
            if place[1] > 1 and not self.known[sender].isdisjoint(origins):
                raise RemoteProtocolError("not-new", "the same means advertised twice")
        if place[1] > 1:
            self.known[sender].update(origins)
        into[sender] = origins

    def _take_req(self, sender: int, place: tuple[int, int], origins: Origins) -> None:
        if self.stage not in ("adv", "req") or place != (self.round, self.slot) or not self.fresh:
            raise RemoteProtocolError("out-of-turn", f"a request of round, slot {place}")
        if sender in self.requests:
            raise RemoteProtocolError("duplicate", "a second request in a slot")
        if origins:
            self.check_origins(origins)
            if not set(origins) <= set(self.fresh):
                raise RemoteProtocolError("not-advertised", "a request for what was not offered")
        self.requests[sender] = origins

    def _take_data(
        self, sender: int, place: tuple[int, int], origins: Origins, means: bytes
    ) -> None:
        if place != (self.round, self.slot) or self.wanted.get(sender) != origins:
            raise RemoteProtocolError("unasked", f"data of round, slot {place}")
        if sender in self.data:
            raise RemoteProtocolError("duplicate", "the same data twice")
        self.data[sender] = self.unpack(means, origins)

    def _advance(self) -> AgentEffects:
        effects: list[AgentEffect] = []
        if self.stage == "adv" and len(self.advertised) == len(self.neighbours):
            effects += self._ask()
            self.stage = "req"
        if self.stage == "req" and (not self.fresh or len(self.requests) == len(self.neighbours)):
            effects += self._deliver()
            self.stage = "data"
        if self.stage == "data" and len(self.data) == len(self.wanted):
            self._end_slot()
        return effects

    def _ask(self) -> AgentEffects:
        """Stage REQ: ask the lowest advertiser for each of the means that this agent lacks."""
        covered = set(self.has)
        effects: list[AgentEffect] = []
        place = (self.round, self.slot)
        for j in sorted(self.advertised):
            if not self.advertised[j]:
                continue
            lacking = tuple(origin for origin in self.advertised[j] if origin not in covered)
            covered.update(lacking)
            if lacking:
                self.wanted[j] = lacking
            effects.append(Send(j, Req(*place, lacking) if lacking else Quiet(*place, "req")))
        return effects

    def _deliver(self) -> AgentEffects:
        """Stage DATA: send each neighbour the means that it asked for."""
        return [
            Send(j, Data(self.round, self.slot, origins, self.pack(origins)))
            for j, origins in sorted(self.requests.items())
            if origins
        ]

    def _end_slot(self) -> None:
        # an edge is used in a slot if either end has something new; its lower end counts it
        self.links += sum(
            1 for j in self.neighbours if j > self.rank and (self.fresh or self.advertised[j])
        )
        fresh: list[int] = []
        for j, origins in self.wanted.items():
            self.rows[list(origins)] = self.data[j]
            fresh += origins
        self.has.update(fresh)
        self.fresh = tuple(sorted(fresh))
        self.stage, self.idle = "idle", True
