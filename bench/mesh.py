"""Posse's mesh in lockstep against the same traffic over bare blocking PUSH and PULL sockets.

In each slot, every process sends a frame of equal size to each neighbour and takes one from each
before the next slot. Posse's frames go through hosts, codec, meters and machines; the bare sockets
check only the slot's number.
"""

from typing import Any

from bench import bare
from bench.tables import run_file

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


def main() -> None:
    for name, agents, topology, slots in GRAPHS:
        parameters = {"slots": slots, "size": SIZE}
        raw = run_file("bench.systems:MESH", agents, parameters=parameters, topology=topology)
        bare.compare_on_graph(f"mesh, {name} of {agents}", raw, slots, ROUNDS, BAR)
