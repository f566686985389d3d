"""A system for benchmarks only: in every slot each agent sends a frame to all its neighbours."""

from dataclasses import dataclass, field

from posse.claims.base import unprotected
from posse.spec.runfile import RunSpec
from posse.systems.base import System
from posse.systems.context import AgentContext
from posse.systems.network import Network, along
from posse.systems.shapes import AgentRole, Mesh, Wiring
from protocol.errors import RemoteProtocolError
from protocol.machine import AgentEffects, AgentEvent, Finish, Parameters, Received, Send, Started
from protocol.wire import Message


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
    """Goes on to the next slot when it has this slot's frame from every neighbour."""

    neighbours: tuple[int, ...]
    data: bytes
    slots: int
    slot: int = 0
    heard: dict[int, int] = field(default_factory=dict)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """See `protocol.machine.AgentMachine`."""
        match event:
            case Started():
                return self._send()
            case Received(_, MeshFrame(slot, _)):
                self.heard[slot] = self.heard.get(slot, 0) + 1
                if self.heard.get(self.slot, 0) < len(self.neighbours):
                    return []
                del self.heard[self.slot]
                self.slot += 1
                return self._send() if self.slot < self.slots else [Finish("done")]
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _send(self) -> AgentEffects:
        frame = MeshFrame(self.slot, self.data)
        return [Send(n, frame) for n in self.neighbours]


def _network(spec: RunSpec, parameters: MeshParameters, run: int) -> Network:
    return along(spec.graph(run))


def _agent(context: AgentContext) -> MeshAgent:
    p: MeshParameters = context.parameters
    return MeshAgent(context.neighbours, bytes(p.size), p.slots)


MESH = System(
    name="bench-mesh",
    title="a frame per link and slot, for benchmarks",
    paper="none",
    parameters=MeshParameters,
    clocks=("slots",),
    shape=Mesh(AgentRole(_agent, (MeshFrame,)), Wiring(_network)),
    claim=unprotected(""),
)
