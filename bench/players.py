"""A slot of three players against the same requests and replies over bare blocking sockets, and the
hybrid mechanism by the insertion.

Both slots move frames of the same length: three processes send a choice and wait, one process
waits for all three and answers each. Ours goes through the hosts, the codec, the meters, the
medium, its arms and the players' machines; the bare one hands bytes to pyzmq and looks at nothing.
Rounds of both alternate, so that whatever else the machine does meets both.
"""

import time
from statistics import median

import numpy as np

from agent.hybrid import HybridSums
from agent.noise import SeededNoise
from bench import bare
from bench.tables import hold, run_file
from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.plan import Plan, prepare
from protocol.machine import COORDINATOR
from protocol.message import Message
from protocol.players import Choice, Outcome
from protocol.wire import encode

PLAYERS = 3
MEANS = [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]
SLOTS = 2_000
ROUNDS = 11
BAR = 1.6
INSERTIONS = 1_000_000
BAR_INSERTION = 3.0


SYSTEMS: dict[str, dict[str, float]] = {
    "random-player": {},
    "tdfs-ucb": {},
    "tdfs-private-bound": {"epsilon": 1.0},
    "tdfs-private": {"epsilon": 1.0},
}


def _plan(system: str) -> Plan:
    parameters = {"horizon": SLOTS, **SYSTEMS[system]}
    return prepare(run_file(system, PLAYERS, MEANS, parameters=parameters))


def _frame(message: Message, source: int) -> bytes:
    return encode(message, run=0, source=source, sequence=0, now=0.0, sent=0)


def bare_slot() -> float:
    """Seconds per slot over bare sockets."""
    choice, outcome = Choice(SLOTS, 5), Outcome(SLOTS, 1.0, 1.0, False)
    answer = _frame(outcome, COORDINATOR)
    figure = bare.star(PLAYERS, SLOTS, _frame(choice, 0), answer, together=True)
    return figure.seconds / SLOTS


def our_slot(engine: ProcessEngine, spec: Plan, number: int) -> float:
    """Seconds per slot of a run whose agents are up."""
    began = time.perf_counter()
    record = engine.run(spec, number)
    assert record.slots is not None
    return (time.perf_counter() - began) / record.slots


def slot_latency(system: str) -> None:
    """Latency of a slot, ours and bare, in alternating rounds."""
    plan = _plan(system)
    ours, theirs = [], []
    with ProcessEngine(plan) as engine:
        for number in range(ROUNDS):
            ours.append(1e6 * our_slot(engine, plan, number))
            theirs.append(1e6 * bare_slot())
    ratio = median(ours) / median(theirs)
    print(
        f"slot of {PLAYERS} players, {system}: {median(ours):.0f} us (least {min(ours):.0f}); bare "
        f"blocking sockets {median(theirs):.0f} us (least {min(theirs):.0f}); ratio {ratio:.2f} "
        f"(of the least {min(ours) / min(theirs):.2f})"
    )
    hold(f"slot of {PLAYERS} players, {system}, of bare sockets' time", ratio, BAR, most=True)


def memory_slot(system: str) -> None:
    """A slot in the engine `memory`."""
    plan = _plan(system)
    spent = []
    for number in range(3):
        began = time.perf_counter()
        memory.run(plan, number)
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
    for system in ("tdfs-ucb", "tdfs-private-bound", "tdfs-private"):
        memory_slot(system)
    for system in ("random-player", "tdfs-ucb", "tdfs-private"):
        slot_latency(system)


if __name__ == "__main__":
    main()
