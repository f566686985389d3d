"""`[network]`: the delays, losses and bandwidths that a run's links have.

In memory a run with this table has them in virtual time, and waits for nothing; across processes of
this machine relays realise them on real sockets. Answers, messages and bytes are the same.
"""

import math
import re
from collections.abc import Callable, Mapping
from itertools import chain
from random import Random
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from posse.errors import SpecError
from posse.protocol.machine import COORDINATOR, peer_name
from posse.topologies.graphs import Graph

_Key = Literal["delay", "jitter", "loss", "bandwidth"]

EndOfLink = Annotated[int, Meta(ge=0)] | str

RETRANSMIT = 0.2
"""Seconds after which a system sends a lost segment again, and twice as long each time after."""

LONGEST_JITTER = 20.0
"""In units of its mean, the most by which jitter delays a message."""

MOST_RETRANSMITS = 15
"""Times that a segment is sent again at most; then the link is taken for good."""

_Delay = Annotated[float, Meta(ge=0, le=3600, description="seconds, one way")]
_Jitter = Annotated[
    float, Meta(ge=0, le=3600, description="mean of an exponential delay that is added, in seconds")
]
_Loss = Annotated[
    float, Meta(ge=0, le=0.9, description="share of messages that are lost, and sent again")
]
_Bandwidth = Annotated[float, Meta(ge=100, description="bytes per second in each direction")]
"""Over a slower link no agent joins before it is given up."""


