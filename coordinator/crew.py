"""Agents to start together, and what starts them."""

from pathlib import Path
from typing import Protocol

import msgspec

from posse.security.keys import KeyPair
from posse.spec.runfile import RunSpec


class Crew(msgspec.Struct, frozen=True):
    """Agents to start: by rank, the endpoint that each joins, and its key pair.

    Where links need no keys there are no pairs; else `coordinator` is the coordinator's public key.
    `folders` are where a system of the user's own is imported from. `inbox` is the address pattern
    for links between agents, with {rank}; "" without such links. `signers` as in `AgentKeys`.
    `capture` is the file that records frames, `journals` the folder of journals; "" for none. With
    a `spec` the agents run on another machine than their coordinator, and check its configuration
    against that run file. `per_process` agents share a process, each in a thread of it.
    """

    agents: dict[int, tuple[str, KeyPair | None]]
    token: str
    system: str
    folders: list[str]
    inbox: str
    coordinator: str = ""
    signers: dict[int, bytes] = {}
    capture: str = ""
    journals: str = ""
    spec: RunSpec | None = None
    per_process: int = 1

    def select(self, ranks: list[int]) -> "Crew":
        """The same crew with these ranks only."""
        return msgspec.structs.replace(self, agents={rank: self.agents[rank] for rank in ranks})


class Died(msgspec.Struct, frozen=True):
    """Agent `rank` has died; with rank None no agent can be started any more.

    `killed`: it did not end by itself; it may be started again.
    """

    rank: int | None
    why: str
    killed: bool = False


class Starter(Protocol):
    """Starts agents as processes, and reports which of them died."""

    @property
    def deaths(self) -> int:
        """A file descriptor that is readable when a process has died; see `next_death`."""

    def start(self, crew: Crew) -> None:
        """Start these agents."""

    def next_death(self) -> Died:
        """The next death, with its reason as a sentence."""

    def close(self) -> None:
        """End every agent that is left."""


def journal_of(folder: str, rank: int) -> Path:
    """The path of an agent's journal in this folder."""
    return Path(folder) / f"agent-{rank}.journal"
