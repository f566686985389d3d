"""Our star against the same traffic over bare blocking ROUTER and DEALER sockets.

Both move the same frames: each of N processes sends a request of the same number of bytes, waits
for the reply, sends the next. Ours goes through the hosts, the codec, the meters and the machines;
the bare one hands bytes to pyzmq and looks at nothing. Rounds of both alternate, so that whatever
else the machine does meets both.
"""

import gc
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import zmq

from bench.tables import hold, show, spread
from posse.engines.processes import ProcessEngine
from posse.plan import prepare
from protocol.wire import HEADER

MESSAGES = 32_000
"""Requests of all agents together, in a round."""
SIZE = 96
ROUNDS = 9
BARS = {8: 0.75, 64: 0.7}
"""By the number of agents."""


@dataclass(frozen=True)
class Figure:
    """What one round cost: requests and replies, seconds from first to last, processor seconds."""

    messages: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    @property
    def cpu_us(self) -> float:
        return 1e6 * self.cpu / self.messages


def _fork(body: Callable[..., object], *arguments: object) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            body(*arguments)
            code = 0
        finally:
            os._exit(code)
    return pid


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class OurStar:
    """Real hosts, hub and agent processes, as `posse run` starts them, up until closed."""

    def __init__(self, agents: int, messages: int, size: int) -> None:
        self._plan = prepare(
            {
                "system": "bench.echo:ECHO",
                "agents": {"count": agents},
                "arms": {"kind": "bernoulli", "means": [0.5, 0.4]},
                "parameters": {"messages": messages, "size": size},
            }
        )
        self._engine = ProcessEngine(self._plan)
        self._engine.__enter__()
        self._number = 0
        self.frame = 0

    def run(self) -> Figure:
        began = time.process_time()
        record = self._engine.run(self._plan, self._number)
        own = time.process_time() - began
        self._number += 1
        data = record.communication.data
        self.frame = data.kinds["EchoRequest"].frame_bytes // (data.messages // 2)
        assert record.resources is not None
        assert record.elapsed_seconds is not None
        agents = sum(record.resources.cpu_seconds_per_agent)
        return Figure(data.messages, record.elapsed_seconds, own + agents)

    def close(self) -> None:
        self._engine.close()


def _bare_agent(endpoint: str, messages: int, frame: bytes) -> None:
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.connect(endpoint)
    socket.send(b"here")
    socket.recv()
    for _ in range(messages):
        socket.send(frame)
        socket.recv()
    socket.close()
    context.term()


def bare(agents: int, messages: int, size: int) -> Figure:
    """The same frames over bare blocking sockets; agents' start and end not counted in seconds."""
    frame = bytes(size)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        endpoint = f"ipc://{Path(folder) / 'hub'}"
        children = _children_cpu()
        pids = [_fork(_bare_agent, endpoint, messages, frame) for _ in range(agents)]
        context = zmq.Context()
        socket = context.socket(zmq.ROUTER)
        socket.bind(endpoint)
        peers = [socket.recv_multipart()[0] for _ in range(agents)]
        own, began = time.process_time(), time.perf_counter()
        for peer in peers:
            socket.send_multipart((peer, b"go"))
        for _ in range(agents * messages):
            peer, data = socket.recv_multipart()
            socket.send_multipart((peer, data))
        seconds, own = time.perf_counter() - began, time.process_time() - own
        for pid in pids:
            os.waitpid(pid, 0)
        socket.close()
        context.term()
        return Figure(2 * agents * messages, seconds, own + _children_cpu() - children)


def compare(agents: int, bar: float) -> None:
    ours: list[Figure] = []
    theirs: list[Figure] = []
    messages = MESSAGES // agents
    star = OurStar(agents, messages, SIZE)
    try:
        star.run()  # warm
        for _ in range(ROUNDS):
            ours.append(star.run())
            theirs.append(bare(agents, messages, star.frame))
    finally:
        star.close()
    show(
        f"star: {agents} processes, {messages} requests each, frames of {star.frame} bytes "
        f"({HEADER.size} of them header), {ROUNDS} rounds: median (least-greatest)",
        ["", "messages/s", "CPU us/message"],
        [
            [
                name,
                spread([f.rate for f in figures], "{:,.0f}"),
                spread([f.cpu_us for f in figures], "{:.1f}"),
            ]
            for name, figures in (("posse", ours), ("bare pyzmq", theirs))
        ],
    )
    pairs = list(zip(ours, theirs, strict=True))
    rates = [a.rate / b.rate for a, b in pairs]
    print(f"  ratio of messages/s   {spread(rates)}")
    cpus = [b.cpu_us / a.cpu_us for a, b in pairs]
    print(f"  ratio of CPU/message  {spread(cpus)}   (bare over ours)")
    hold(f"star, {agents} agents, of bare pyzmq's messages/s", median(rates), bar)


def main() -> None:
    gc.collect()
    gc.freeze()  # as the fork server does before it forks
    for agents, bar in BARS.items():
        compare(agents, bar)


if __name__ == "__main__":
    main()
