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
    used. `knowledge` is what the agent was told of the graph. Of the `agents` that there were at
    first `members` take part. Where some are lost an exchange is made anew, by what is told then.
    """

    rank: int
    agents: int
    neighbours: tuple[int, ...] = ()
    knowledge: dict[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    signed: SignedRows = field(default_factory=SignedRows)
    round: int = field(default=0, init=False)
    slot: int = field(default=-1, init=False)
    idle: bool = field(default=True, init=False)
    links: int = field(default=0, init=False)
    members: tuple[int, ...] = field(init=False)
    has: set[int] = field(default_factory=set, init=False)
    fresh: tuple[int, ...] = field(default=(), init=False)
    rows: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), init=False)

    def __post_init__(self) -> None:
        self.members = tuple(self.knowledge.get("members", range(self.agents)))

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

    def open(self) -> AgentEffects:
        """The next slot begins."""
        return []

    def receive(self, event: Received) -> AgentEffects:
        """A neighbour's message."""
        raise RemoteProtocolError("out-of-turn", type(event.message).__name__)


@dataclass(slots=True)
class ToAll(Exchange):
    """An exchange by which all come to have everybody's means, over d_G slots."""

    @property
    def diameter(self) -> int:
        """d_G."""
        found: int = self.knowledge["diameter"]
        return found

    @property
    def slots(self) -> int | None:
        return self.diameter
