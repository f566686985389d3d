"""The nursery: one process that loads the libraries once and forks the agents.

It is started as `python -P -m posse.engines.forkserver`, with -P so that no folder of the user's
working directory hides a package of ours. It reads one `Brood` from its standard input and forks.
That pipe is also the leash: its only writing end is held by the process that runs the posse, and
when it closes, by whatever death, the nursery and every agent read its end and go.

Every agent's death is reported on standard output, one line "rank code".
"""

import contextlib
import gc
import os
import select
import signal
import struct
import sys
import time

import msgspec
import numpy.random  # noqa: F401  (loaded lazily otherwise, once in every agent)

from posse.engines.agent_process import local_agent
from posse.hosts.agent import codec_of

_LENGTH = struct.Struct("<I")
_GRACE = 3.0
_CROWD = 8
"""Agents per core from which they take turns."""
LEASH = 0


class Brood(msgspec.Struct, frozen=True):
    """What to fork: one agent per rank, each joining `endpoint`.

    `inbox` is the address pattern for links between agents, with {rank}; "" where there are none.
    """

    endpoint: str
    token: str
    ranks: list[int]
    system: str
    inbox: str


def pack(brood: Brood) -> bytes:
    """What is written to the nursery's standard input."""
    body = msgspec.msgpack.encode(brood)
    return _LENGTH.pack(len(body)) + body


def _read(count: int) -> bytes:
    data = b""
    while len(data) < count:
        # unbuffered: the agents share this pipe
        chunk = os.read(LEASH, count - len(data))
        if not chunk:
            sys.exit(0)
        data += chunk
    return data


def _agent(brood: Brood, rank: int) -> int:
    inbox = brood.inbox.replace("{rank}", str(rank))
    agent = local_agent(brood.endpoint, rank, brood.token, inbox, leash=LEASH, system=brood.system)
    return agent.serve()


def _take_turns() -> None:
    """Let an agent that a frame wakes wait its turn, as far as the system knows such a policy.

    A frame that arrives otherwise interrupts whoever runs, often the sender amid its sends; with
    many agents on few cores most of the time then goes into changing from one to the other. With
    few, an answer would wait behind whatever else the machine does.
    """
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _fork(brood: Brood) -> dict[int, int]:
    """Fork every agent; returns ranks by process id."""
    ranks: dict[int, int] = {}
    gc.collect()
    gc.freeze()
    # an agent makes many small objects and few cycles: looking for these at every 700th costs more
    # than it frees
    gc.set_threshold(50_000, 20, 20)
    for rank in brood.ranks:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                if len(brood.ranks) > _CROWD * (os.cpu_count() or 1):
                    _take_turns()
                code = _agent(brood, rank)
            finally:
                sys.stderr.flush()
                os._exit(code)
        ranks[pid] = rank
    return ranks


def _reap(ranks: dict[int, int]) -> None:
    while ranks:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            ranks.clear()
            return
        if pid == 0:
            return
        rank = ranks.pop(pid, None)
        if rank is not None:
            print(rank, os.waitstatus_to_exitcode(status), flush=True)


def main() -> None:
    """Fork, report deaths, and let nobody outlive the leash."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    (length,) = _LENGTH.unpack(_read(_LENGTH.size))
    brood = msgspec.msgpack.decode(_read(length), type=Brood)
    codec_of(brood.system)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    ranks = _fork(brood)
    poller = select.poll()
    poller.register(woken, select.POLLIN)
    poller.register(LEASH, select.POLLIN | select.POLLHUP)
    try:
        while True:
            ready = {fd for fd, _ in poller.poll()}
            if woken in ready:
                os.read(woken, 4096)
                _reap(ranks)
            if LEASH in ready:
                return
    except BrokenPipeError:
        pass
    finally:
        _end(ranks)


def _end(ranks: dict[int, int]) -> None:
    """Agents leave by themselves; whoever has not after a while is killed."""
    deadline = time.monotonic() + _GRACE
    while ranks and time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            ranks.pop(pid, None)
        else:
            time.sleep(0.005)
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
    for pid in ranks:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
