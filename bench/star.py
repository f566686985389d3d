"""Our star against the same traffic over bare blocking ROUTER and DEALER sockets.

Each of N processes sends a request of the same number of bytes, waits for the reply, sends the
next. Ours goes through the hosts, the codec, the meters and the machines.
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
"""By the number of agents."""


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
