"""A posse for asynchronous code: for integration tests of protocols, and for notebooks.

Only the interface is asynchronous. Messages go through blocking sockets in a thread.
"""

import asyncio
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from posse import api
from posse.coordinator.host import CoordinatorHost
from posse.durable.capture import Capture
from posse.errors import InputError, PosseError, RunFailed
from posse.plan import Plan, Source, changed, prepare
from posse.results.record import RunRecord
from posse.results.result import Result
from posse.security import address
from posse.spec.runfile import RunSpec

if TYPE_CHECKING:
    from posse.engines.processes import ProcessEngine

T = TypeVar("T")


class Cluster:
    """Agents that stay up for the whole `async with` block, for any number of runs.

        async with Cluster(spec) as cluster:
            first = await cluster.run()
            again = await cluster.run(seed=2)

    `spawn` is how many agents to start. If it is less than the specification's number, agents with
    the remaining ranks may join `endpoint` with `token`. `bind` must be an address of this machine
    only, because a cluster has no keys.
    """

    _tap: Capture | None = None

    def __init__(
        self, source: Source, *, spawn: int | None = None, bind: str | None = None
    ) -> None:
        self._plan = prepare(source)
        agents = self._plan.spec.agents.count
        if spawn is not None and not 0 <= spawn <= agents:
            raise InputError(f"spawn {spawn}: must be from 0 to {agents}, the number of agents")
        self._plan.require(spawn)
        if bind is not None:
            address.check("bind", bind, bind=True)
            if not address.is_local(bind):
                raise InputError(
                    f"bind {bind}: other machines can reach it, and a cluster has no keys; use an "
                    "address of this machine only, or posse coordinator --keys"
                )
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="posse")
        self._entered = False
        self._up = False
        self._cancelled = False
        self._serial = 0
        self._engine: ProcessEngine | None = None
        if self._plan.spec.engine.kind == "processes":
            self._engine = engine = self._processes(spawn=spawn, bind=bind)
            # a cluster that is never entered has bound its address, too
            self._close = weakref.finalize(self, engine.close)

    @property
    def spec(self) -> RunSpec:
        """The specification that `run` uses unless its arguments override it."""
        return self._plan.spec

    @property
    def endpoint(self) -> str:
        """Where agents join; empty for engine `memory`."""
        return self._engine.endpoint if self._engine else ""

    @property
    def token(self) -> str:
        """The secret that an agent must show to join; empty for engine `memory`."""
        return self._engine.token if self._engine else ""

    async def __aenter__(self) -> Self:
        if self._entered:
            raise PosseError(
                "a cluster can be entered only once; make another for another `async with`"
            )
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

        Cancelling it ends the run; the cluster stays up for further runs.
        """
        self._require_up()
        plan = changed(self._plan, {"seed": seed, "repeat": repeat}, parameters)
        if self._engine is not None and plan.system is not self._plan.system:
            raise PosseError(
                f"{plan.spec.system} has changed since the cluster started; make another"
            )
        records = [
            await self._await(partial(self._one, plan, number))
            for number in range(plan.spec.repeat)
        ]
        return plan.result(records)

    def _processes(self, **options: Any) -> "ProcessEngine":
        return api.make_process_engine(self._plan, **options)

    def _require_up(self) -> None:
        if not self._up:
            raise PosseError("the cluster is not up; await its runs inside `async with Cluster(…)`")

    def _one(self, plan: Plan, number: int) -> RunRecord:
        if self._engine is not None:
            return self._engine.run(plan, number)
        self._serial += 1
        return api.run_in_memory(plan, number, self._heed, self._tap, self._serial - 1)

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
                self._engine.hub.interrupted.set()
            await asyncio.wait([future])
            future.exception()  # retrieve the error, or asyncio logs it as lost
            if self._engine is not None and self._up:
                self._engine.hub.interrupted.clear()
            self._cancelled = False
            raise
