"""Systems for benchmarks only.

ECHO: every agent sends a frame, waits for its answer, sends the next. MESH: in every slot each
agent sends a frame to all its neighbours.
"""

from dataclasses import dataclass, field

from posse.extend import (
    COORDINATOR,
    AgentEffects,
    AgentEvent,
    AgentRole,
    Broadcast,
    Finish,
    Mesh,
    Message,
    Parameters,
    PeerFinished,
    Received,
    Send,
    ServerEffects,
    ServerEvent,
    ServerRole,
    Star,
    System,
    Wiring,
    along,
    unprotected,
)
from posse.system.context import making


class Request(Message, frozen=True):
    """Agent to coordinator."""

    data: bytes


class Reply(Message, frozen=True):
    """Coordinator to agent."""

    data: bytes


class EchoParameters(Parameters, frozen=True, kw_only=True):
    """`messages` requests per agent, with `size` bytes of data each.

    `told`: the coordinator answers all agents at once with this many bytes, when all have sent.
    """

    messages: int
    size: int
    told: int | None = None


@dataclass(slots=True)
class EchoAgent:
    size: int
    messages: int

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        if type(event) is Received:
            self.messages -= 1
        if self.messages == 0:
            return [Finish("done")]
        return [Send(COORDINATOR, Request(bytes(self.size)))]


@dataclass(slots=True)
class EchoServer:
    agents: int
    told: int | None
    heard: int = 0
    done: int = 0

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        if type(event) is Received and type(event.message) is Request:
            if self.told is None:
                return [Send(event.sender, Reply(event.message.data))]
            self.heard = (self.heard + 1) % self.agents
            return [] if self.heard else [Broadcast(Reply(bytes(self.told)))]
        if type(event) is PeerFinished:
            self.done += 1
            return [Finish("finished")] if self.done == self.agents else []
        return []


ECHO = System(
    name="bench-echo",
    title="request and reply, for benchmarks",
    paper="none",
    parameters=EchoParameters,
    clocks=("wall",),
    shape=Star(AgentRole(making(EchoAgent), (Reply,)), ServerRole(making(EchoServer), (Request,))),
    claim=unprotected(""),
)


class MeshFrame(Message, frozen=True):
    """Neighbour to neighbour."""

    slot: int
    data: bytes


class MeshParameters(Parameters, frozen=True, kw_only=True):
    """`slots` of `size` bytes of data per link and direction."""

    slots: int
    size: int


@dataclass(slots=True)
class MeshAgent:
    neighbours: tuple[int, ...]
    size: int
    slots: int
    slot: int = 0
    heard: dict[int, int] = field(default_factory=dict)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        if type(event) is Received and type(event.message) is MeshFrame:
            slot = event.message.slot
            self.heard[slot] = self.heard.get(slot, 0) + 1
            if self.heard.get(self.slot, 0) < len(self.neighbours):
                return []
            del self.heard[self.slot]
            self.slot += 1
        if self.slot == self.slots:
            return [Finish("done")]
        frame = MeshFrame(self.slot, bytes(self.size))
        return [Send(n, frame) for n in self.neighbours]


MESH = System(
    name="bench-mesh",
    title="a frame per link and slot, for benchmarks",
    paper="none",
    parameters=MeshParameters,
    clocks=("slots",),
    shape=Mesh(
        AgentRole(making(MeshAgent), (MeshFrame,)),
        Wiring(lambda spec, parameters, run: along(spec.graph(run))),
    ),
    claim=unprotected(""),
)
