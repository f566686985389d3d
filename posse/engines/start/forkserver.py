"""The fork server: a process that loads the libraries once and forks agents.

`ForkServer` starts it and sends it requests. It takes over the `sys.path` of the process that
starts it, to which a script may have added. It forks the agents of each `Crew` that comes on its
standard input. That pipe is also the leash: only the process that runs the posse holds its writing
end. When that process dies, in whatever way, the fork server and every agent see the pipe close,
and leave.

The fork server reports each agent's death on standard output. What the user's own code prints goes
to standard error.
"""

import _thread
import contextlib
import functools
import gc
import logging
import os
import resource  # noqa: F401  (the world's, when an agent reports: half a MB in each)
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import numpy.ma  # loaded lazily otherwise, once in every agent, as numpy.random is
import numpy.random  # noqa: F401
import zmq

from posse import log, own_code
from posse.agent.guard import Guard
from posse.agent.joining import Joining
from posse.agent.process import AgentProcess
from posse.agent.site import AgentSite
from posse.agent.uplink import Uplink
from posse.coordinator.crew import Crew, Died, Starter, journal_of
from posse.durable.capture import Capture
from posse.durable.journal import Journal
from posse.engines import memory
from posse.engines.start.immortal import make_immortal
from posse.engines.start.room import FEW_TASKS, RAISE_TASKS
from posse.errors import SpecError
from posse.gates import code
from posse.gates.decode import Packed
from posse.live.service import close_all
from posse.plan import Plan, prepare
from posse.protocol import control
from posse.security.keys import AgentKeys
from posse.system import find_system
from posse.wire.resources import share
from posse.wire.sockets import Selector
from posse.wire.world import HERE, SharedWorld, World

_DEATH = struct.Struct("<ii")
"""Rank and exit code of an agent that died."""

_DEFECT = 70
"""Exit code of a process whose own code failed (EX_SOFTWARE)."""

_NO_ROOM = 71
"""Exit code of a process that could not start a thread (EX_OSERR)."""

_NOT_FORKED = -1
"""In place of a rank: no process more could be forked."""

_GRACE = 3.0
_MANY = 8
"""Agents per core above which they count as many."""
_CROWD = 32
"""From this many agents on it pays to look at all objects once: that takes a tenth of a second."""
_BEHIND = 5
"""Niceness added to agents: the coordinator then gets three times the core time of an agent."""

_ROUND = 10.0
"""Seconds in which each agent of a process has its turn, even if all calculate."""

_FEW = f"{FEW_TASKS}; {RAISE_TASKS}, or use fewer agents"

LEASH = 0

_START = """import sys
sys.path[:] = sys.argv[3:]
from posse.engines.start.forkserver import main
main()
"""

_REHEARSAL = {
    "system": "dp-mase",
    "agents": {"count": 6},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
    "parameters": {"epsilon": 5.0, "beta": 0.2},
    "engine": {"plain": True},  # the machines, as each agent will run one: no step over arrays
}


class ForkServer(Starter):
    """The fork server, seen from the process that runs the posse."""

    def __init__(self) -> None:
        path = own_code.import_path()
        asked, self._asked = Pipe(duplex=False)
        self._deaths, deaths = Pipe(duplex=False)
        with asked, deaths:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, __name__, code.trusted(), *path],
                stdin=asked.fileno(),
                stdout=deaths.fileno(),
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                process_group=0,  # not a new session: the scheduler would treat that as a group
            )
        self.pid = self._process.pid

    @property
    def deaths(self) -> int:
        return self._deaths.fileno()

    def start(self, crew: Crew) -> None:
        """Fork these agents."""
        self._asked.send_bytes(msgspec.msgpack.encode(crew))

    def next_death(self) -> Died:
        try:
            return of_death(_DEATH.unpack(self._deaths.recv_bytes()))
        except EOFError:
            return of_death(None)

    def close(self) -> None:
        """Close the leash, and kill what is left after ten seconds."""
        self._asked.close()
        self._deaths.close()  # nobody reads it any more, and a full pipe would hold the fork server
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()


