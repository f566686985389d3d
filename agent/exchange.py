"""How means travel between neighbours, slot by slot: what all ways have in common."""

import math
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from agent.signed import SignedRows
from protocol.errors import RemoteProtocolError
from protocol.machine import AgentEffect, AgentEffects, FloatArray, Received, Refuse


def taken(
    early: Iterable[Received], take: Callable[[Received], AgentEffects | None]
) -> list[AgentEffect]:
    """Take what came before its turn, and refuse what turns out to be wrong."""
    effects: list[AgentEffect] = []
    for event in early:
        try:
            effects += take(event) or ()
        except RemoteProtocolError as error:
            effects.append(Refuse(error.reason, event.sender))
    return effects


@dataclass(slots=True)
class Exchange:
    """One agent's part in it; by this one nothing travels, and no slot is needed.

    `begin` takes a round's own row; `open` begins a slot, in which `receive` takes what neighbours
    say until the slot is over and the exchange `idle` again; after the last slot it is `over`.
    `rows`, shape (agents, arms), has the means of the agents that `has` names; `fresh` are those
    whose means arrived in the slot before, at first its own. `links` counts the links that were
    used. Of the `agents` that there were at first `members` take part.
    """

    rank: int
    agents: int
    _: KW_ONLY
    round: int = 0
    slot: int = -1
    idle: bool = True
    links: int = 0
    members: tuple[int, ...] = field(init=False)
    has: set[int] = field(default_factory=set)
    fresh: tuple[int, ...] = ()
    rows: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    signed: SignedRows = field(default_factory=SignedRows)

    def __post_init__(self) -> None:
        self.members = tuple(range(self.agents))

    @property
    def slots(self) -> int | None:
        """How many slots a round takes; None if that is not known before."""
        return 0

    @property
    def over(self) -> bool:
        """Whether the round has no further slot."""
        return self.slot in (-1, self.slots)

    def begin(self, round_: int, row: FloatArray, margin: float = math.inf) -> None:
        """A round begins with this agent's own means; others' lie so far outside [0, 1] at most."""
        self.round, self.slot, self.links = round_, 0, 0
        self.rows = np.zeros((self.agents, len(row)))
        self.rows[self.rank] = row
        self.signed.begin(self.rank, round_, row, margin)
        self.has, self.fresh = {self.rank}, (self.rank,)

    def regroup(self, neighbours: tuple[int, ...], knowledge: dict[str, Any]) -> None:
        """Agents were lost: what is under way is given up, and these are the neighbours left."""
        self.idle, self.slot = True, -1
        self.members = tuple(knowledge["members"])

    def open(self) -> AgentEffects:
        """The next slot begins."""
        return []

    def receive(self, event: Received) -> AgentEffects:
        """A neighbour's message."""
        raise RemoteProtocolError("out-of-turn", type(event.message).__name__)


@dataclass(slots=True)
class ToAll(Exchange):
    """An exchange by which all come to have everybody's means, over d_G slots."""

    neighbours: tuple[int, ...]
    diameter: int

    @property
    def slots(self) -> int | None:
        return self.diameter

    def regroup(self, neighbours: tuple[int, ...], knowledge: dict[str, Any]) -> None:
        Exchange.regroup(self, neighbours, knowledge)
        self.neighbours, self.diameter = neighbours, knowledge["diameter"]
