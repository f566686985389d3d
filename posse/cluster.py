"""A posse that asynchronous code can await: for integration tests of protocols, and notebooks.

The messages themselves flow through blocking sockets in one thread of the cluster's own; only its
outside is asynchronous.
"""

import asyncio
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from posse import api
from posse.engines import memory
from posse.engines.base import Tap
from posse.errors import InputError, PosseError, RunFailed
from posse.hosts.coordinator import CoordinatorHost
from posse.plan import Plan, Source, changed, prepare
from posse.results.record import RunRecord
from posse.results.result import Result
from posse.security import address
from posse.spec.runfile import RunSpec

if TYPE_CHECKING:
    from posse.engines.processes import ProcessEngine

T = TypeVar("T")


class Cluster:
    """Agents that are up from `async with` to its end, for any number of runs.

        async with Cluster(spec) as cluster:
            first = await cluster.run()
            again = await cluster.run(seed=2)

    `spawn` is how many agents to start; fewer than the specification's leaves the remaining ranks
    to whoever joins `endpoint` with `token`. `bind` is an address of this machine only: a cluster
    has no keys.
    """

    _tap: Tap | None = None

    def __init__(
        self, source: Source, *, spawn: int | None = None, bind: str | None = None
    ) -> None:
        self._plan = prepare(source)
        agents = self._plan.spec.agents.count
        if spawn is not None and not 0 <= spawn <= agents:
            raise InputError(f"spawn {spawn}: of {agents} agents 0 to {agents} can be started here")
        self._plan.require(spawn)
        if bind is not None:
            address.check("bind", bind, bind=True)
            if not address.is_local(bind):
                raise InputError(
                    f"bind {bind}: is reached from other machines, and a cluster has no keys; use "
                    "posse coordinator --keys there, or an address of this machine only"
                )
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="posse")
        self._entered = False
        self._up = False
        self._cancelled = False
        self._serial = 0
        self._engine: ProcessEngine | None = None
        if self._plan.spec.engine.kind == "processes":
            self._engine = engine = self._processes(spawn=spawn, bind=bind)
            # one that is never entered has an address all the same
            self._close = weakref.finalize(self, engine.close)

    @property
    def spec(self) -> RunSpec:
        """What is run, unless `run` is told otherwise."""
        return self._plan.spec

    @property
    def endpoint(self) -> str:
        """Where agents join; empty for engine `memory`."""
        return self._engine.endpoint if self._engine else ""

    @property
    def token(self) -> str:
        """What an agent shows when it joins; empty for engine `memory`."""
        return self._engine.token if self._engine else ""

    async def __aenter__(self) -> Self:
        if self._entered:
            raise PosseError("a cluster is up once; make another for another `async with`")
        self._entered = True
        if self._engine is not None:
            try:
                await self._await(self._engine.__enter__)
            except BaseException:
                self._close()
                raise
        self._up = True
        return self

    async def __aexit__(self, *error: object) -> None:
        self._up = False
        if self._engine is not None:
            await self._await(self._close)
        self._thread.shutdown()

    async def run(
        self,
        *,
        seed: int | None = None,
        repeat: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Result:
        """Run the specification, with another seed, number of runs or parameters if given.

        To cancel it ends the run; the cluster stays up for others.
        """
        self._require_up()
        plan = changed(self._plan, seed=seed, repeat=repeat, parameters=parameters)
        if self._engine is not None and plan.system is not self._plan.system:
            raise PosseError(f"{plan.spec.system} changed since the cluster is up; make another")
        records = [
            await self._await(partial(self._one, plan, number))
            for number in range(plan.spec.repeat)
        ]
        return plan.result(records)

    def _processes(self, **options: Any) -> "ProcessEngine":
        return api.processes(self._plan, **options)

    def _require_up(self) -> None:
        if not self._up:
            raise PosseError(
                "the cluster is not up: await what it is to do within `async with Cluster(…)`"
            )

    def _one(self, plan: Plan, number: int) -> RunRecord:
        if self._engine is not None:
            return self._engine.run(plan, number)
        self._serial += 1
        return memory.run(plan, number, self._heed, self._tap, self._serial - 1)

    def _heed(self, host: CoordinatorHost) -> None:
        if self._cancelled:
            raise RunFailed("the run was interrupted")

    async def _await(self, call: Callable[[], T]) -> T:
        future = asyncio.get_running_loop().run_in_executor(self._thread, call)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self._cancelled = True
            if self._engine is not None:
                self._engine.hub.interrupt()
            await asyncio.wait([future])
            future.exception()  # that it was interrupted is nobody's to hear
            if self._engine is not None and self._up:
                self._engine.hub.uninterrupt()
            self._cancelled = False
            raise
