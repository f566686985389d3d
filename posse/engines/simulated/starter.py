"""What starts agents in the simulation: the engine's `Starter`, as the fork server is.

The engine, its hub and lobby, the crew and what a forked process does (`make_agent`) are the real
ones. Not run are the fork server's loop, its pipes, and threads of agents that share a process.
What is assumed of them (`tests/runs/test_death.py` and `test_restarts.py` show it with real ones):

- All agents end with the coordinator's process, and with the starter in order: the leash.
- Each death is told once, a moment later; of agents that share a process when all have ended.
- If the starter itself is killed, its agents live on. Nobody tells of deaths any more, or starts
  whom it is asked to start, until all have ended: they hold the pipe's end, too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from posse.coordinator.crew import Crew, Died, Starter
from posse.engines.processes import ProcessEngine
from posse.engines.simulated.network import SimulatedNetwork
from posse.engines.simulated.schedule import Process
from posse.engines.simulated.sockets import Readable
from posse.engines.start.forkserver import make_agent, of_death
from posse.gates.decode import Packed
from posse.plan import Plan
from posse.results.record import RunRecord
from posse.wire.world import World

_TOLD_WITHIN = 1e-3
"""Seconds until a death is told."""

_GONE = None
"""What is read from a pipe at its end."""


class SimulatedStarter(Starter):
    """See the module's text. `killed`: it was, and its agents are on their own."""

    def __init__(
        self,
        process: Process,
        network: SimulatedNetwork,
        spawn: Callable[[int, Callable[[int, World], int]], None],
        kill: Callable[[int], None],
    ) -> None:
        self.killed = False
        self.together: dict[int, Sequence[int]] = {}
        """The ranks in one process with an agent."""
        self._process = process
        self._schedule = network.schedule
        self._pipe = Readable(process, network)
        self._spawn, self._kill = spawn, kill
        self._codes: dict[int, int] = {}
        """How agents ended."""

    @property
    def deaths(self) -> Any:
        """A source of the simulated poller."""
        return self._pipe

    def start(self, crew: Crew) -> None:
        asked = Packed[Crew](Crew).read(msgspec.msgpack.encode(crew))
        self._schedule.call_later(0.0, lambda: self._fork(asked))

    def _fork(self, crew: Crew) -> None:
        if self.killed or not self._process.alive:
            return
        order = [*crew.agents]
        for first in range(0, len(order), crew.per_process):
            ranks = order[first : first + crew.per_process]
            for rank in ranks:
                self._codes.pop(rank, None)
                self.together[rank] = ranks
                self._spawn(rank, partial(_carry, crew))

    def ended(self, rank: int, code: int) -> None:
        """An agent has ended, with this exit code."""
        self._codes[rank] = code
        ranks = self.together[rank]
        if all(mate in self._codes for mate in ranks):
            worst = max((self._codes[mate] for mate in ranks), key=abs)  # a signal, or the highest
            if not self.killed:
                wait = self._schedule.random.uniform(0.0, _TOLD_WITHIN)
                self._schedule.call_later(wait, partial(self._tell, ranks, worst))
            elif len(self._codes) == len(self.together):
                self._pipe.arrives(_GONE)

    def _tell(self, ranks: Sequence[int], code: int) -> None:
        for rank in ranks:
            self._pipe.arrives((rank, code))

    def next_death(self) -> Died:
        if self._pipe.came[0] is _GONE:
            return of_death(None)
        return of_death(self._pipe.came.popleft())

    def close(self) -> None:
        self._schedule.call_later(0.0, self.end)

    def end(self) -> None:
        """Kill all agents that are left, as the leash does."""
        self._pipe.closed = True
        for rank in self.together:
            self._kill(rank)


def _carry(crew: Crew, rank: int, world: World) -> int:
    return make_agent(crew, rank, None, world, many=False).serve()


@contextmanager
def started(
    plan: Plan, world: World, starter: Callable[[], Starter]
) -> Iterator[Callable[[Sequence[int]], Iterator[tuple[int, RunRecord]]]]:
    """Runs of a coordinator that starts its agents itself; see `posse.api.make_runs`."""
    with ProcessEngine(plan, world=world, starter=starter) as engine:
        yield lambda numbers: (
            (place, engine.run(plan, number)) for place, number in enumerate(numbers)
        )
