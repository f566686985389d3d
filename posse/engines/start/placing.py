"""Agents on the workers of a Dask cluster.

Dask lists the workers, carries to them what is to be started, and reports which of them died. All
else is as on machines without Dask: a fork server on each worker starts agents, and these exchange
frames with their coordinator and with each other over ZeroMQ.
"""

from __future__ import annotations

import asyncio
import os
import select
import tempfile
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

import posse
from posse.coordinator.crew import Crew, Died, Starter
from posse.engines.start import room
from posse.engines.start.forkserver import ForkServer
from posse.errors import PosseError, RunFailed
from posse.gates import files
from posse.gates.decode import Packed
from posse.plan import Plan, decode_plan
from posse.security import noise

if TYPE_CHECKING:
    from distributed import Client

_COMES_BACK = 10.0
"""Seconds within which Dask restarts a killed worker on its host."""

_LISTENS = 1.0
"""Seconds that one call of `AgentsHere.deaths` waits at most."""

_LOOK = 0.05

_GOES = 15.0
"""Seconds that a worker has to let its agents go."""


# --- on a worker ----------------------------------------------------------------------------------


class AgentsHere:
    """A Dask actor on a worker that starts the agents of one posse there.

    The agents end with the actor: when it is closed, when nobody holds it, or with its worker.
    """

    def __init__(self, name: str) -> None:
        self._folder = Path(tempfile.gettempdir()) / name
        files.make_private(self._folder)
        self._server = ForkServer()
        self._up: set[int | None] = set()
        self._closing = False
        self._end = weakref.finalize(self, _leave, self._server, self._folder)

    def start(self, crew: bytes) -> None:
        """Start these agents; `PosseError` if there is no room for them."""
        asked = Packed[Crew](Crew).read(crew)
        room.require(0, len(asked.agents))
        self._up.update(asked.agents)
        self._server.start(msgspec.structs.replace(asked, journals=str(self._folder)))

    async def deaths(self) -> list[Died]:
        """The agents that died; waits for the first, but at most `_LISTENS` seconds."""
        until = time.monotonic() + _LISTENS
        while not self._closing and time.monotonic() < until:
            if died := self._dead():
                return died
            await asyncio.sleep(_LOOK)
        return []

    def _dead(self) -> list[Died]:
        died = []
        while select.select([self._server.deaths], [], [], 0)[0]:
            died.append(self._server.next_death())
            if died[-1].rank is None:
                break
        self._up.difference_update(death.rank for death in died)
        return died

    async def close(self) -> None:
        """Let the agents go. Those that were told to leave have `_LISTENS` seconds to do so."""
        self._closing = True
        until = time.monotonic() + _LISTENS
        while self._up and time.monotonic() < until:
            self._dead()
            await asyncio.sleep(_LOOK)
        await asyncio.to_thread(self._end)


def _leave(server: ForkServer, folder: Path) -> None:
    server.close()
    files.remove_folder(folder)


def _survey(version: str, document: bytes) -> list[int] | str:
    """Run on a worker: the agents whose data is here, or why there can be none."""
    if version != posse.__version__:
        return f"it has posse {posse.__version__}, and this machine has {version}"
    try:
        plan = decode_plan(document)
    except PosseError as error:
        return str(error)
    if plan.field and not noise.is_here():
        return noise.NEEDED
    ranks = range(plan.spec.agents.count)
    if plan.system.shares_arms:
        return list(ranks)
    return [rank for rank in ranks if not plan.spec.arms.missing(plan.spec.base, (rank,))]


# --- where the command runs -----------------------------------------------------------------------