def of_death(died: tuple[int, int] | None) -> Died:
    """The death of an agent of which rank and exit code were told; None: of who tells of them."""
    if died is None:
        return Died(None, "the process that starts the agents is gone")
    rank, code = died
    if rank == _NOT_FORKED:
        return Died(None, f"only {code} of the agents' processes could be started: {_FEW}")
    if code == _NO_ROOM:
        return Died(rank, f"agent {rank} could not be started: {_FEW}")
    if code < 0:
        why = f"agent {rank} was killed by {signal.Signals(-code).name}"
        return Died(rank, why, killed=True)
    return Died(rank, f"agent {rank} ended with exit code {code}")


# --- the fork server's own side -------------------------------------------------------------------


def _share_cores(rank: int, agents: int) -> bool:
    """Pin an agent to one core if there are more agents than cores; whether agents are many.

    An agent and its ZeroMQ thread wake each other for every frame. Across cores that takes an
    interrupt, and moves shared cache lines. Many agents also get a lower priority than the
    coordinator: if it lagged behind, connections would end in their handshake, and each of these
    would be retried.
    """
    if not hasattr(os, "sched_setaffinity"):
        return False
    cores = sorted(os.sched_getaffinity(0))
    many = agents > _MANY * len(cores)
    if agents > len(cores):
        if many:
            os.nice(_BEHIND)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {cores[rank % len(cores)]})
    return many


@functools.cache
def _rehearse() -> None:
    """Run a small posse in memory, once; nothing where the papers' systems are not installed.

    Code takes fresh memory when it first runs. If it runs before the fork, all agents share that
    memory, which saves each of them a twentieth.
    """
    with contextlib.suppress(SpecError, ImportError):
        memory.run(prepare(_REHEARSAL), 0)


def _fork(crew: Crew, ranks: dict[int, list[int]]) -> None:
    """Fork every agent, and add its ranks by process id; `OSError` if that fails half way."""
    system = find_system(crew.system, crew.folders)
    plan = None if crew.spec is None else prepare(crew.spec)
    # made before the fork, so that all agents share the memory
    _ = system.agents_codec, Packed(system.parameters)
    _rehearse()
    gc.collect()
    if len(crew.agents) >= _CROWD:
        make_immortal()
    gc.freeze()
    # agents make few cycles: a collection every 700 objects, the default, costs more than it frees
    gc.set_threshold(50_000, 20, 20)
    order = [*crew.agents]
    starts = range(0, len(order), crew.per_process)
    together = [order[start : start + crew.per_process] for start in starts]
    for number, companions in enumerate(together):
        pid = os.fork()
        if pid == 0:
            code = _DEFECT
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                core = companions[0] if crew.per_process == 1 else number
                many = _share_cores(core, len(together))
                try:
                    _thread.start_new_thread(_heed, ())
                except RuntimeError:
                    os._exit(_NO_ROOM)
                code = _serve(crew, companions, plan, many=many)
            except Exception:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                close_all()
                os._exit(code)
        ranks[pid] = companions


