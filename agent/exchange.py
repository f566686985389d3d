"""The base of all exchanges, by which means travel between neighbours slot by slot."""

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
    """Take messages that came too early, with a `Refuse` for each wrong one."""
    effects: list[AgentEffect] = []
    for event in early:
        try:
            effects += take(event) or ()
        except RemoteProtocolError as error:
            effects.append(Refuse(error.reason, event.sender))
    return effects


@dataclass(slots=True)
class Exchange:
    """One agent's part in an exchange that gives every agent everybody's means, in d_G slots.

    In this base class nothing travels, which is enough for an agent alone.

    `begin` starts a round, `open` a slot. `receive` then takes the neighbours' messages until the
    slot is complete and the exchange `idle` again. After the last slot the exchange is `over`.

    `rows`, shape (agents, arms), has the means of the agents in `has`. `fresh` are those whose
    means arrived in the slot before, at first the agent itself. `links` counts the links used.
    `knowledge` is what the agent was told of the graph. `members` are the agents that take part:
    after a loss a new exchange is made, with new knowledge.
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
        """The slots of a round, d_G; None if their number is not known in advance."""
        return self.diameter

    @property
    def diameter(self) -> int:
        """d_G, the diameter of the graph."""
        return self.knowledge["diameter"] if self.agents > 1 else 0

    @property
    def over(self) -> bool:
        """Whether the round has no further slot."""
        return self.slot in (-1, self.slots)

    def begin(self, round_: int, row: FloatArray, margin: float = math.inf) -> None:
        """Begin a round with this agent's own means, `row`, shape (arms,).

        Means of others are refused if they lie more than `margin` outside [0, 1].
        """
        self.round, self.slot, self.links = round_, 0, 0
        self.rows = np.zeros((self.agents, len(row)))
        self.rows[self.rank] = row
        self.signed.begin(self.rank, round_, row, margin)
        self.has, self.fresh = {self.rank}, (self.rank,)

    def open(self) -> AgentEffects:
        """Begin the next slot."""
        return []

    def receive(self, event: Received) -> AgentEffects:
        """Take a neighbour's message."""
        raise RemoteProtocolError("out-of-turn", type(event.message).__name__)