class OnWorkers(Starter):
    """Starts agents on a cluster's workers, and reports which of them died; see `Starter`.

    An agent that is restarted goes to the host where it was, because its journal and its rewards
    are there: to any worker of that host, also one that Dask has just restarted. If there is none,
    it goes to any other worker that has its rewards, and begins anew.

    Dask's calls are slow, so a thread makes them. Another thread per worker waits for deaths there.
    """

    def __init__(self, client: Client, plan: Plan, per_worker: int | None = None) -> None:
        self._client = client
        self._plan = plan
        self._name = f"posse-{os.urandom(8).hex()}"
        self._there: dict[str, Any] = {}
        """The actor on each worker that has agents."""
        self._held: list[Any] = []
        """The actors' futures: Dask releases an actor when nobody holds its future."""
        self._gone: set[str] = set()
        """Workers that died, as long as Dask still lists them."""
        self._since: dict[str, float] = {}
        """When workers died."""
        self._died: deque[Died] = deque()
        self._look, self._told = os.pipe()
        self._crew: Crew | None = None
        """All agents. An agent that is restarted gets the same settings from it."""
        self._waiting: deque[int] = deque()
        """Agents to start."""
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        """What the thread is to do; None ends it."""
        self._closing = False
        ranks = range(plan.spec.agents.count)
        self._homes = spread(self._workers(), self._survey(), ranks, per_worker)
        self._threads: list[threading.Thread] = []
        self._beside(self._carry_out)

    @property
    def deaths(self) -> int:
        return self._look

    def next_death(self) -> Died:
        os.read(self._look, 1)
        return self._died.popleft()

    def start(self, crew: Crew) -> None:
        """See `Starter`; the first call has all agents."""
        self._crew = self._crew or crew
        self._waiting.extend(crew.agents)
        self._tasks.put(self._start_waiting)

    def close(self) -> None:
        self._closing = True
        self._tasks.put(None)
        for ended in [actor.close() for actor in self._there.values()]:
            with suppress(Exception):  # the worker is gone, and its agents with it
                ended.result(timeout=_GOES)
        for thread in self._threads:
            thread.join(_GOES)
        self._held.clear()
        os.close(self._look)
        os.close(self._told)

    # --- threads ----------------------------------------------------------------------------------

    def _beside(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _carry_out(self) -> None:
        """Do the tasks until None comes."""
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception as error:  # whatever Dask raises
                self._say(Died(None, f"agents cannot be placed on the Dask cluster: {error}"))

    def _start_waiting(self) -> None:
        """Start all agents that wait: those of a dead worker come one by one."""
        time.sleep(_LOOK)
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        assert self._crew is not None
        for worker, ranks in self._places(list(dict.fromkeys(waiting))).items():
            self._start(worker, self._crew.select(ranks))

    def _watch(self, worker: str) -> None:
        """Report deaths on a worker, until the worker itself dies."""
        actor = self._there[worker]
        try:
            while not self._closing:
                for died in actor.deaths().result():
                    if died.rank is None:
                        raise RunFailed(died.why)
                    self._say(died)
        except Exception:  # whatever Dask raises when a worker is gone
            self._tasks.put(partial(self._lost, worker))

    def _places(self, ranks: list[int]) -> dict[str, list[int]]:
        """These agents by the worker on which to start them."""
        placed: dict[str, list[int]] = {}
        for before in {self._homes[rank] for rank in ranks}:
            group = [rank for rank in ranks if self._homes[rank] == before]
            workers = self._near(before)
            if before not in workers:
                able = self._survey(list(workers))
                for rank in set(group).difference(*able.values()):
                    group.remove(rank)
                    self._say(
                        Died(rank, f"none of the Dask workers left has the rewards of agent {rank}")
                    )
                self._homes |= spread(workers, able, group)
            for rank in group:
                placed.setdefault(self._homes[rank], []).append(rank)
        return placed

    def _near(self, worker: str) -> dict[str, int]:
        """This worker, or the workers of its host; if none comes up there, all. With threads."""
        until = self._since.get(worker, 0.0) + _COMES_BACK
        while True:
            workers = self._workers()
            if worker in workers:
                return {worker: workers[worker]}
            host = host_of(worker)
            near = {other: threads for other, threads in workers.items() if host_of(other) == host}
            if near or self._closing or time.monotonic() > until:
                return near or workers
            time.sleep(_LOOK)

    def _start(self, worker: str, crew: Crew) -> None:
        """Start agents on a worker."""
        try:
            if worker not in self._there:
                held = self._client.submit(
                    AgentsHere,
                    self._name,
                    actor=True,
                    workers=[worker],
                    allow_other_workers=False,
                    pure=False,
                )
                self._held.append(held)
                self._there[worker] = held.result(timeout=self._plan.spec.engine.joining)
                self._beside(self._watch, worker)
            self._there[worker].start(msgspec.msgpack.encode(crew)).result()
        except PosseError as error:
            self._say(Died(None, f"Dask worker {worker}: {error}"))
        except TimeoutError:
            self._say(Died(None, f"Dask worker {worker} has no free thread for agents"))
        except Exception:  # whatever Dask raises when a worker is gone
            if worker not in self._there:  # nobody watches it
                self._lost(worker)

    def _lost(self, worker: str) -> None:
        """A worker is gone, and all its agents."""
        self._there.pop(worker, None)
        self._gone.add(worker)
        self._since[worker] = time.monotonic()
        for rank, home in self._homes.items():
            if home == worker:
                why = f"agent {rank} was on Dask worker {worker}, which is gone"
                self._say(Died(rank, why, killed=True))

    def _say(self, died: Died) -> None:
        if not self._closing:
            self._died.append(died)
            os.write(self._told, b"x")

    # --- what Dask knows --------------------------------------------------------------------------

    def _workers(self) -> dict[str, int]:
        """Every worker that is alive, and its number of threads."""
        known: dict[str, int] = dict(self._client.nthreads())
        self._gone.intersection_update(known)
        return {worker: threads for worker, threads in known.items() if worker not in self._gone}

    def _survey(self, workers: list[str] | None = None) -> dict[str, set[int]]:
        """By worker, the agents whose data it has; `PosseError` if it cannot have agents at all."""
        document = msgspec.msgpack.encode(self._plan.spec)
        answers: Mapping[str, Any] = self._client.run(
            _survey, posse.__version__, document, workers=workers, on_error="return"
        )
        for worker, able in answers.items():
            if isinstance(able, str | ModuleNotFoundError):
                raise PosseError(f"Dask worker {worker} cannot run agents: {able}")
        return {worker: set(able) for worker, able in answers.items() if isinstance(able, list)}


def spread(
    threads: Mapping[str, int],
    able: Mapping[str, set[int]],
    ranks: Sequence[int],
    most: int | None = None,
) -> dict[int, str]:
    """The worker of each agent: workers share by their threads, with `most` agents each at most.

    `able` has the agents whose rewards each worker has. Agents with the fewest workers to choose
    from choose first. `PosseError` if an agent finds no worker.
    """
    load: Counter[str] = Counter()
    homes: dict[int, str] = {}
    choices = {rank: [w for w in threads if rank in able.get(w, ())] for rank in ranks}
    for rank in sorted(choices, key=lambda rank: len(choices[rank])):
        if not choices[rank]:
            raise PosseError(f"no Dask worker has the rewards of agent {rank}")
        free = [w for w in choices[rank] if load[w] < (most or len(ranks))]
        if not free:
            raise PosseError(
                f"no Dask worker has room for agent {rank} with at most {most} on each"
            )
        homes[rank] = min(free, key=lambda w: (load[w] + 1) / threads[w])
        load[homes[rank]] += 1
    return homes


def host_of(worker: str) -> str:
    """The host of a worker's address."""
    return urlsplit(worker).hostname or ""
