"""Agents on the workers of a Dask cluster.

Dask says which workers there are, carries to them what is to be started, and says which of them
died. All else is as on one's own machines: on each worker a fork server starts agents, and between
these and their coordinator, and among themselves, flows ZeroMQ.
"""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import tempfile
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

import posse
from posse.engines import room
from posse.engines.crew import Crew, Died, Starter
from posse.engines.forkserver import ForkServer
from posse.errors import PosseError, RunFailed
from posse.plan import Plan, unpacked
from posse.security import noise

if TYPE_CHECKING:
    from distributed import Client

_COMES_BACK = 10.0
"""Seconds in which Dask starts a worker again that was killed, on the host where it was."""

_LISTENS = 1.0
"""Seconds that one question for deaths is open."""

_LOOK = 0.05

_GOES = 15.0
"""Seconds in which a worker lets its agents go."""


# --- on a worker ----------------------------------------------------------------------------------


class AgentsHere:
    """An actor on a worker: what starts the agents of one posse there.

    They go when it does: when it is told to, when nobody holds it any more, or with its worker.
    """

    def __init__(self, name: str) -> None:
        self._folder = Path(tempfile.gettempdir()) / name
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._server = ForkServer()
        self._up: set[int | None] = set()
        self._closing = False
        self._end = weakref.finalize(self, _leave, self._server, self._folder)

    def start(self, crew: bytes) -> None:
        """Start these agents; `PosseError` if there is no room for them."""
        asked = msgspec.msgpack.decode(crew, type=Crew)
        room.require(0, len(asked.ranks))
        self._up.update(asked.ranks)
        self._server.start(msgspec.structs.replace(asked, journals=str(self._folder)))

    async def deaths(self) -> list[Died]:
        """Who died; waits for somebody, but not for long."""
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
        self._up.difference_update(one.rank for one in died)
        return died

    async def close(self) -> None:
        """Let the agents go: who was told to has the time to do so by itself."""
        self._closing = True
        until = time.monotonic() + _LISTENS
        while self._up and time.monotonic() < until:
            self._dead()
            await asyncio.sleep(_LOOK)
        await asyncio.to_thread(self._end)


def _leave(server: ForkServer, folder: Path) -> None:
    server.close()
    shutil.rmtree(folder, ignore_errors=True)