def _serve(crew: Crew, ranks: list[int], plan: Plan | None, *, many: bool) -> int:
    """Carry the agents of one process, each in a thread if there are several; an exit code."""
    codes = dict.fromkeys(ranks, _DEFECT)
    world: World = HERE

    def serve(rank: int) -> None:
        try:
            codes[rank] = make_agent(crew, rank, plan, world, many=many).serve()
        except Exception:
            traceback.print_exc()

    if len(ranks) == 1:
        serve(ranks[0])
    else:
        share(len(ranks))
        # each thread that waits for the interpreter wakes up to ask for it, by default every 5 ms:
        # with 50 of them that took most of the time. One that blocks gives it up at once.
        sys.setswitchinterval(min(1.0, _ROUND / len(ranks)))
        if not crew.coordinator:  # one answer to keys is all that a context can have
            context = HERE.context(many=many)
            context.set(zmq.MAX_SOCKETS, context.get(zmq.SOCKET_LIMIT))
            world = SharedWorld(context)
        threads = [threading.Thread(target=serve, args=(rank,)) for rank in ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if world is not HERE:
            HERE.end(world.context())
    return max(codes.values())


def make_agent(
    crew: Crew, rank: int, plan: Plan | None, world: World, *, many: bool
) -> AgentProcess:
    """An agent of a crew, in the process that was started for it."""
    endpoint, own = crew.agents[rank]
    keys = AgentKeys(rank, own, crew.coordinator, crew.signers, None) if own else None
    if plan is None:
        return local_agent(crew, endpoint, rank, keys, many=many, world=world)
    return _elsewhere(crew, endpoint, rank, keys, plan, many=many)


def _heed() -> None:
    """Exit at once when the leash closes, whatever the agent is doing."""
    poller = select.poll()
    poller.register(LEASH, 0)  # only for the hangup: what can be read is for the fork server
    poller.poll()
    os._exit(0)


def local_agent(
    crew: Crew,
    endpoint: str,
    rank: int,
    keys: AgentKeys | None = None,
    *,
    many: bool = False,
    world: World = HERE,
) -> AgentProcess:
    """An agent on the machine of its coordinator; `many`: it shares its core with many."""
    context = world.context(many=many)
    selector = Selector(world.poller())
    guard = None if keys is None else Guard(context, selector, keys.own, world)
    join = control.Join(rank, crew.token, "", os.getpid())
    journal = None
    if crew.journals:  # not synchronous: a loss of power ends the coordinator, too
        path = journal_of(crew.journals, rank)
        journal = Journal(path, f"agent {rank}", synchronous=False)
    return AgentProcess(
        context,
        selector,
        lambda interceptor: Uplink(context, endpoint, interceptor, keys, world=world),
        Joining(join, world.monotonic(), system=crew.system),
        AgentSite(guard, crew.inbox.replace("{rank}", str(rank))),
        Capture(Path(crew.capture)) if crew.capture else None,
        journal,
        world,
    )


def _elsewhere(
    crew: Crew, endpoint: str, rank: int, keys: AgentKeys | None, plan: Plan, *, many: bool
) -> AgentProcess:
    """An agent like that of `posse agent --run`; it logs to the inherited standard error."""
    from posse.agent import remote  # noqa: PLC0415  (not for agents of one machine)

    log.begin(f"agent {rank}", keys is None, logging.INFO if plan.field else logging.ERROR)
    path = journal_of(crew.journals, rank)
    if plan.field:
        path = remote.journal_of(endpoint, rank, plan)
    return remote.remote_agent(
        endpoint,
        rank,
        keys=keys,
        plan=plan,
        lab=True,
        wait=plan.spec.engine.absence,
        journal=path,
        many=many,
    )


def _reap(ranks: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    """The agents that have ended: rank and exit code, negative for a signal."""
    while ranks:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            ranks.clear()
            return
        if pid == 0:
            return
        code = os.waitstatus_to_exitcode(status)
        yield from ((rank, code) for rank in ranks.pop(pid, []))


def main() -> None:
    """Fork agents, report deaths, and let no agent outlive the leash."""
    code.trust(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leash, deaths = Connection(LEASH, writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)
    # line-buffered: agents write to the same stream
    sys.stdout = os.fdopen(1, "w", 1, errors="backslashreplace", closefd=False)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    ranks: dict[int, list[int]] = {}
    poller = select.poll()
    poller.register(woken, select.POLLIN)
    poller.register(LEASH, select.POLLIN | select.POLLHUP)
    try:
        while True:
            ready = {fd for fd, _ in poller.poll()}
            if woken in ready:
                os.read(woken, 4096)
                for died in _reap(ranks):
                    deaths.send_bytes(_DEATH.pack(*died))
            if LEASH in ready:
                try:
                    request = leash.recv_bytes()
                except (EOFError, OSError):
                    return
                try:
                    _fork(Packed[Crew](Crew).read(request), ranks)
                except OSError:
                    deaths.send_bytes(_DEATH.pack(_NOT_FORKED, len(ranks)))
    except BrokenPipeError:
        pass
    finally:
        _end(ranks)


def _end(ranks: dict[int, list[int]]) -> None:
    """Wait `_GRACE` seconds for agents to leave, then kill the rest."""
    deadline = time.monotonic() + _GRACE
    while ranks and time.monotonic() < deadline:
        if not [*_reap(ranks)]:
            time.sleep(0.005)
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
    for pid in ranks:
        os.waitpid(pid, 0)
