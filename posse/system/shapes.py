"""The five shapes of a system: who takes part, who hears whom, and whose the arms are.

    Alone           agents by themselves
    Star            agents and a server
    Mesh            agents and their neighbours
    MeshWithServer  agents, their neighbours and a server
    SharedArms      agents and a server that pulls the one set of arms they all share

In the first four every agent pulls its own arms.
"""

from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from posse.protocol.errors import WORD
from posse.protocol.machine import AgentMachine, ServerMachine
from posse.protocol.message import Message, kind_name
from posse.protocol.noise import Noise
from posse.spec.runfile import RunSpec
from posse.system.context import AgentContext, CoordinatorContext
from posse.system.network import Network
from posse.topologies.graphs import Graph


@dataclass(frozen=True)
class AgentRole:
    """The role of an agent: `make` builds its machine, `hears` are the messages it may be sent.

    `signs`: others pass on some of its messages, so it signs them if agents have keys. `load`
    imports what the parameters need, so that no run of the field waits for it.
    """

    make: Callable[[AgentContext], AgentMachine]
    hears: tuple[type[Message], ...] = ()
    signs: bool = False
    load: Callable[[Any, Noise], None] | None = None

    def __post_init__(self) -> None:
        _require_maker(self.make)
        _require_messages(self.hears)


@dataclass(frozen=True)
class ServerRole:
    """The role of the server: `make` builds its machine, `hears` are the messages it may get."""

    make: Callable[[CoordinatorContext], ServerMachine]
    hears: tuple[type[Message], ...]

    def __post_init__(self) -> None:
        _require_maker(self.make)
        _require_messages(self.hears)


def _require_maker(make: object) -> None:
    if not callable(make):
        raise TypeError(f"make = {make!r:.80}: must be a function that makes a machine")


def _require_messages(hears: object) -> None:
    if not isinstance(hears, tuple) or not all(
        isinstance(kind, type) and issubclass(kind, Message) for kind in hears
    ):
        raise TypeError(f"hears = {hears!r}: must be a tuple of classes of messages")
    for kind in hears:
        if not WORD.fullmatch(kind_name(kind)):
            raise TypeError(
                f"the message {kind.__name__} is counted by its name: up to 64 letters (a to z, "
                "A to Z), digits and _"
            )


@dataclass(frozen=True)
class Wiring:
    """How agents are linked along the edges of `[topology]`.

    - `network(spec, parameters, run)`: the links of one run and what each agent is told of them;
      `along(spec.graph(run))` has the links of `[topology]`. In the field agents compute it too,
      and compare
    - `components`: the graph may be disconnected
    - `broadcasts`: an agent sends the same to all neighbours, never to just one
    - `untold`: parameters that agents are not sent; `network` tells each agent its part
    - `told`: the type of what `network` tells an agent, which refuses all else
    - `regroup(graph, present)`: the network after losses, if agents must agree on who takes part;
      it tells each the `members`
    """

    network: Callable[[RunSpec, Any, int], Network]
    _: KW_ONLY
    components: bool = False
    broadcasts: bool = False
    untold: tuple[str, ...] = ()
    regroup: Callable[[Graph, Collection[int]], Network] | None = None
    told: Any = dict[str, Any]

    def __post_init__(self) -> None:
        if not callable(self.network):
            raise TypeError(
                f"network = {self.network!r:.80}: must be a function of run file, parameters, run"
            )


@dataclass(frozen=True)
class _Parts:
    """A shape whose parts are of their kinds, else `TypeError`."""

    def __post_init__(self) -> None:
        for name, kind in {"agent": AgentRole, "wiring": Wiring, "server": ServerRole}.items():
            if name in self.__dict__ and not isinstance(part := getattr(self, name), kind):
                raise TypeError(f"{name} = {part!r:.80}: must be of type {kind.__name__}")


@dataclass(frozen=True, kw_only=True)
class _OwnArms(_Parts):
    """Every agent pulls its own arms.

    `regret_against`: `regret` is against the means averaged over the agents ("average", with
    `regret_local` against each agent's own) or against each agent's "own".
    """

    regret_against: Literal["average", "own"] = "average"


@dataclass(frozen=True)
class Alone(_OwnArms):
    """Agents by themselves, without messages."""

    make: Callable[[AgentContext], AgentMachine]
    server: ClassVar[None] = None
    wiring: ClassVar[None] = None

    def __post_init__(self) -> None:
        if isinstance(self.make, AgentRole):
            raise TypeError("an agent alone has no role: write Alone(make), without AgentRole")
        _require_maker(self.make)

    @property
    def agent(self) -> AgentRole:
        """An agent that hears nobody."""
        return AgentRole(self.make)


@dataclass(frozen=True)
class Star(_OwnArms):
    """Agents and a server."""

    agent: AgentRole
    server: ServerRole
    wiring: ClassVar[None] = None


@dataclass(frozen=True)
class Mesh(_OwnArms):
    """Agents and their neighbours."""

    agent: AgentRole
    wiring: Wiring
    server: ClassVar[None] = None


@dataclass(frozen=True)
class MeshWithServer(_OwnArms):
    """Agents, their neighbours and a server."""

    agent: AgentRole
    wiring: Wiring
    server: ServerRole


@dataclass(frozen=True)
class SharedArms(_Parts):
    """Agents and a server that pulls the one set of arms they all share."""

    agent: AgentRole
    server: ServerRole
    wiring: ClassVar[None] = None
    regret_against: ClassVar[Literal["average"]] = "average"


Shape = Alone | Star | Mesh | MeshWithServer | SharedArms
