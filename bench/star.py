"""Posse's star against the same traffic over bare blocking ROUTER and DEALER sockets.

Each of N processes sends a request of a fixed size, waits for the reply, and sends the next.
Posse's frames go through hosts, codec, meters and machines.
"""

from functools import partial

from bench import bare
from bench.tables import run_file
from posse.plan import prepare

MESSAGES = 32_000
"""Requests of all agents together, in a round."""
SIZE = 96
ROUNDS = 9
BARS = {8: 0.75, 64: 0.7}
"""The bar by number of agents."""


def _bare(agents: int, each: int, size: int) -> bare.Figure:
    return bare.star(agents, each, bytes(size))


def main() -> None:
    for agents, bar in BARS.items():
        each = MESSAGES // agents
        parameters = {"messages": each, "size": SIZE}
        bare.compare(
            f"star, {agents} agents",
            prepare(run_file("bench.systems:ECHO", agents, parameters=parameters)),
            partial(_bare, agents, each),
            ROUNDS,
            bar,
        )
