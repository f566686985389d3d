"""A slot of three players against the same requests and replies over bare sockets.

Both move frames of equal length: three processes send a choice and wait, one process waits for all
three and answers each. Posse's frames go through hosts, codec, meters, medium, arms and the
players' machines; the bare process hands bytes to pyzmq and checks nothing. Rounds alternate, so
that other load affects both. It also measures the cost of an insertion into the hybrid mechanism.
"""

import time

import numpy as np

from bench import bare
from bench.tables import compare, hold, run_file
from posse.agent.hybrid import HybridSums
from posse.engines.processes import ProcessEngine
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.noise import SeededNoise
from posse.protocol.wire import encode
from posse_systems.tossou2015.messages import Choice, Outcome

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
    "tdfs-private": {"epsilon": 1.0},
}


def _frame(message: Message, source: int) -> bytes:
    return encode(message, run=0, source=source, sequence=0, now=0.0, sent=0)


def bare_slot() -> float:
    """Seconds per slot over bare sockets."""
    choice, outcome = Choice(SLOTS, 5), Outcome(SLOTS, 1.0, 1.0, False)
    answer = _frame(outcome, COORDINATOR)
    figure = bare.star(PLAYERS, SLOTS, _frame(choice, 0), answer, together=True)
    return figure.seconds / SLOTS


def slot_latency(system: str) -> None:
    """Latency of a slot, posse's and bare, in alternating rounds."""
    parameters = {"horizon": SLOTS, **SYSTEMS[system]}
    plan = prepare(run_file(system, PLAYERS, MEANS, parameters=parameters))
    with ProcessEngine(plan) as engine:

        def our_slot() -> float:
            began = time.perf_counter()
            slots = engine.run(plan, 0).slots
            return (time.perf_counter() - began) / slots

        work = f"slot of {PLAYERS} players, {system}"
        ways = {"posse": our_slot, "bare blocking sockets": bare_slot}
        (ratio,) = compare(work, ROUNDS, ways, {"us": (lambda seconds: 1e6 * seconds, "{:.0f}")})
    hold(f"{work}, of bare sockets' time", ratio, BAR, most=True)


def insertions() -> None:
    """The cost of an insertion into the hybrid mechanism, over a million of them."""
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
    for system in SYSTEMS:
        slot_latency(system)
