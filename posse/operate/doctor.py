"""What would hurt a run of this machine's agent: `posse check --join`, before anything is spent."""

import time
from collections.abc import Iterator
from pathlib import Path

import zmq

from posse.engines.inquiry import reach
from posse.engines.start import room
from posse.errors import PosseError
from posse.gates import files, locks
from posse.plan import Plan
from posse.security import noise
from posse.security.address import FORWARDED, is_local, is_loopback, join, split
from posse.security.keys import AgentKeys
from posse.wire.lookup import greets, own_address, reachable_address, unresolved
from posse.wire.sockets import bound, end

_SLOW_DISK = 0.05
"""Seconds of a write that an agent waits for before each message of the field."""

_TRIES = 3
"""Writes of which the fastest counts: others may keep the disk busy for a moment."""


def of_machine(plan: Plan) -> Iterator[str]:
    """What this machine lacks for one agent of a plan: platform, limits, memory, noise."""
    try:
        room.require_processes()
        agents = plan.spec.agents.count
        near = max(map(len, plan.network(0).neighbours), default=0)
        room.require(agents, 1, links=(near,) if near else ())
    except PosseError as error:
        yield str(error)
    if plan.field and not noise.is_here():
        yield noise.NEEDED


def of_disk(folder: Path) -> Iterator[str]:
    """What is wrong with the disk on which an agent's ledger and journal are."""
    try:
        took = min(_written(folder) for _ in range(_TRIES))
        if not locks.are_there(folder):
            yield (
                f"{folder} is on a file system without locks, and an agent's ledger needs them; "
                "put its rewards and its run file on a disk of this machine"
            )
    except PosseError as error:
        yield str(error)
    else:
        if took > _SLOW_DISK:
            yield (
                f"a write to {folder} takes {1e3 * took:.0f} ms until it is safe, and an agent "
                "waits for one before each message; use a disk of this machine"
            )


def _written(folder: Path) -> float:
    """Seconds that a write to a folder takes; `InputError` if it fails."""
    before = time.monotonic()
    files.require_room(folder)
    return time.monotonic() - before


def of_coordinator(endpoint: str, keys: AgentKeys | None, wait: float) -> Iterator[str]:
    """What keeps this machine from the coordinator at `endpoint`, which waits for its agents.

    Another version, clock or run file is told to an agent that joins, before anything is spent.
    """
    if trouble := unresolved(endpoint):
        yield trouble
        return
    try:
        reach(endpoint, keys, wait)
    except PosseError as error:
        yield str(error)


def of_inbox(endpoint: str, inbox: str, advertised: str) -> Iterator[str]:
    """Why neighbours would not reach this machine's inbox; seen from this machine."""
    if inbox == FORWARDED:
        return
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.PULL)
    socket.setsockopt(zmq.LINGER, 0)
    try:
        address = bound(socket, inbox or join(own_address(endpoint), "*"))
        address = advertised or reachable_address(address, endpoint)
        if is_loopback(split(address)[0]) and not is_local(endpoint):
            yield (
                f"neighbours would be told {address}, which is themselves on any other machine; "
                "add --inbox tcp://ADDRESS:PORT with this machine's address, or --advertise"
            )
        elif not greets(address):
            yield (
                f"neighbours would be told {address}, and nothing answers there as seen from here; "
                "open the port in the firewall, publish it, or name another by --advertise"
            )
    except OSError as error:
        yield f"this machine has no way to {endpoint}: {error.strerror}"
    except PosseError as error:
        yield str(error)
    finally:
        socket.close()
        end(context)
