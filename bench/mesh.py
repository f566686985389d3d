"""Our mesh in lockstep against the same traffic over bare blocking PUSH and PULL sockets.

On a graph every process sends a frame of the same number of bytes to each neighbour, takes one
from each, and only then begins the next slot. Ours goes through the hosts, the codec, the meters
and the machines; the bare one hands bytes to pyzmq and looks at nothing but a slot's number. Rounds
of both alternate, so that whatever else the machine does meets both.
"""

import gc
import os
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import zmq

from bench.tables import hold, show, spread
from posse.engines.processes import ProcessEngine
from posse.plan import Plan, prepare
from protocol.wire import HEADER
from topologies.graphs import Graph

GRAPHS: tuple[tuple[str, int, dict[str, Any], int], ...] = (
    ("ring", 50, {"kind": "ring"}, 150),
    ("4-regular", 50, {"kind": "regular", "degree": 4}, 80),
    ("complete", 16, {"kind": "complete"}, 80),
)
"""Name, agents, `[topology]`, slots."""

SIZE = 800
"""Bytes of data: the means of a hundred arms."""

ROUNDS = 15
BAR = 0.75


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


def _spec(agents: int, topology: dict[str, Any], slots: int) -> Plan:
    return prepare(
        {
            "system": "bench.flood:MESH",
            "agents": {"count": agents},
            "arms": {"kind": "bernoulli", "means": [0.5, 0.4]},
            "topology": topology,
            "parameters": {"slots": slots, "size": SIZE},
        }
    )


def our_mesh(engine: ProcessEngine, plan: Plan) -> tuple[float, float, int]:
    """Slots per second, processor microseconds per message, and bytes of a frame."""
    record = engine.run(plan, 0)
    data = record.communication.data
    assert record.elapsed_seconds is not None
    assert record.resources is not None
    cpu = sum(record.resources.cpu_seconds_per_agent)
    slots = plan.spec.parameters["slots"]
    return (
        slots / record.elapsed_seconds,
        1e6 * cpu / data.messages,
        data.frame_bytes // data.messages,
    )


_SLOT = struct.Struct("<I")


def _bare_agent(folder: str, rank: int, near: tuple[int, ...], slots: int, size: int) -> None:
    context = zmq.Context()
    inbox = context.socket(zmq.PULL)
    inbox.bind(f"ipc://{folder}/{rank}")
    hub = context.socket(zmq.DEALER)
    hub.connect(f"ipc://{folder}/hub")
    hub.send(b"here")
    hub.recv()
    peers = []
    for n in near:
        peers.append(context.socket(zmq.PUSH))
        peers[-1].connect(f"ipc://{folder}/{n}")
    hub.send(b"ready")
    hub.recv()
    filler = bytes(size - _SLOT.size)
    heard: Counter[int] = Counter()
    for slot in range(slots):
        frame = _SLOT.pack(slot) + filler
        for peer in peers:
            peer.send(frame)
        while heard[slot] < len(near):
            (of,) = _SLOT.unpack_from(inbox.recv())
            heard[of] += 1
        del heard[slot]
    hub.send(b"done")
    for socket in (hub, inbox, *peers):
        socket.close()
    context.term()


def bare(graph: Graph, slots: int, size: int) -> tuple[float, float]:
    """The same frames over bare blocking sockets; start and end are not counted in seconds."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        context = zmq.Context()
        hub = context.socket(zmq.ROUTER)
        hub.bind(f"ipc://{Path(folder) / 'hub'}")
        pids = [
            _fork(_bare_agent, folder, rank, graph.neighbours[rank], slots, size)
            for rank in range(graph.agents)
        ]
        for _ in range(2):  # here, ready
            peers = [hub.recv_multipart()[0] for _ in pids]
            began = time.perf_counter()
            for peer in peers:
                hub.send_multipart((peer, b"go"))
        for _ in pids:
            hub.recv_multipart()
        seconds = time.perf_counter() - began
        for pid in pids:
            os.waitpid(pid, 0)
        hub.close()
        context.term()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return slots / seconds, 1e6 * cpu / (2 * graph.size * slots)


def main() -> None:
    rows: list[list[object]] = []
    ratios: dict[str, list[float]] = {}
    frame = 0
    for name, agents, topology, slots in GRAPHS:
        plan = _spec(agents, topology, slots)
        graph = plan.spec.graph(0)
        gc.collect()
        gc.freeze()  # as the fork server does before it forks
        ours: list[tuple[float, float]] = []
        theirs: list[tuple[float, float]] = []
        with ProcessEngine(plan) as engine:
            our_mesh(engine, plan)  # warm
            for _ in range(ROUNDS):
                rate, cpu, frame = our_mesh(engine, plan)
                ours.append((rate, cpu))
                theirs.append(bare(graph, slots, frame))
        ratios[name] = [a / b for (a, _), (b, _) in zip(ours, theirs, strict=True)]
        rows.append(
            [
                f"{name} of {agents}, {slots} slots of {2 * graph.size} frames",
                spread([rate for rate, _ in ours], "{:,.0f}"),
                spread([rate for rate, _ in theirs], "{:,.0f}"),
                spread(ratios[name]),
                spread([cpu for _, cpu in ours], "{:.1f}"),
                spread([cpu for _, cpu in theirs], "{:.1f}"),
            ]
        )
    show(
        f"mesh in lockstep: frames of {frame} bytes ({HEADER.size} of them header), {ROUNDS} "
        "rounds: median (least-greatest)",
        ["graph", "slots/s", "bare slots/s", "ratio", "CPU us/frame", "bare"],
        rows,
    )
    for name, values in ratios.items():
        hold(f"mesh, {name}, of bare pyzmq's slots/s", median(values), BAR)


if __name__ == "__main__":
    main()
