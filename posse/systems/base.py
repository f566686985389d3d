"""What a system is: a pair of machines, their messages and parameters, and what it claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from agent.noise import Noise
from posse.results.base import PLAIN, Results
from posse.seeds import Purpose
from posse.spec.runfile import Clock, RunSpec
from posse.systems.network import Network, no_network
from posse.theory.bounds import Bound
from protocol.machine import AgentMachine, Parameters, ServerMachine
from protocol.privacy import Claim
from protocol.wire import Message

End = Literal["answer", "bare", "nothing"]


@dataclass(frozen=True)
class AgentContext:
    """What an agent's machine is built from.

    `neighbours` are names, never the graph; `knowledge` is what the system's `know` gave this
    agent of the topology (its next hop to a sink, the delay to wait). `secret` gives 32 bytes for a
    key. In the `field` it is the operating system's, and so are noise and `generator`.
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
    field: bool = False


@dataclass(frozen=True)
class CoordinatorContext:
    """What a coordinator's machine is built from."""

    agents: int
    arms: int
    parameters: Any
    variant: Any
    knowledge: dict[str, Any]
    generator: Callable[[Purpose], np.random.Generator]


def no_check(spec: RunSpec, parameters: Any) -> None:
    """Nothing to check beyond the types."""


def no_advice(spec: RunSpec, parameters: Any) -> list[str]:
    """Nothing to warn of."""
    return []


def no_bound(spec: RunSpec, parameters: Any, run: int) -> Bound:
    """Nothing is promised."""
    return Bound(note="")


@dataclass(frozen=True, kw_only=True)
class System:
    """One algorithm by name.

    `clocks`      what it can run by in the lab; the first is the default
    `agent`, `coordinator`  make the machines; no coordinator where the system has no server
    `has_topology`  agents talk to each other, along the edges of `[topology]`; `components` says
                  that its graph may fall apart
    `broadcasts`  among neighbours an agent says the same to all, never something to one of them
    `check`       raises `SpecError` for what the types cannot say (N < M, …)
    `outlives_agents`  its server's machine goes on, or ends in order, when an agent's process dies
    `shared_arms` all agents share one set of arms, which is the coordinator's machine's to pull
    `field`       whether it has a form for real rewards: all its noise is by `Noise.noisy`, and
                  what it sends is all that its rewards decide
    `lab_only`    where it has none: why, for a sentence that begins with its name
    `unbounded_as_printed`  in the lab the printed form also runs on rewards without a bound, as in
                  the paper's own experiments; what it claims does not hold then
    `end`         what an agent in the field says of its end: its "answer", where that follows from
                  what it sent or is covered by the claim; that it ended but not what it found
                  ("bare"); "nothing" where the time alone would tell
    `bound`       what theory says about run number `run`, for the report
    `one_form`    the print needs no correction: both variants are the same
    `advise`      sentences about what is allowed and probably not meant
    `network`     lays out who hears whom
    `regret_against`  the means that `regret` is measured against: the "average" over the agents
                  (`regret_local` then is against each agent's own), or each agent's "own"
    `untold`      parameters that agents are not sent; what one of them must know of these is in
                  the `knowledge` that `network` gives it
    `results`     how a run's record is completed and said
    """

    name: str
    title: str
    paper: str
    parameters: type[Parameters]
    clocks: tuple[Clock, ...]
    agent: Callable[[AgentContext], AgentMachine]
    coordinator: Callable[[CoordinatorContext], ServerMachine] | None
    to_agent: tuple[type[Message], ...]
    to_coordinator: tuple[type[Message], ...]
    claim: Callable[[Any, Any], Claim | None]
    needs_unit_interval: bool = False
    unbounded_as_printed: bool = False
    has_topology: bool = False
    components: bool = False
    broadcasts: bool = False
    outlives_agents: bool = False
    shared_arms: bool = False
    field: bool = False
    lab_only: str = ""
    end: End = "answer"
    one_form: bool = False
    regret_against: Literal["average", "own"] = "average"
    check: Callable[[RunSpec, Any], None] = no_check
    advise: Callable[[RunSpec, Any], list[str]] = no_advice
    network: Callable[[RunSpec, Any, int], Network] = no_network
    untold: tuple[str, ...] = ()
    results: Results = PLAIN
    bound: Callable[[RunSpec, Any, int], Bound] = no_bound
