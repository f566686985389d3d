"""Our mesh in lockstep against the same traffic over bare blocking PUSH and PULL sockets.

On a graph every process sends a frame of the same number of bytes to each neighbour, takes one
from each, and only then begins the next slot. Ours goes through the hosts, the codec, the meters
and the machines; the bare one looks at nothing but a slot's number.
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
