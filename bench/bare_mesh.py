"""Bare blocking sockets between neighbours in lockstep: what a mesh's frames cost themselves."""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import zmq

from topologies.graphs import Graph


def _agent(
    graph: Graph, rank: int, folder: Path, slots: int, frame: bytes, pipes: tuple[int, int]
) -> None:
    """Per slot: one frame to each neighbour, then wait for theirs; they may be a slot ahead."""
    start, done = pipes
    context = zmq.Context()
    inbox = context.socket(zmq.PULL)
    inbox.bind(f"ipc://{folder / str(rank)}")
    peers = []
    for neighbour in graph.neighbours[rank]:
        peer = context.socket(zmq.PUSH)
        peer.connect(f"ipc://{folder / str(neighbour)}")
        peers.append(peer)
    os.write(done, b"r")
    os.read(start, 1)
    here = [0, 0]
    for slot in range(slots):
        now = slot & 1
        data = bytes([now]) + frame[1:]
        for peer in peers:
            peer.send(data)
        while here[now] < len(peers):
            here[inbox.recv()[0]] += 1
        here[now] = 0
    os.write(done, b"d")
    for socket in (*peers, inbox):
        socket.close(linger=2_000)
    context.term()


def bare_mesh(graph: Graph, slots: int, size: int) -> tuple[int, float, float]:
    """Frames, seconds from the first to the last, and processor seconds of all processes."""
    start, started = os.pipe()
    finished, done = os.pipe()
    frame = bytes(size)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        before = _children_cpu()
        pids = []
        for rank in range(graph.agents):
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                try:
                    _agent(graph, rank, Path(folder), slots, frame, (start, done))
                finally:
                    os._exit(0)
            pids.append(pid)
        _wait(finished, graph.agents)
        began = time.perf_counter()
        os.write(started, bytes(graph.agents))
        _wait(finished, graph.agents)
        seconds = time.perf_counter() - began
        for pid in pids:
            os.waitpid(pid, 0)
    for fd in (start, started, finished, done):
        os.close(fd)
    return slots * 2 * graph.size, seconds, _children_cpu() - before


def _wait(fd: int, count: int) -> None:
    while count:
        count -= len(os.read(fd, count))


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