def _survey(version: str, document: bytes) -> list[int] | str:
    """On a worker: the agents whose data is here, or why there can be none."""
    if version != posse.__version__:
        return f"it has posse {posse.__version__}, and here it is {version}"
    try:
        plan = unpacked(document)
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
    """Starts agents on a cluster's workers, and says who of them died; see `Starter`.

    An agent that is to be started again comes to the host where it was, for its journal and its
    rewards are there: on another worker of it, or on the one that Dask starts anew. If there is
    none it comes to any other that has its rewards, where it begins anew.

    Dask's calls take their time: they are made by a thread of their own, and one for each worker
    waits for deaths there.
    """

    def __init__(self, client: Client, plan: Plan, per_worker: int | None = None) -> None:
        self._client = client
        self._plan = plan
        self._name = f"posse-{os.urandom(8).hex()}"
        self._there: dict[str, Any] = {}
        """The actor on each worker that has agents."""
        self._held: list[Any] = []
        """What Dask lets go of, and the actors with it, when nobody holds it."""
        self._gone: set[str] = set()
        """Workers that died, as long as Dask does not know."""
        self._since: dict[str, float] = {}
        """When workers died."""
        self._died: deque[Died] = deque()
        self._look, self._told = os.pipe()
        self._crew: Crew | None = None
        """All agents: who is started again is one of them, as it was."""
        self._asked: SimpleQueue[list[int] | str | None] = SimpleQueue()
        """Who is to be started, which worker is gone, and the end."""
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
        """See `Starter`; the first time it is all of them."""
        self._crew = self._crew or crew
        self._asked.put(crew.ranks)

    def close(self) -> None:
        self._closing = True
        self._asked.put(None)
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
        """Start what is asked for, as long as anything is."""
        while (asked := self._asked.get()) is not None:
            try:
                if isinstance(asked, str):
                    self._lost(asked)
                    continue
                assert self._crew is not None
                for worker, ranks in self._places(self._with_those_behind(asked)).items():
                    self._start(worker, self._crew.of(ranks))
            except Exception as error:  # whatever Dask raises
                self._say(Died(None, f"agents cannot be placed on the Dask cluster: {error}"))

    def _with_those_behind(self, ranks: list[int]) -> list[int]:
        """These and those that are asked for next: the agents of a dead worker come one by one."""
        time.sleep(_LOOK)
        behind = [self._asked.get() for _ in range(self._asked.qsize())]
        for asked in behind:
            if not isinstance(asked, list):
                self._asked.put(asked)
        more = [rank for asked in behind if isinstance(asked, list) for rank in asked]
        return list(dict.fromkeys([*ranks, *more]))

    def _watch(self, worker: str) -> None:
        """Pass on who died on a worker, until that itself does."""
        actor = self._there[worker]
        try:
            while not self._closing:
                for died in actor.deaths().result():
                    if died.rank is None:
                        raise RunFailed(died.why)
                    self._say(died)
        except Exception:  # whatever Dask raises when a worker is gone
            self._asked.put(worker)

    def _places(self, ranks: list[int]) -> dict[str, list[int]]:
        """These agents by worker."""
        found: dict[str, list[int]] = {}
        for before in {self._homes[rank] for rank in ranks}:
            group = [rank for rank in ranks if self._homes[rank] == before]
            workers = self._near(before)
            if before not in workers:
                able = self._survey(list(workers))
                for rank in set(group).difference(*able.values()):
                    group.remove(rank)
                    self._say(
                        Died(rank, f"no Dask worker is left with the rewards of agent {rank}")
                    )
                self._homes |= spread(workers, able, group)
            for rank in group:
                found.setdefault(self._homes[rank], []).append(rank)
        return found

    def _near(self, worker: str) -> dict[str, int]:
        """This worker, or those of its host; if none comes there, all."""
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
            self._say(Died(None, f"Dask worker {worker} has no thread free for agents"))
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
        """Every worker and its threads."""
        known: dict[str, int] = dict(self._client.nthreads())
        self._gone.intersection_update(known)
        return {worker: threads for worker, threads in known.items() if worker not in self._gone}

    def _survey(self, workers: list[str] | None = None) -> dict[str, set[int]]:
        """The agents whose data is there, by worker; `PosseError` if one cannot have any."""
        document = msgspec.msgpack.encode(self._plan.spec)
        said: Mapping[str, Any] = self._client.run(
            _survey, posse.__version__, document, workers=workers, on_error="return"
        )
        for worker, able in said.items():
            if isinstance(able, str | ModuleNotFoundError):
                raise PosseError(f"Dask worker {worker} cannot have agents: {able}")
        return {worker: set(able) for worker, able in said.items() if isinstance(able, list)}


def spread(
    threads: Mapping[str, int],
    able: Mapping[str, set[int]],
    ranks: Sequence[int],
    most: int | None = None,
) -> dict[int, str]:
    """The worker of each of these agents: each takes its share by its threads, `most` at most.

    `able`: the agents whose rewards are there. Whoever can be on few workers chooses first.
    """
    load: Counter[str] = Counter()
    homes: dict[int, str] = {}
    choices = {rank: [w for w in threads if rank in able.get(w, ())] for rank in ranks}
    for rank in sorted(choices, key=lambda rank: len(choices[rank])):
        if not choices[rank]:
            raise PosseError(f"no Dask worker has the rewards of agent {rank}")
        free = [w for w in choices[rank] if load[w] < (most or len(ranks))]
        if not free:
            raise PosseError(f"no Dask worker has room for agent {rank} with {most} on each")
        homes[rank] = min(free, key=lambda w: (load[w] + 1) / threads[w])
        load[homes[rank]] += 1
    return homes


def host_of(worker: str) -> str:
    """The host of a worker's address."""
    return urlsplit(worker).hostname or ""