class LinkConditions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What links have; None is what the more general table says."""

    delay: _Delay | None = None
    jitter: _Jitter | None = None
    loss: _Loss | None = None
    bandwidth: _Bandwidth | None = None

    def over(self, general: "LinkConditions") -> "LinkConditions":
        """These, and what they leave open from the more general ones."""
        values = {name: getattr(self, name) for name in KEYS}
        given = {name: value for name, value in values.items() if value is not None}
        return msgspec.structs.replace(general, **given)


def lateness(delay: float, jitter: float, loss: float, chance: Random) -> float:
    """Seconds that a message is on its way; it is lost with probability `loss` each time."""
    late, wait = delay + jitter * min(chance.expovariate(1.0), LONGEST_JITTER), RETRANSMIT
    for _ in range(MOST_RETRANSMITS if loss else 0):
        if chance.random() >= loss:
            break
        late, wait = late + wait, 2 * wait
    return late


KEYS = tuple(field.name for field in msgspec.structs.fields(LinkConditions))


IDEAL = LinkConditions(delay=0.0, jitter=0.0, loss=0.0)
"""A link that takes no time."""


Conditions = Callable[[int, int], LinkConditions]
"""What the link between two ranks has."""


class LinkSpec(LinkConditions, frozen=True, kw_only=True):
    """`[[network.links]]`: what one link has."""

    ends: tuple[EndOfLink, EndOfLink]


class NetworkSpec(LinkConditions, frozen=True, kw_only=True):
    """`[network]`; a later one of these overrides an earlier one.

    - its own keys: of all links
    - `coordinator`, `neighbours`: of links with the coordinator, of those between agents
    - `regions`: ranks or ranges by region, as `asia = ["coordinator", 0, "4-7"]`; `delays` has a
      row and a column for each region, in their order: the delay of links between them, in seconds
    - `edges`: which attribute of the graph's edges has a key, as `delay = "latency"`, where
      `[topology]` is a graph of networkx or of a file that networkx reads
    - `links`: of single links
    """

    coordinator: LinkConditions | None = None
    neighbours: LinkConditions | None = None
    regions: dict[str, tuple[EndOfLink, ...]] = {}
    delays: tuple[tuple[_Delay, ...], ...] = ()
    edges: dict[_Key, str] = {}
    links: tuple[LinkSpec, ...] = ()

    def check(self, agents: int) -> None:
        """`SpecError` unless the regions and links are those of this many agents."""
        places: dict[int, str] = {}
        for region, members in self.regions.items():
            for rank in chain(*(_require(m, agents, "network.regions") for m in members)):
                if rank in places:
                    both = " and ".join(sorted({places[rank], region}))
                    raise SpecError("network.regions", f"{peer_name(rank)} is in {both} twice")
                places[rank] = region
        size = len(self.regions)
        if self.delays and any(len(row) != size for row in (self.delays, *self.delays)):
            names = ", ".join(self.regions)
            raise SpecError("network.delays", f"needs {size} rows of {size} numbers, for {names}")
        if self.delays != tuple(zip(*self.delays, strict=True)):
            raise SpecError("network.delays", "must be the same in both directions")
        if self.regions and not self.delays:
            raise SpecError("network.delays", "is missing; it has a row for each of the regions")
        if self.regions and (missing := [r for r in range(-1, agents) if r not in places]):
            raise SpecError("network.regions", f"{peer_name(missing[0])} is in none of them")
        for link in self.links:
            source, target = (_require(end, agents, "network.links") for end in link.ends)
            if len(source) != 1 or len(target) != 1:
                raise SpecError("network.links", "ends are single: coordinator, or a rank")
            if source == target:
                raise SpecError("network.links", f"{peer_name(source[0])} is both ends")

    def of_edges(self, graph: Graph) -> dict[tuple[int, int], LinkConditions]:
        """What `edges` gives each edge (i, j), i < j; `SpecError` if one lacks it."""
        by_edge = {}
        for edge in graph.edges():
            numbers, given = graph.attributes.get(edge, {}), {}
            for key, name in self.edges.items():
                if not math.isfinite(numbers.get(name, math.nan)):
                    i, j = edge
                    lacks = "no single finite number" if name in numbers else "no number"
                    raise SpecError(
                        f"network.edges.{key}", f"the edge {i}–{j} has {lacks} '{name}'"
                    )
                given[key] = numbers[name]
            try:
                by_edge[edge] = msgspec.convert(given, LinkConditions)
            except msgspec.ValidationError as error:
                raise SpecError("network.edges", f"the edge {edge[0]}–{edge[1]}: {error}") from None
        return by_edge

    def conditions(
        self, agents: int, a: int, b: int, edges: Mapping[tuple[int, int], LinkConditions]
    ) -> LinkConditions:
        """What the link between two ranks has; `edges` is that of `of_edges`."""
        conditions = IDEAL
        kind = self.coordinator if COORDINATOR in (a, b) else self.neighbours
        for table in (self, kind):
            conditions = table.over(conditions) if table is not None else conditions
        if self.regions:
            delay = self.delays[self._place(a)][self._place(b)]
            conditions = LinkConditions(delay=delay).over(conditions)
        if (edge := edges.get((min(a, b), max(a, b)))) is not None:
            conditions = edge.over(conditions)
        for link in self.links:
            if {_ranks(end)[0] for end in link.ends} == {a, b}:
                conditions = link.over(conditions)
        return conditions

    def _place(self, rank: int) -> int:
        """The number of a rank's region."""
        regions = enumerate(self.regions.values())
        return next(n for n, members in regions if any(rank in _ranks(m) for m in members))


def _ranks(member: EndOfLink) -> range:
    """The ranks that a member of a region names; empty if it names none."""
    if isinstance(member, int):
        return range(member, member + 1)
    if member == "coordinator":
        return range(COORDINATOR, COORDINATOR + 1)
    ends = re.fullmatch(r"(\d+)-(\d+)", member)
    return range(int(ends[1]), int(ends[2]) + 1) if ends else range(0)


def _require(member: EndOfLink, agents: int, key: str) -> range:
    """The ranks of a member; `SpecError` if it has none, or not this many agents are there."""
    ranks = _ranks(member)
    if not ranks:
        raise SpecError(key, f"'{member}' is neither coordinator, a rank, nor a range as \"0-3\"")
    if ranks[-1] >= agents:
        raise SpecError(key, f"there is no agent {ranks[-1]}; the last one is {agents - 1}")
    return ranks
