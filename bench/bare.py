"""The same frames over bare blocking sockets, which check nothing; and a comparison with posse.

Rounds of both alternate, so that other load on the machine affects both.
"""

import gc
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import zmq

from bench import tables
from posse.engines.processes import ProcessEngine
from posse.plan import Plan
from posse.protocol.wire import HEADER
from posse.topologies.graphs import Graph


@dataclass(frozen=True)
class Figure:
    """The cost of a round: messages, seconds from first to last, processor seconds in all."""

    messages: int
    seconds: float
    cpu: float


_FIGURES: dict[str, tuple[Callable[[Figure], float], str]] = {
    "messages/s": (lambda figure: figure.messages / figure.seconds, "{:,.0f}"),
    "CPU us/message": (lambda figure: 1e6 * figure.cpu / figure.messages, "{:.1f}"),
}


def ours(engine: ProcessEngine, plan: Plan) -> tuple[Figure, int]:
    """The first run of agents that are up, and the bytes of a frame."""
    own = time.process_time()
    record = engine.run(plan, 0)
    own = time.process_time() - own
    data = record.communication.data
    cpu = own + sum(record.resources.cpu_seconds_per_agent)
    return Figure(data.messages, record.elapsed_seconds, cpu), data.frame_bytes // data.messages


def star_agent(messages: int, frame: bytes, folder: str) -> None:
    with zmq.Context() as context, context.socket(zmq.DEALER) as hub:
        hub.connect(f"ipc://{folder}/hub")
        for _ in range(2):  # here, ready
            hub.send(b"")
            hub.recv()
        for _ in range(messages):
            hub.send(frame)
            hub.recv()


def mesh_agent(rank: int, near: tuple[int, ...], slots: int, size: int, folder: str) -> None:
    """In each slot, send a frame to each neighbour and await theirs, which may be a slot ahead."""
    with zmq.Context() as context:
        inbox = context.socket(zmq.PULL)
        inbox.bind(f"ipc://{folder}/{rank}")
        hub = context.socket(zmq.DEALER)
        hub.connect(f"ipc://{folder}/hub")
        hub.send(b"here")
        hub.recv()
        peers = [context.socket(zmq.PUSH) for _ in near]
        for peer, n in zip(peers, near, strict=True):
            peer.connect(f"ipc://{folder}/{n}")
        hub.send(b"ready")
        hub.recv()
        filler = bytes(size - 1)
        heard = [0, 0]
        for slot in range(slots):
            now = slot & 1
            frame = bytes([now]) + filler
            for peer in peers:
                peer.send(frame)
            while heard[now] < len(peers):
                heard[inbox.recv()[0]] += 1
            heard[now] = 0
        hub.send(b"done")


def star(
    agents: int,
    messages: int,
    frame: bytes,
    answer: bytes = b"",
    *,
    together: bool = False,
    agent: Callable[..., object] = star_agent,
) -> Figure:
    """Each agent sends a frame, waits for `answer` (by default its own frame), and sends the next.

    `together`: all agents are answered once all have sent.
    """
    most = agents if together else 1

    def serve(hub: Any) -> None:
        for _ in range(agents * messages // most):
            for peer, data in [hub.recv_multipart() for _ in range(most)]:
                hub.send_multipart((peer, answer or data))

    return _carried([partial(agent, messages, frame)] * agents, serve, 2 * agents * messages)


def mesh(
    graph: Graph, slots: int, size: int, *, agent: Callable[..., object] = mesh_agent
) -> Figure:
    """In each slot, each agent sends `size` bytes to every neighbour and waits for theirs."""

    def serve(hub: Any) -> None:
        for _ in range(graph.agents):
            hub.recv_multipart()

    bodies = [partial(agent, rank, near, slots, size) for rank, near in enumerate(graph.neighbours)]
    return _carried(bodies, serve, slots * 2 * graph.size)


def _carried(
    bodies: Sequence[Callable[[str], object]], serve: Callable[[Any], None], messages: int
) -> Figure:
    """Fork an agent for each body and serve them; their start and end are not measured."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        children = _children_cpu()
        pids = [_fork(body, folder) for body in bodies]
        with zmq.Context() as context, context.socket(zmq.ROUTER) as hub:
            hub.bind(f"ipc://{folder}/hub")
            for _ in range(2):  # here, ready
                peers = [hub.recv_multipart()[0] for _ in pids]
                own, began = time.process_time(), time.perf_counter()
                for peer in peers:
                    hub.send_multipart((peer, b"go"))
            serve(hub)
            seconds, own = time.perf_counter() - began, time.process_time() - own
            for pid in pids:
                os.waitpid(pid, 0)
    return Figure(messages, seconds, own + _children_cpu() - children)


def _fork(body: Callable[[str], object], folder: str) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            body(folder)
        finally:
            os._exit(0)
    return pid


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(work: str, plan: Plan, bare: Callable[[int], Figure], rounds: int, bar: float) -> None:
    """Compare posse with `bare`, which receives the bytes of a frame, by messages per second."""
    gc.collect()
    gc.freeze()  # as the fork server does before it forks
    with ProcessEngine(plan) as engine:
        _, size = ours(engine, plan)  # warm
        ways = {"posse": lambda: ours(engine, plan)[0], "bare pyzmq": lambda: bare(size)}
        title = f"{work}; frames of {size} bytes ({HEADER.size} of them header)"
        ratio, _ = tables.compare(title, rounds, ways, _FIGURES)
    tables.hold(f"{work}, of bare pyzmq's messages/s", ratio, bar)
