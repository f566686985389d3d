"""Systems for benchmarks only: every agent sends a frame, waits for its answer, sends the next; or
all are told the same, and answer.
"""

from dataclasses import dataclass, field, replace

from posse.claims.base import unprotected
from posse.systems.base import System
from posse.systems.context import AgentContext, CoordinatorContext
from posse.systems.shapes import AgentRole, ServerRole, Star
from protocol.errors import RemoteProtocolError
from protocol.machine import (
    COORDINATOR,
    AgentEffects,
    AgentEvent,
    Broadcast,
    Finish,
    Parameters,
    PeerFinished,
    Received,
    Send,
    ServerEffects,
    ServerEvent,
    Started,
)
from protocol.wire import Message


class EchoRequest(Message, frozen=True):
    """Agent to coordinator."""

    data: bytes


class EchoReply(Message, frozen=True):
    """Coordinator to agent."""

    data: bytes


class EchoParameters(Parameters, frozen=True, kw_only=True):
    """`messages` requests per agent of `size` bytes of data each."""

    messages: int
    size: int


@dataclass(slots=True)
class EchoAgent:
    """Sends a request, waits for the reply, sends the next."""

    size: int
    left: int

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """See `protocol.machine.AgentMachine`."""
        match event:
            case Started():
                pass
            case Received(_, EchoReply()):
                self.left -= 1
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)
        if self.left == 0:
            return [Finish("done")]
        return [Send(COORDINATOR, EchoRequest(bytes(self.size)))]


@dataclass(slots=True)
class EchoServer:
    """Answers each request with as many bytes; done when every agent is."""

    agents: int
    done: int = 0

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """See `protocol.machine.ServerMachine`."""
        match event:
            case Received(sender, EchoRequest(data)):
                return [Send(sender, EchoReply(data))]
            case PeerFinished():
                self.done += 1
                return [Finish("finished")] if self.done == self.agents else []
            case _:
                return []


def _agent(context: AgentContext) -> EchoAgent:
    return EchoAgent(context.parameters.size, context.parameters.messages)


def _server(context: CoordinatorContext) -> EchoServer:
    return EchoServer(context.agents)


ECHO = System(
    name="bench-echo",
    title="request and reply, for benchmarks",
    paper="none",
    parameters=EchoParameters,
    clocks=("wall",),
    shape=Star(AgentRole(_agent, (EchoReply,)), ServerRole(_server, (EchoRequest,))),
    claim=unprotected(""),
)


class GatherParameters(Parameters, frozen=True, kw_only=True):
    """`rounds` of `told` bytes to each agent and `answer` bytes from each."""

    rounds: int
    told: int
    answer: int


@dataclass(slots=True)
class GatherAgent:
    """Answers."""

    size: int

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """See `protocol.machine.AgentMachine`."""
        told = isinstance(event, Received)
        return [Send(COORDINATOR, EchoRequest(bytes(self.size)))] if told else []


@dataclass(slots=True)
class GatherServer:
    """Tells all, and again when all have answered."""

    agents: int
    data: bytes
    left: int
    waiting: set[int] = field(default_factory=set)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """See `protocol.machine.ServerMachine`."""
        if isinstance(event, Received):
            self.waiting.remove(event.sender)
            self.left -= not self.waiting
        if self.waiting or not isinstance(event, Started | Received):
            return []
        self.waiting = set(range(self.agents))
        return [Broadcast(EchoReply(self.data)) if self.left else Finish("done")]


def _answers(context: AgentContext) -> GatherAgent:
    return GatherAgent(context.parameters.answer)


def _tells(context: CoordinatorContext) -> GatherServer:
    p: GatherParameters = context.parameters
    return GatherServer(context.agents, bytes(p.told), p.rounds)


GATHER = replace(
    ECHO,
    name="bench-gather",
    title="broadcast and gather, for benchmarks",
    parameters=GatherParameters,
    shape=Star(AgentRole(_answers, (EchoReply,)), ServerRole(_tells, (EchoRequest,))),
)
