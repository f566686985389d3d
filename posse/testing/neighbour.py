"""Plays coordinator and neighbour to an agent of `ddp-mab` that shares no code with posse.

The neighbour's machine is posse's own; what is played is its link, whose numbers pass 2^32, and
which loses, repeats and moves.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import zmq

from posse.agent.host import AgentHost
from posse.coordinator.setups import agent_setups
from posse.hosts.effects import SendFrame
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.wire import Codec, encode, kind_of, read_header
from posse.security import keys as key_files
from posse.security.zap import connect_with, serve_with
from posse.testing.played import ForeignChecks, PlayedCoordinator, Silent, WireSentence
from posse.wire.session import ENVELOPE_BYTES, enveloped, is_numbered
from posse.wire.sockets import bound
from posse.wire.sources import of_this_machine

PLAN: dict[str, Any] = {
    "system": "ddp-mab",
    "agents": {"count": 2},
    "arms": {"kind": "bernoulli", "means": [1.0, 0.0, 1.0]},
    "parameters": {"horizon": 20_000, "epsilon": 1e9},
    "topology": {"kind": "complete"},
}
"""Two arms are equally good, so that there are as many rounds as fit into the horizon."""

FIRST = (1 << 32) - 2

_MASK = (1 << 32) - 1
_WAIT, _QUIET = 10.0, 1.0


class _Link:
    """The neighbour's end of its link to the agent, of rank 1."""

    def __init__(self, at: PlayedCoordinator, folder: Path | None) -> None:
        self._at = at
        self._keys = key_files.for_agent(folder, 1) if folder else None
        host = at.endpoint.removeprefix("tcp://").rpartition(":")[0]
        self._host = "127.0.0.1" if host in ("*", "0.0.0.0", "") else host
        self.taken = self.sent = FIRST
        self._kept: list[bytes] = []
        self._inbox = self._bound()
        self._out: zmq.Socket[bytes] | None = None

    @property
    def key(self) -> str:
        """Its public key; "" without keys."""
        return self._keys.own.public if self._keys else ""

    def _bound(self) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self._at.context.socket(zmq.PULL)
        socket.linger = 0
        if self._keys is not None:
            serve_with(socket, self._keys.own.secret)
        self.inbox = bound(socket, f"tcp://{self._host}:*")
        return socket

    def reaches(self, inbox: str, pair: tuple[str, str] | None = None) -> bool:
        """Whether a connection to the agent's inbox comes up, with these keys or its own."""
        out: zmq.Socket[bytes] = self._at.context.socket(zmq.PUSH)
        out.linger, out.immediate = 0, 1
        if self._at.keys is not None and (pair or self._keys):
            own = self._keys.own if self._keys else None
            public, secret = pair or (own.public, own.secret) if own else pair or ("", "")
            connect_with(out, public, secret, self._at.keys.agents[0])
        out.connect(inbox)
        up = bool(out.poll(int(1000 * (_QUIET if pair else _WAIT)), zmq.POLLOUT))
        if pair or not up:
            out.close()
        else:
            self._out = out
        return up

    def move(self) -> None:
        """Be at another inbox."""
        before, self._inbox = self._inbox, self._bound()
        before.close()

    def close(self) -> None:
        """Close both ends."""
        self._inbox.close()
        if self._out is not None:
            self._out.close()

    def keep(self, frame: bytes) -> None:
        """Number a frame, and keep it."""
        self.sent = (self.sent + 1) & _MASK
        self._kept.append(enveloped(frame, self.sent, self.taken))

    def post(self, last: int = 0) -> None:
        """Send what is kept, or its last frames, each twice."""
        assert self._out is not None
        for data in self._kept[-last:]:
            self._out.send(data)
            self._out.send(data)

    def ask(self) -> None:
        """Ask the agent how far it is."""
        assert self._out is not None
        code = int.from_bytes(b"pn\x01P", "little")
        bare = enveloped(b"", self.sent, self.taken, code)
        self._out.send(bare + bytes(8) + (1).to_bytes(4, "little"))

    def hear(self, seconds: float) -> tuple[str, int, int, bytes] | None:
        """Mark, number, what is confirmed, and what follows, of the next envelope that comes."""
        if not self._inbox.poll(int(1000 * seconds)):
            return None
        data = self._inbox.recv()
        if not is_numbered(data) or len(data) <= ENVELOPE_BYTES:
            raise Silent(f"its neighbour got {data[:24]!r}, which is no envelope of an agent")
        number, confirmed = (int.from_bytes(data[k : k + 4], "little") for k in (4, 8))
        return chr(data[3]), number, confirmed, data[ENVELOPE_BYTES:]

    def frame(self) -> bytes:
        """The next frame in order; those that came before are dropped."""
        until = time.monotonic() + _WAIT
        wanted = (self.taken + 1) & _MASK
        while time.monotonic() < until:
            if (heard := self.hear(0.05)) and heard[0] == "F" and heard[1] == wanted:
                return heard[3]
            if heard and heard[0] == "F" and (heard[1] - wanted) & _MASK < 1 << 31:
                raise Silent(f"number {heard[1]} came to its neighbour where {wanted} was awaited")
        raise Silent(f"its neighbour got no frame of number {wanted}")


