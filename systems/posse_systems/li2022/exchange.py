"""The base of all exchanges, by which means travel between neighbours slot by slot."""

import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from posse.seam.machines import AgentEffect, AgentEffects, Received, Refuse
from posse.seam.messages import (
    HASH_BYTES,
    SIGNATURE_BYTES,
    Contradiction,
    Equivocation,
    FloatArray,
    RemoteProtocolError,
    Signer,
    hash_of,
    pack_floats,
    unpack_floats,
)
from posse_systems.li2022.messages import check_plausible

Origins = tuple[int, ...]

_ROUND = struct.Struct("<q")
_KIND = b"means"


def take_each(
    early: Iterable[Received], take: Callable[[Received], AgentEffects | None]
) -> list[AgentEffect]:
    """Take messages that came too early, with a `Refuse` for each wrong one."""
    effects: list[AgentEffect] = []
    for event in early:
        try:
            effects += take(event) or ()
        except RemoteProtocolError as error:
            proof = error.proof if isinstance(error, Equivocation) else None
            effects.append(Refuse(error.reason, event.sender, proof=proof))
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

    With a `signer` means travel with their origin's signature of the run, the round and a hash of
    the numbers, so that who passes them on cannot change them; `statements` has those known of this
    round. Means of others may lie outside [0, 1] by `margin`.
    """

    rank: int
    agents: int
    neighbours: tuple[int, ...] = ()
    knowledge: dict[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    signer: Signer | None = None
    round: int = field(default=0, init=False)
    slot: int = field(default=-1, init=False)
    idle: bool = field(default=True, init=False)
    links: int = field(default=0, init=False)
    members: tuple[int, ...] = field(init=False)
    has: set[int] = field(default_factory=set, init=False)
    fresh: tuple[int, ...] = field(default=(), init=False)
    rows: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), init=False)
    statements: dict[int, bytes] = field(default_factory=dict, init=False)
    margin: float = field(default=math.inf, init=False)

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
        """Begin a round with this agent's own means, `row`, shape (arms,)."""
        self.round, self.slot, self.links = round_, 0, 0
        self.rows = np.zeros((self.agents, len(row)))
        self.rows[self.rank] = row
        self.margin, self.statements = margin, {}
        if self.signer is not None:
            own = self.signer.state(_KIND, _ROUND.pack(round_), pack_floats(row))
            self.statements[self.rank] = own
        self.has, self.fresh = {self.rank}, (self.rank,)

    def open(self) -> AgentEffects:
        """Begin the next slot."""
        return []

    def receive(self, event: Received) -> AgentEffects:
        """Take a neighbour's message."""
        raise RemoteProtocolError("out-of-turn", type(event.message).__name__)

    def pack(self, origins: Origins) -> bytes:
        """The means of these agents as bytes: the numbers, then a signature each if agents sign."""
        means = pack_floats(self.rows[list(origins)])
        if self.signer is None:
            return means
        return means + b"".join(self.statements[origin][HASH_BYTES:] for origin in origins)

    def unpack(self, data: bytes, origins: Origins) -> FloatArray:
        """The means of these agents from a peer's bytes, shape (len(origins), arms).

        Raises `RemoteProtocolError` for any fault in them.
        """
        arms = self.rows.shape[1]
        end = len(data)
        if self.signer is not None:
            end = max(0, end - SIGNATURE_BYTES * len(origins))
        rows = unpack_floats(data[:end], len(origins) * arms).reshape(-1, arms)
        check_plausible(rows, self.margin)
        if self.signer is None:
            return rows
        starts = range(end, len(data), SIGNATURE_BYTES)
        for origin, row, start in zip(origins, rows, starts, strict=True):
            self.believe(origin, hash_of(pack_floats(row)) + data[start : start + SIGNATURE_BYTES])
        return rows

    def believe(self, origin: int, statement: bytes) -> None:
        """Take what an agent stated of its means; `Equivocation` if it contradicts itself."""
        assert self.signer is not None
        place = _ROUND.pack(self.round)
        self.signer.check_statement(origin, _KIND, place, statement)
        # the first is kept: who passes it on must not seem to have forged it
        known = self.statements.setdefault(origin, statement)
        if known[:HASH_BYTES] != statement[:HASH_BYTES]:
            raise Equivocation(Contradiction(origin, _KIND, place, (known, statement)))

    def check_origins(self, origins: Origins) -> None:
        """Refuse a list of agents that is not sorted, unique and known."""
        if list(origins) != sorted(set(origins)) or origins[-1] >= self.agents:
            raise RemoteProtocolError("no-such-agent", "a list of agents must be sorted and known")
