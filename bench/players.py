"""A slot of three players against the same requests and replies over bare blocking sockets, and the
hybrid mechanism by the insertion.

Both slots move frames of the same length: three processes send a choice and wait, one process
waits for all three and answers each. Ours goes through the hosts, the codec, the meters, the
medium, its arms and the players' machines; the bare one hands bytes to pyzmq and looks at nothing.
Rounds of both alternate, so that whatever else the machine does meets both.
"""

import os
import sys
import tempfile
import time
from statistics import median

import numpy as np
import zmq

from agent.hybrid import HybridSums
from agent.noise import SeededNoise
from bench.tables import hold
from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.plan import Plan, prepare
from protocol.machine import COORDINATOR
from protocol.players import Choice, Outcome
from protocol.wire import Message, encode

PLAYERS = 3
MEANS = [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]
SLOTS = 2_000
ROUNDS = 11
BAR = 1.6
INSERTIONS = 1_000_000
BAR_INSERTION = 3.0


def _spec(system: str, slots: int, **parameters: float) -> Plan:
    return prepare(
        {
            "system": system,
            "agents": {"count": PLAYERS},
            "arms": {"kind": "bernoulli", "means": MEANS},
            "parameters": {"horizon": slots, **parameters},
        }
    )


def _frame(message: Message, source: int) -> bytes:
    return encode(message, run=0, source=source, sequence=0, now=0.0, sent=0)


def _bare_player(address: str, slots: int) -> None:
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.connect(address)
    frame = _frame(Choice(SLOTS, 5), 0)
    for _ in range(slots):
        socket.send(frame)
        socket.recv()
    socket.close()
    context.term()


def bare_slot(slots: int) -> float:
    """Seconds per slot over bare sockets."""
    with tempfile.TemporaryDirectory(prefix="posse-bench-") as folder:
        address = f"ipc://{folder}/bare"
        sys.stdout.flush()
        pids = []
        for _ in range(PLAYERS):
            pid = os.fork()
            if pid == 0:
                try:
                    _bare_player(address, slots)
                finally:
                    os._exit(0)
            pids.append(pid)
        context = zmq.Context()
        socket = context.socket(zmq.ROUTER)
        socket.bind(address)
        answer = _frame(Outcome(SLOTS, 1.0, 1.0, False), COORDINATOR)
        began = 0.0
        for slot in range(slots):
            players = [socket.recv_multipart()[0] for _ in range(PLAYERS)]
            if slot == 0:  # by now everybody is connected
                began = time.perf_counter()
            for player in players:
                socket.send_multipart((player, answer))
        spent = time.perf_counter() - began
        for pid in pids:
            os.waitpid(pid, 0)
        socket.close()
        context.term()
    return spent / (slots - 1)


def our_slot(engine: ProcessEngine, spec: Plan, number: int) -> float:
    """Seconds per slot of a run whose agents are up."""
    began = time.perf_counter()
    record = engine.run(spec, number)
    assert record.slots is not None
    return (time.perf_counter() - began) / record.slots


def slot_latency() -> None:
    """Latency of a slot, ours and bare, in alternating rounds."""
    for system, parameters in (
        ("random-player", {}),
        ("tdfs-ucb", {}),
        ("tdfs-private", {"epsilon": 1.0}),
    ):
        spec = _spec(system, SLOTS, **parameters)
        ours, bare = [], []
        with ProcessEngine(spec) as engine:
            for number in range(ROUNDS):
                ours.append(1e6 * our_slot(engine, spec, number))
                bare.append(1e6 * bare_slot(SLOTS))
        ratio = median(ours) / median(bare)
        print(
            f"slot of {PLAYERS} players, {system}: {median(ours):.0f} us "
            f"(least {min(ours):.0f}); bare blocking sockets {median(bare):.0f} us "
            f"(least {min(bare):.0f}); ratio {ratio:.2f} (of the least "
            f"{min(ours) / min(bare):.2f})"
        )
        hold(f"slot of {PLAYERS} players, {system}, of bare sockets' time", ratio, BAR, most=True)


def memory_slot() -> None:
    """A slot in the engine `memory`."""
    for system, parameters in (
        ("tdfs-ucb", {}),
        ("tdfs-private-bound", {"epsilon": 1.0}),
        ("tdfs-private", {"epsilon": 1.0}),
    ):
        spec = _spec(system, SLOTS, **parameters)
        spent = []
        for number in range(3):
            began = time.perf_counter()
            memory.run(spec, number)
            spent.append(1e6 * (time.perf_counter() - began) / SLOTS)
        print(
            f"slot of {PLAYERS} players in memory, {system}: {min(spent):.0f} us; "
            f"100 runs of T = 20,000 in {min(spent) * 2:.0f} s"
        )


def insertions() -> None:
    """What an insertion into the hybrid mechanism costs, up to the millionth."""
    for streams in (1, 10):
        sums = HybridSums(streams, 1.0, "half", SeededNoise(np.random.default_rng(0)))
        insert = sums.insert
        began = time.perf_counter()
        for _ in range(INSERTIONS):
            insert(0, 1.0)
        cost = 1e6 * (time.perf_counter() - began) / INSERTIONS
        print(
            f"hybrid mechanism, {streams} arms on one clock, {INSERTIONS:,} steps: "
            f"{cost:.2f} us a step, {cost / streams:.2f} us an insertion "
            f"(bar {BAR_INSERTION:g}), {len(sums.levels)} levels kept"
        )


def main() -> None:
    insertions()
    memory_slot()
    slot_latency()


if __name__ == "__main__":
    main()
