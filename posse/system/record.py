"""The record of a system: its shape, parameters, claim and theory."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from posse.arms import GaussianArms
from posse.protocol import control
from posse.protocol.machine import OnMissing, Parameters
from posse.protocol.message import Message
from posse.protocol.wire import Codec
from posse.results.base import PLAIN, Results
from posse.spec.runfile import Clock, RunSpec
from posse.system.bounds import DEVIATION, Theory, undrawn
from posse.system.claims import Claiming
from posse.system.reading import MessageReader
from posse.system.shapes import AgentRole, ServerRole, Shape, SharedArms, Wiring
from posse.system.steps import MakeSteps, Stepped

End = Literal["answer", "bare", "nothing"]


@dataclass(frozen=True)
class Field:
    """The system may run on real rewards.

    All its noise comes from `Noise.noisy`, and rewards affect only what is sent. `end` is what an
    agent says at its end: its "answer", if that follows from what it sent or the claim covers it;
    "bare", only that it ended; "nothing", if the time alone would tell too much. `safer` has
    defaults for the field that differ from the paper's.
    """

    end: End = "answer"
    safer: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class LabOnly:
    """The system must not run on real rewards; `why` continues a sentence after its name."""

    why: str = "has noise or messages that are not made for real rewards"


@dataclass(frozen=True)
class UnitInterval:
    """The system protects only rewards in [0, 1].

    `unless_printed`: in the lab the printed variant also runs on unbounded rewards, as in the
    paper's own experiments; its claim does not hold then.
    """

    unless_printed: bool = False


@dataclass(frozen=True)
class Loss:
    """What follows when an agent is lost: `default`, unless the run file sets `on_missing`.

    `effect`: what going on does to the answer and to the claims, in a sentence; empty if the
    machines cannot go on. Machines that can are told `PeerLost`.
    `waits`: the server waits for every agent, so one whose rewards are used up is lost to it, as it
    always is to neighbours. Otherwise the server is told `PeerFinished`.
    """

    effect: str = ""
    default: OnMissing = "end"
    waits: bool = False


ALONE = Loss(
    "Agents are alone: the missing have no answer, and the others' is what it would have been.",
    "continue",
)
"""The loss where agents exchange no messages."""


NO_THEORY = undrawn("")
"""The bound of a system without theory."""


def advise_deviation(spec: RunSpec, parameters: Any) -> list[str]:
    """Advise if rewards spread wider than confidence radii assume.

    Radii assume 1/2-subgaussian rewards, as in [0, 1], or of deviation `sigma` if the system has
    that parameter.
    """
    arms, most = spec.arms, getattr(parameters, "sigma", DEVIATION)
    if not isinstance(arms, GaussianArms) or arms.clip is not None or arms.sd <= most:
        return []
    way = " or raise parameters.sigma" if hasattr(parameters, "sigma") else ", or set arms.clip"
    return [
        f"arms.sd is {arms.sd:g}: confidence radii assume rewards of deviation {most:g} at most, "
        f"so arms are told apart too soon, and wrongly; lower arms.sd{way}"
    ]


@dataclass(frozen=True, kw_only=True)
class System:
    """One algorithm with all that posse knows of it.

    - `clocks`: its clocks in the lab, the default first; "virtual" only without neighbours
    - `shape`: who takes part, who hears whom, and whose the arms are
    - `field`: whether it may run on real rewards
    - `claim`: what it protects, from whom, and by what number
    - `loss`: what follows when an agent is lost
    - `unit_interval`: set if it protects only rewards in [0, 1]
    - `sleeping`: its agents pull only arms that `context.open` names, so arms may be closed
    - `one_form`: the paper's form needs no correction, so both variants are the same
    - `check`: raises `SpecError` for what types cannot catch (N < M, …)
    - `advise`: sentences about settings that are allowed but probably not meant
    - `bound`: what theory says about run number `run`, for the report
    - `results`: how a run's record is completed and summarised
    - `reader`: how an audit reads its messages; needed only if their fields do not say all
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
    sleeping: bool = False
    one_form: bool = False
    check: Callable[[RunSpec, Any], None] = lambda spec, parameters: None
    advise: Callable[[RunSpec, Any], list[str]] = lambda spec, parameters: []
    bound: Theory = NO_THEORY
    results: Results = PLAIN
    reader: type[MessageReader] = MessageReader

    def __post_init__(self) -> None:
        if not isinstance(self.shape, get_args(Shape)):
            known = ", ".join(kind.__name__ for kind in get_args(Shape))
            raise TypeError(f"shape = {self.shape!r:.80}: must be one of {known}")
        clocks = get_args(Clock)
        if not self.clocks or not set(self.clocks) <= set(clocks):
            raise ValueError(f"clocks = {self.clocks!r}: must be some of {clocks}")
        if "virtual" in self.clocks and self.wiring is not None:
            raise ValueError(
                f"clocks = {self.clocks!r}: agents with neighbours cannot run by 'virtual'"
            )
        kind = self.parameters
        if not (isinstance(kind, type) and issubclass(kind, Parameters)):
            raise TypeError(f"parameters = {kind!r}: must be a class derived from Parameters")
        if not callable(self.claim):
            raise TypeError(f"claim = {self.claim!r}: must be callable, as `unprotected('…')` is")
        for name in ("check", "advise", "bound"):
            if not callable(rule := getattr(self, name)):
                raise TypeError(f"{name} = {rule!r:.80}: must be a function")

    @property
    def agent(self) -> AgentRole:
        """The role of an agent."""
        return self.shape.agent

    @property
    def steps(self) -> MakeSteps | None:
        """Makes the equal of the agents' machines for the lab; None where none is `Stepped`."""
        make = self.agent.make
        return make.steps if isinstance(make, Stepped) else None

    @functools.cached_property
    def agents_codec(self) -> Codec:
        """The codec of the messages that an agent may be sent.

        It takes half a megabyte of memory; made before the fork, all agents share one.
        """
        return Codec(self.agent.hears + control.TO_AGENT)

    @property
    def server(self) -> ServerRole | None:
        """The role of the server; None if there is none."""
        return self.shape.server

    @property
    def server_hears(self) -> tuple[type[Message], ...]:
        """The messages that the server may be sent; empty if there is none."""
        return () if self.server is None else self.server.hears

    def make_reader(self, spec: RunSpec | None, parameters: Any) -> MessageReader:
        """How an audit reads the messages of one run; without a run file both are None."""
        return self.reader((*self.agent.hears, *self.server_hears), spec, parameters)

    @property
    def wiring(self) -> Wiring | None:
        """How agents are linked; None if they have no neighbours."""
        return self.shape.wiring

    @property
    def shares_arms(self) -> bool:
        """Whether all agents share one set of arms, which the server pulls."""
        return isinstance(self.shape, SharedArms)

    @property
    def waits(self) -> bool:
        """Whether others wait for every agent; one whose rewards are used up is lost to them."""
        return self.wiring is not None or self.loss.waits

    @property
    def broadcasts(self) -> bool:
        """Whether an agent sends the same to all its neighbours, never to just one."""
        return self.wiring is not None and self.wiring.broadcasts

    @property
    def untold(self) -> tuple[str, ...]:
        """The parameters that agents are not sent."""
        return () if self.wiring is None else self.wiring.untold

    @property
    def end(self) -> End:
        """What an agent in the field says at its end; see `Field`."""
        return self.field.end if isinstance(self.field, Field) else "answer"
