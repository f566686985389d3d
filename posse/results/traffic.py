"""Traffic of a run: totals by plane, by kind of message and by kind of link."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec
from msgspec import UNSET, UnsetType

from posse.protocol.control import LinkCount
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane


class Amount(msgspec.Struct):
    """Messages, and their bytes: as the codec made them (payload), and as given to ZeroMQ (frame).

    None if unknown: in the field no agent reports what it sent its neighbours.
    """

    messages: int | None = 0
    payload_bytes: int | None = 0
    frame_bytes: int | None = 0

    def plus(self, messages: int, payload: int, frame: int) -> "Amount":
        """This, where it is known, plus another amount."""
        return Amount(
            (self.messages or 0) + messages,
            (self.payload_bytes or 0) + payload,
            (self.frame_bytes or 0) + frame,
        )


_UNKNOWN = Amount(None, None, None)


class PlaneTraffic(Amount):
    """The total of one plane, and of each kind of message in it."""

    kinds: dict[str, Amount] = {}


class MessagesByLink(msgspec.Struct, rename="kebab"):
    """Messages of the plane `data` by the papers' kinds of link; None as in `Amount`."""

    agent_coordinator: int = 0
    coordinator_agent: int = 0
    agent_agent: int | None = 0


class RoundCost(msgspec.Struct, omit_defaults=True):
    """One round of communication: its links, their cost, the slots of its exchange."""

    round: int
    links: int
    cost: float
    slots: int | None = None


class KernelBytes(msgspec.Struct):
    """Bytes that the kernel counted on the coordinator's connections."""

    sent: int
    received: int


class ForwardedBytes(msgspec.Struct):
    """What the coordinator handed on, sealed, to agents that accept no connections.

    It is part of what agents sent each other, and of no other count of the coordinator's.
    """

    messages: int = 0
    bytes: int = 0


class ClosedForm(msgspec.Struct):
    """The cost of a run by a paper's formula; `exact`: it must equal what was counted."""

    formula: str
    cost: float
    exact: bool


class Traffic(msgspec.Struct, kw_only=True):
    """All that was sent in a run.

    `rounds`: rounds of communication, where the paper counts them. `cost`: the links that the paper
    counts, at its prices. `socket_bytes`: only on TCP. The fields after the planes are set only
    where the paper has a formula for the cost, or the coordinator forwarded anything.
    """

    rounds: int | None = None
    links: MessagesByLink = msgspec.field(default_factory=MessagesByLink)
    cost: int | float | None = 0
    socket_bytes: KernelBytes | None = None
    data: PlaneTraffic = msgspec.field(default_factory=PlaneTraffic)
    control: PlaneTraffic = msgspec.field(default_factory=PlaneTraffic)
    world: PlaneTraffic = msgspec.field(default_factory=PlaneTraffic)
    per_round: list[RoundCost] | UnsetType = UNSET
    closed_form: ClosedForm | UnsetType | None = UNSET
    closed_form_paper: ClosedForm | UnsetType = UNSET
    closed_form_by_edges: ClosedForm | UnsetType = UNSET
    cost_per_slot: float | UnsetType = UNSET
    forwarded: ForwardedBytes | UnsetType = UNSET


def traffic(links: Iterable[LinkCount], *, between_agents: bool = True) -> Traffic:
    """The totals of these links; `between_agents`: whether they include links between agents."""
    sums: defaultdict[tuple[int, str, bool, bool], list[int]] = defaultdict(lambda: [0, 0, 0])
    for link in links:
        ends = link.source == COORDINATOR, link.target == COORDINATOR
        amount = sums[link.plane, link.kind, *ends]
        amount[0] += link.messages
        amount[1] += link.payload_bytes
        amount[2] += link.frame_bytes

    def total(plane: Plane, known: bool) -> PlaneTraffic:
        by_kind: dict[str, Amount] = {}
        whole = Amount()
        for (on, kind, _, _), counts in sums.items():
            if on == plane:
                by_kind[kind] = by_kind.get(kind, Amount()).plus(*counts)
                whole = whole.plus(*counts)
        messages, payload, frame = msgspec.structs.astuple(whole if known else _UNKNOWN)
        return PlaneTraffic(messages, payload, frame, by_kind)

    up = down = across = 0
    for (plane, _, downwards, upwards), (messages, _, _) in sums.items():
        if plane == Plane.DATA:
            up += messages * upwards
            down += messages * (downwards and not upwards)
            across += messages * (not downwards and not upwards)

    return Traffic(
        links=MessagesByLink(up, down, across if between_agents else None),
        cost=up + across if between_agents else None,
        data=total(Plane.DATA, between_agents),
        control=total(Plane.CONTROL, between_agents),
        world=total(Plane.WORLD, True),
    )
