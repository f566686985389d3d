"""The contexts from which machines are built."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from agent.cohort import Cohort
from agent.noise import Noise
from posse.seeds import Purpose
from protocol.machine import OnMissing
from protocol.signing import Signer


@dataclass(frozen=True)
class AgentContext:
    """What an agent's machine is built from.

    `neighbours` are ranks, never the graph. `knowledge` is what the system's `Wiring` tells this
    agent about the topology (its next hop to a sink, the delay to wait). `secret` returns 32 bytes
    for a key. In the `field` it comes from the operating system, as do noise and `generator`.
    `signer` is set if agents sign what others pass on. `cohort` holds the agents of this process.
    """

    rank: int
    agents: int
    arms: int
    parameters: Any
    variant: Any
    neighbours: tuple[int, ...]
    knowledge: dict[str, Any]
    noise: Noise
    generator: Callable[[Purpose], np.random.Generator]
    secret: Callable[[Purpose], bytes]
    cohort: Cohort
    field: bool = False
    signer: Signer | None = None


@dataclass(frozen=True)
class CoordinatorContext:
    """What a coordinator's machine is built from.

    `on_missing`: what the run file says about the loss of an agent.
    """

    agents: int
    arms: int
    parameters: Any
    variant: Any
    knowledge: dict[str, Any]
    generator: Callable[[Purpose], np.random.Generator]
    field: bool = False
    signer: Signer | None = None
    on_missing: OnMissing = "end"
