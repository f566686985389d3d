"""What a system is: its shape, its parameters, what it claims, and what theory says of it."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from posse.claims.base import Claiming
from posse.results.base import PLAIN, Results
from posse.spec.runfile import Clock, RunSpec
from posse.systems.shapes import AgentRole, ServerRole, Shape, SharedArms, Wiring
from posse.theory.bounds import Theory, undrawn
from protocol import control
from protocol.machine import OnMissing, Parameters
from protocol.message import Message
from protocol.wire import Codec

End = Literal["answer", "bare", "nothing"]


@dataclass(frozen=True)
class Field:
    """A form for real rewards: all noise is by `Noise.noisy`, and what is sent is all that rewards
    decide.

    `end` is what an agent says of its end: its "answer", where that follows from what it sent or is
    covered by the claim; that it ended but not what it found ("bare"); "nothing" where the time
    alone would tell. `safer`: parameters whose default in the field is another than the paper's.
    """

    end: End = "answer"
    safer: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class LabOnly:
    """No form for real rewards; `why` continues a sentence that begins with the system's name."""

    why: str = "has noise or messages that are not made for real rewards"


@dataclass(frozen=True)
class UnitInterval:
    """Protection of rewards in [0, 1] only.

    `unless_printed`: in the lab the printed form also runs on rewards without a bound, as in the
    paper's own experiments; what it claims does not hold then.
    """

    unless_printed: bool = False


@dataclass(frozen=True)
class Loss:
    """What follows when an agent does not come back: `default`, unless the run file says another.

    `effect`: what going on without it does to the answer and to the claims, in a sentence; empty
    where the machines cannot go on. Those that can are told `PeerLost`.
    `waits`: the server waits for every agent, so that one whose rewards are used up is lost to it,
    too, as it always is to its neighbours; else the server is told `PeerFinished`.
    """

    effect: str = ""
    default: OnMissing = "end"
    waits: bool = False


ALONE = Loss(
    "Agents are alone: the missing have no answer, and the others' is what it would have been.",
    "continue",
)
"""Where nobody is sent anything."""


NO_THEORY = undrawn("")
"""Nothing is promised."""


@dataclass(frozen=True, kw_only=True)
class System:
    """One algorithm by name.

    - `clocks`: what it can run by in the lab, the first by default; `virtual`: without neighbours
    - `shape`: who is there, who hears whom, and whose the arms are
    - `field`: whether it may be given real rewards
    - `claim`: what it protects, from whom, and by what number
    - `loss`: what follows when an agent does not come back
    - `unit_interval`: its protection is for rewards in [0, 1] only
    - `one_form`: the print needs no correction: both variants are the same
    - `check`: raises `SpecError` for what the types cannot say (N < M, …)
    - `advise`: sentences about what is allowed and probably not meant
    - `bound`: what theory says about run number `run`, for the report
    - `results`: how a run's record is completed and said
    """

    name: str
    title: str
    paper: str
    parameters: type[Parameters]
    clocks: tuple[Clock, ...]
    shape: Shape
    claim: Claiming
    field: Field | LabOnly = LabOnly()
    loss: Loss = Loss()
    unit_interval: UnitInterval | None = None
    one_form: bool = False
    check: Callable[[RunSpec, Any], None] = lambda spec, parameters: None
    advise: Callable[[RunSpec, Any], list[str]] = lambda spec, parameters: []
    bound: Theory = NO_THEORY
    results: Results = PLAIN

    def __post_init__(self) -> None:
        known = get_args(Clock)
        if not self.clocks or not set(self.clocks) <= set(known):
            raise ValueError(f"clocks = {self.clocks!r}: must be some of {known}")
        if "virtual" in self.clocks and self.wiring is not None:
            raise ValueError(
                f"clocks = {self.clocks!r}: agents with neighbours cannot run by 'virtual'"
            )
        kind = self.parameters
        if not (isinstance(kind, type) and issubclass(kind, Parameters)):
            raise TypeError(f"parameters = {kind!r}: must be a class derived from Parameters")
        if not callable(self.claim):
            raise TypeError(f"claim = {self.claim!r}: must be callable, as `unprotected('…')` is")

    @property
    def agent(self) -> AgentRole:
        """What an agent is."""
        return self.shape.agent

    @functools.cached_property
    def agents_codec(self) -> Codec:
        """What an agent may be sent.

        Making it costs half a megabyte of fresh memory; made before the fork, all agents share one.
        """
        return Codec(self.agent.hears + control.TO_AGENT)

    @property
    def server(self) -> ServerRole | None:
        """What the server is, where there is one."""
        return self.shape.server

    @property
    def server_hears(self) -> tuple[type[Message], ...]:
        """The messages that the server may be sent; none where there is no server."""
        return () if self.server is None else self.server.hears

    @property
    def wiring(self) -> Wiring | None:
        """How agents are linked, where they are."""
        return self.shape.wiring

    @property
    def shares_arms(self) -> bool:
        """Whether all agents share one set of arms, which is the server's to pull."""
        return isinstance(self.shape, SharedArms)

    @property
    def waits(self) -> bool:
        """Whether others wait for every agent: one whose rewards are used up is lost to them."""
        return self.wiring is not None or self.loss.waits

    @property
    def broadcasts(self) -> bool:
        """Whether an agent says the same to all its neighbours, never something to one."""
        return self.wiring is not None and self.wiring.broadcasts

    @property
    def untold(self) -> tuple[str, ...]:
        """The parameters that agents are not sent."""
        return () if self.wiring is None else self.wiring.untold

    @property
    def end(self) -> End:
        """What an agent in the field says of its end."""
        return self.field.end if isinstance(self.field, Field) else "answer"