class NeighbourChecks(ForeignChecks):
    """What is asked of an agent of `ddp-mab`."""

    def __init__(self, at: PlayedCoordinator, wait: float, keys: Path | None) -> None:
        super().__init__(at, wait, keys)
        self._link = _Link(at, keys)
        self._attested: list[control.Attested] = []
        self._neighbour: AgentHost | None = None

    def __iter__(self) -> Iterator[WireSentence]:
        yield from super().__iter__()
        yield "a neighbour's connection to its inbox comes up", self.listens
        if self.keys:
            yield "its inbox admits only the keys that Configure named", self.admits
        yield "between agents the first number is that after first", self.numbers
        yield "after Moved it sends what is kept to the other inbox", self.follows
        yield "a neighbour's lost frame is asked for by A, with its rank", self.asks
        yield "after 2^32 - 1 comes 0, both ways; it plays as ours does", self.plays
        yield "its report can be true, and has nothing refused", self.tells
        yield "Goodbye is confirmed", self.leaves

    def close(self) -> None:
        """Close the neighbour's sockets."""
        self._link.close()

    def is_ready(self) -> None:
        plan = self.at.plan
        inboxes = {0: self.inbox, 1: self._link.inbox}
        keys = {0: "", 1: self._link.key} if self.keys else None
        theirs, ours = agent_setups(plan, plan.network(0), inboxes, keys)
        self.at.setup = msgspec.structs.replace(theirs, first=FIRST)
        self._neighbour = AgentHost(ours, 1, of_this_machine(lambda: 0))
        super().is_ready()

    def listens(self) -> None:
        """Connect to its inbox."""
        if not self.inbox.startswith("tcp://"):
            raise Silent(f"its Arrived has the inbox {self.inbox!r:.60}")
        if not self._link.reaches(self.inbox):
            raise Silent(f"its inbox {self.inbox} takes no connection")

    def admits(self) -> None:
        """Connect with a key of nobody."""
        public, secret = (half.decode() for half in zmq.curve_keypair())
        if self._link.reaches(self.inbox, (public, secret)):
            raise Silent("its inbox lets in a key that is not its neighbour's")

    def numbers(self) -> None:
        """Begin a run, and wait for its first frame."""
        self.begins()
        assert self._neighbour is not None
        begin = encode(control.Begin(1, 0), 0, COORDINATOR, 0, 0.0, 0)
        self._neighbour.receive(COORDINATOR, begin)
        self._first = self._link.frame()

    def follows(self) -> None:
        """Move, and wait for that frame again."""
        self._link.move()
        self.at.say(control.Moved(1, self._link.inbox))
        if self._link.frame() != self._first:
            raise Silent("the frame came with other bytes")

    def asks(self) -> None:
        """Lose a frame, and ask for how far it is."""
        self._taken(self._first)
        self._link.ask()
        until = time.monotonic() + _WAIT
        while time.monotonic() < until:
            heard = self._link.hear(0.05)
            if heard and heard[0] == "A":
                if heard[2] != FIRST or heard[3] != bytes(12):
                    raise Silent(f"its A confirms {heard[2]}, and names {heard[3]!r}")
                break
        else:
            raise Silent("no A came")
        self._link.post()

    def _taken(self, frame: bytes) -> int:
        """Hand the neighbour a frame; how many it answers with."""
        assert self._neighbour is not None
        host, count = self._neighbour, 0
        self._link.taken = (self._link.taken + 1) & _MASK
        effects = [*host.receive(0, frame)]
        while host.busy:
            effects += host.step()
        for effect in effects:
            if not isinstance(effect, SendFrame):
                continue
            if effect.target == COORDINATOR:
                self._attested += _attested(effect.frame)
            else:
                self._link.keep(effect.frame)
                count += 1
        return count

    def plays(self) -> None:
        """Play the run to its end."""
        found: list[control.Attested] = []
        ended: control.Finished | None = None
        until = time.monotonic() + 6 * _WAIT
        while ended is None:
            if time.monotonic() > until:
                raise Silent(f"no Finished came; it attests {len(found)} rounds")
            heard = self._link.hear(0.02)
            wanted = "F", (self._link.taken + 1) & _MASK
            if heard and heard[:2] == wanted and (count := self._taken(heard[3])):
                self._link.post(count)
            match self.at.hear(0.001):
                case control.Attested() as attested:
                    found.append(attested)
                case control.Finished() as ended:
                    pass
        if self._link.taken > 1 << 31 or self._link.sent > 1 << 31:
            raise Silent(f"the run ended before the numbers passed 2^32: {self._link.taken}")
        if found != self._attested[: len(found)] or not found or ended.arm not in (0, 2):
            raise Silent(f"it attests {found}, where {self._attested} is right, and {ended.arm}")

    def tells(self) -> None:
        """Check its report."""
        if refused := self.reports().refused:
            raise Silent(f"it refused {refused}")


def _attested(frame: bytes) -> list[control.Attested]:
    """What the neighbour attests in a frame to its coordinator."""
    if kind_of(frame) != "Attested":
        return []
    message = Codec((control.Attested,)).decode(read_header(frame).plane, frame)
    return [message] if isinstance(message, control.Attested) else []
