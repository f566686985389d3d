"""Connects to a Dask cluster, whatever started it, and does runs in memory on its workers.

`posse.engines.start.placing` places agents there.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

from posse.engines.start.pool import outcome
from posse.errors import InputError, PosseError, RunFailed
from posse.gates import files
from posse.gates.decode import from_json
from posse.plan import Plan

if TYPE_CHECKING:
    from distributed import Client

A = TypeVar("A")
B = TypeVar("B")

SCHEME = "dask://"
_ANSWERS = 10.0
"""Seconds to wait for a scheduler's answer."""


@dataclass(frozen=True)
class DaskPlacement:
    """The cluster on which agents are placed, and how.

    `on` is dask://HOST:PORT of the scheduler, or dask:///FILE, the scheduler file that it wrote.
    `per_worker` is the most agents on one worker; without it workers share all by their threads.
    `bind` is the coordinator's address, by default any free port of the address by which this
    machine reaches the workers. The `coordinator` runs here, or on a worker.
    """

    on: str
    per_worker: int | None = None
    bind: str = ""
    coordinator: Literal["here", "worker"] = "here"

    def __post_init__(self) -> None:
        where = urlsplit(self.on)
        if not self.on.startswith(SCHEME) or not (where.netloc or where.path.strip("/")):
            raise InputError(
                f"--on {self.on}: must be a scheduler's dask://HOST:PORT, as in "
                "dask://192.0.2.1:8786, or dask:///FILE with the path of its scheduler file"
            )


@contextmanager
def connect(placement: DaskPlacement) -> Iterator[Client]:
    """A connection to the cluster's scheduler, by TLS where Dask is configured for it."""
    try:
        import dask  # noqa: PLC0415
        from distributed import Client  # noqa: PLC0415
    except ImportError:
        raise PosseError(
            '--on dask://… needs Dask; run: pip install "posse-bandits[dask]"'
        ) from None
    where = urlsplit(placement.on)
    protocol = "tls" if dask.config.get("distributed.comm.tls.client.cert", None) else "tcp"
    try:
        if where.netloc:
            address = f"{protocol}://{where.netloc}"
        else:
            address = from_json(files.read(Path(where.path)), dict[str, str])["address"]
        client = Client(address, timeout=_ANSWERS)
    except (OSError, TimeoutError, ValueError, KeyError) as error:
        raise PosseError(
            f"--on {placement.on}: no scheduler answers there ({error}); give the address that "
            "dask scheduler prints, as in dask://192.0.2.1:8786"
        ) from None
    with client:
        yield client


@contextmanager
def leash(client: Client) -> Iterator[str]:
    """Yield the name of a Dask event that is set when the context ends; see `heeding`."""
    from distributed import Event  # noqa: PLC0415

    name = f"posse-leash-{os.urandom(8).hex()}"
    try:
        yield name
    finally:
        Event(name, client).set()


@contextmanager
def heeding(client: Client, name: str, act: Callable[[], None]) -> Iterator[None]:
    """Call `act` in a thread when the `leash` of this name is pulled before the context ends."""
    from distributed import Event  # noqa: PLC0415

    stop = threading.Event()

    def wait() -> None:
        with suppress(Exception):  # a cluster that is gone cannot pull the leash
            Event(name, client).wait()
            if not stop.is_set():
                act()

    threading.Thread(target=wait, daemon=True).start()
    try:
        yield
    finally:
        stop.set()


def on_workers(
    client: Client, work: Callable[[A], B], items: Sequence[A]
) -> Iterator[tuple[int, B | PosseError]]:
    """Like `posse.engines.start.pool.on_all_cores`, but on the workers of a cluster."""
    from distributed import as_completed  # noqa: PLC0415
    from distributed.scheduler import KilledWorker  # noqa: PLC0415

    futures = [client.submit(outcome, work, item, pure=False) for item in items]
    places = {future.key: place for place, future in enumerate(futures)}
    for future in as_completed(futures):
        try:
            yield places[future.key], future.result()
        except KilledWorker as error:
            yield places[future.key], RunFailed(f"a run ended because its Dask worker did: {error}")


def threads(client: Client) -> int:
    """How many tasks the workers of a cluster carry out at once."""
    together: int = sum(client.nthreads().values())
    return together


def a_worker(client: Client, placement: DaskPlacement, plan: Plan) -> str:
    """Wait until the cluster has enough workers; returns the address of one of them."""
    needed = math.ceil(plan.spec.agents.count / placement.per_worker) if placement.per_worker else 1
    patience = plan.spec.engine.joining
    try:
        client.wait_for_workers(needed, timeout=patience)
    except TimeoutError:
        raise PosseError(
            f"--on {placement.on}: has {len(client.nthreads())} workers after {patience:g} s, but "
            f"{needed} are needed; start more"
        ) from None
    worker: str = next(iter(client.nthreads()))
    return worker.replace("tls://", "tcp://")
