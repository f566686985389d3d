"""A cluster whose processes and links a test can control."""

import signal
import weakref
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from posse import api, cluster
from posse.durable.capture import Capture
from posse.durable.frames import Frame, Reader
from posse.errors import InputError, PosseError
from posse.gates import files
from posse.plan import Plan, Source, prepare
from posse.results.record import RunRecord
from posse.testing.controlled import Controlled, tell
from posse.wire.relay import Relays

if TYPE_CHECKING:
    from posse.engines.processes import ProcessEngine


class ControlledCluster(cluster.Cluster, Controlled):
    """A `posse.Cluster` for tests: every frame is captured, and every link can be cut.

        async with ControlledCluster(spec) as cluster:
            run = asyncio.create_task(cluster.run())
            await cluster.wait_for(3, kind="Vote")
            cluster.cut(1, COORDINATOR)
            cluster.kill(2)
            cluster.heal()
            ...

    A link joins two ranks, or a rank and `COORDINATOR`; a fault affects both directions. Links are
    TCP on this machine, whatever the run file says. Agents that join `endpoint` from elsewhere have
    links of their own, without faults. With engine `memory` a test can only read messages.
    """

    def __init__(
        self, source: Source, *, spawn: int | None = None, bind: str | None = None
    ) -> None:
        plan = prepare(source)
        self._tap = Capture(files.new_folder("posse-frames-") / "frames", new=True)
        self._reader = Reader(self._tap.path)
        self._seen: list[Frame] = []
        self._relays = (
            Relays(plan.spec.conditions(0)) if plan.spec.engine.kind == "processes" else None
        )
        self._done = weakref.finalize(self, _leave, self._tap, self._relays)
        self._spawned = range(plan.spec.agents.count if spawn is None else spawn)
        super().__init__(plan, spawn=spawn, bind=bind)

    def _processes(self, **options: Any) -> "ProcessEngine":
        assert self._relays is not None
        options["bind"] = options["bind"] or "tcp://127.0.0.1:*"
        return api.make_process_engine(
            self._plan, capture=self._tap, way=self._relays.way, **options
        )

    async def __aexit__(self, *error: object) -> None:
        if self._relays is not None:
            self.heal()
            for pid in self.pids.values():
                tell(pid, signal.SIGCONT)
        await super().__aexit__(*error)
        self._look()
        self._done()

    def _one(self, plan: Plan, number: int) -> RunRecord:
        try:
            return super()._one(plan, number)
        except PosseError as error:
            self._failure = error
            raise

    def linked(self, a: int, b: int) -> bool:
        """Whether these two agents have a link; with a graph that is drawn anew, any may."""
        if self._plan.system.wiring is None:
            return False
        topology = self.spec.topology
        if topology is None or topology.drawn:
            return True
        return b in self._plan.network(0).neighbours[a]

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each agent that was started here and is up, by rank."""
        return self._engine.pids() if self._engine is not None and self._done.alive else {}

    async def restart(self, rank: int) -> None:
        """Kill an agent's process, if it is up, and start it again for the runs to come.

        A run under way continues without the agent if it can, else it fails; this waits for its
        end.
        """
        self._require_up()
        if rank in self.pids:
            self.kill(rank)
        await self._await(partial(self._up_here().restart, rank))

    def _look(self) -> Sequence[Frame]:
        if self._done.alive:
            self._seen += self._reader.new()
        return self._seen

    def _up_here(self) -> "ProcessEngine":
        if not self._done.alive:
            self._require_up()
        if self._engine is None:
            raise InputError(
                "engine memory has no processes to kill and no links to cut: use "
                'engine.kind = "processes"'
            )
        return self._engine

    def _require_processes(self) -> None:
        self._up_here()

    def _require_links(self) -> Relays:
        self._up_here()
        assert self._relays is not None
        return self._relays

    def _require_end(self, end: int) -> None:
        if end not in self._spawned:
            started = f"0 to {len(self._spawned) - 1}"
            raise InputError(f"agent {end} was not started here; those that were: {started}")


def _leave(capture: Capture, relays: Relays | None) -> None:
    """Remove the relays and the capture."""
    if relays is not None:
        relays.close()
    capture.close()
    files.remove_folder(capture.path.parent)
