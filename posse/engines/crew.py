"""Agents to be started together, and who starts them."""

from pathlib import Path
from typing import Protocol

import msgspec

from posse.engines.board import BoardPlace
from posse.security.keys import Pair
from posse.spec.runfile import RunSpec


class Crew(msgspec.Struct, frozen=True):
    """What to start: one agent per rank, each joining the endpoint at its place in `endpoints`.

    `folders` are where a system of the user's own is imported from. `inbox` is the address pattern
    for links between agents, with {rank}; "" where there are none. `pairs` are the agents' own keys
    and `coordinator` its public one, none where links need none; `signers` as in `AgentKeys`.
    `capture` is the file that frames are written into, `journals` the folder of the agents'
    journals, "" for none. With a `spec` the agents are on another machine than their coordinator,
    and hold it to that run file. Those of a coordinator that is watched show on the `board` how
    they stand.
    """

    endpoints: list[str]
    token: str
    ranks: list[int]
    system: str
    folders: list[str]
    inbox: str
    pairs: list[Pair]
    coordinator: str
    signers: dict[int, bytes] = {}
    capture: str = ""
    journals: str = ""
    spec: RunSpec | None = None
    board: BoardPlace | None = None

    def of(self, ranks: list[int]) -> "Crew":
        """These of them alone."""
        places = [self.ranks.index(rank) for rank in ranks]
        return msgspec.structs.replace(
            self,
            ranks=ranks,
            endpoints=[self.endpoints[place] for place in places],
            pairs=[self.pairs[place] for place in places if self.pairs],
        )


class Died(msgspec.Struct, frozen=True):
    """A process that was started ended: that of agent `rank`, or all of them (None).

    `killed`: it did not end by itself.
    """

    rank: int | None
    why: str
    killed: bool = False


class Starter(Protocol):
    """Starts agents as processes, and says who of them died."""

    @property
    def deaths(self) -> int:
        """A file descriptor that is readable when somebody died, see `next_death`."""

    def start(self, crew: Crew) -> None:
        """Start these agents."""

    def next_death(self) -> Died:
        """Who died, and why, in a sentence."""

    def close(self) -> None:
        """See to it that nobody is left."""


def journal_of(folder: str, rank: int) -> Path:
    """Where an agent that is started so keeps its journal."""
    return Path(folder) / f"agent-{rank}.journal"
