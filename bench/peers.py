"""One star and one mesh on posse and on other systems, with a process per agent; and DP-MASE.

The star: 100 bytes to every agent, 830 from each, repeated. The mesh, a ring: 100 bytes to both
neighbours, repeated when theirs have arrived. Rounds of all systems alternate. Systems that are not
installed (`pip install 'posse-bandits[bench]'`) are named and left out. DP-MASE: posse, Ray and
Dask carry the same machines, of `BENCH_MASE_AGENTS` (64).
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from shutil import which
from statistics import median
from typing import Any, Self

import msgspec

from bench import bare
from bench.tables import run_file, show, spread
from posse.agent.host import AgentHost
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import agent_setups
from posse.engines.processes import ProcessEngine
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import SendFrame
from posse.plan import Plan, prepare
from posse.topologies.graphs import ring
from posse.wire.sources import of_this_machine

TOLD, ANSWER = 100, 830
"""Bytes to an agent or to a neighbour; bytes from an agent."""

AGENTS, ROUNDS, TURNS, SLOTS = 8, 3, 400, 240
MASE_AGENTS = int(os.environ.get("BENCH_MASE_AGENTS", "64"))
GRAPH = ring(AGENTS)

Work = Iterator[tuple[Callable[[], float], Callable[[], float]]]
"""Two functions, to be called while agents are up: they run star and mesh, and return seconds."""


def _timed(times: int, work: Callable[[], object]) -> Callable[[], float]:
    def timed() -> float:
        began = time.perf_counter()
        for _ in range(times):
            work()
        return time.perf_counter() - began

    return timed


@contextmanager
def posse(turns: int, slots: int) -> Work:
    star = {"messages": turns, "size": ANSWER, "told": TOLD}
    mesh = {"slots": slots, "size": TOLD}
    raws = (
        run_file("bench.systems:ECHO", AGENTS, parameters=star),
        run_file("bench.systems:MESH", AGENTS, parameters=mesh, topology={"kind": "ring"}),
    )
    with ExitStack() as stack:
        plans = [prepare(raw) for raw in raws]
        one, other = (stack.enter_context(ProcessEngine(plan)) for plan in plans)
        yield (
            lambda: one.run(plans[0], 0).elapsed_seconds,
            lambda: other.run(plans[1], 0).elapsed_seconds,
        )


# --- pyzmq: blocking sockets, or asyncio in the agents --------------------------------------------


@contextmanager
def pyzmq(turns: int, slots: int, **agents: Callable[..., object]) -> Work:
    star = {"agent": agents["star"]} if agents else {}
    mesh = {"agent": agents["mesh"]} if agents else {}
    answer, told = bytes(ANSWER), bytes(TOLD)
    yield (
        lambda: bare.star(AGENTS, turns, answer, told, together=True, **star).seconds,
        lambda: bare.mesh(GRAPH, slots, TOLD, **mesh).seconds,
    )


async def _asyncio_star(messages: int, frame: bytes, folder: str) -> None:
    import zmq.asyncio

    with zmq.asyncio.Context() as context, context.socket(zmq.DEALER) as hub:
        hub.connect(f"ipc://{folder}/hub")
        for _ in range(2):
            await hub.send(b"")
            await hub.recv()
        for _ in range(messages):
            await hub.send(frame)
            await hub.recv()


async def _asyncio_mesh(
    rank: int, near: tuple[int, ...], slots: int, size: int, folder: str
) -> None:
    import zmq.asyncio

    with zmq.asyncio.Context() as context:
        kinds = zmq.DEALER, zmq.PULL, *[zmq.PUSH] * len(near)
        hub, inbox, *peers = (context.socket(kind) for kind in kinds)
        inbox.bind(f"ipc://{folder}/{rank}")
        hub.connect(f"ipc://{folder}/hub")
        await hub.send(b"here")
        await hub.recv()
        for peer, n in zip(peers, near, strict=True):
            peer.connect(f"ipc://{folder}/{n}")
        await hub.send(b"ready")
        await hub.recv()
        heard: Counter[int] = Counter()
        for slot in range(slots):
            for peer in peers:
                await peer.send(bytes([slot & 1]) + bytes(size - 1))
            while heard[slot & 1] < len(near):
                heard[(await inbox.recv())[0]] += 1
            heard[slot & 1] = 0
        await hub.send(b"done")


zmq_asyncio = partial(
    pyzmq,
    star=lambda *given: asyncio.run(_asyncio_star(*given)),
    mesh=lambda *given: asyncio.run(_asyncio_mesh(*given)),
)

# --- gRPC: a server in each agent, bytes as they are ----------------------------------------------


def _stubs(folder: str, ranks: Sequence[int], method: str) -> list[Any]:
    import grpc

    channels = [grpc.insecure_channel(f"unix:{folder}/{rank}") for rank in ranks]
    for channel in channels:
        grpc.channel_ready_future(channel).result(60)
    return [channel.unary_unary(f"/peer/{method}") for channel in channels]


def _call(stubs: Sequence[Any], data: bytes) -> None:
    for one in [stub.future(data) for stub in stubs]:
        one.result()


def _grpc_agent(folder: str, rank: int, near: tuple[int, ...], slots: int) -> None:
    import grpc

    heard: Counter[int] = Counter()
    more = threading.Condition()
    puts: list[Any] = []

    def put(data: bytes, context: object) -> bytes:
        with more:
            heard[data[0]] += 1
            more.notify()
        return b""

    def run(data: bytes, context: object) -> bytes:
        puts[:] = puts or _stubs(folder, near, "put")
        for slot in range(slots):
            sent = [one.future(bytes([slot & 1]) + bytes(TOLD - 1)) for one in puts]
            with more:
                while heard[slot & 1] < len(near):
                    more.wait(60)
                heard[slot & 1] = 0
            for one in sent:
                one.result()
        return b""

    server = grpc.server(futures.ThreadPoolExecutor(4))
    does = {"answer": lambda data, context: bytes(ANSWER), "put": put, "run": run}
    handlers = {name: grpc.unary_unary_rpc_method_handler(do) for name, do in does.items()}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("peer", handlers),))
    server.add_insecure_port(f"unix:{folder}/{rank}")
    server.start()
    server.wait_for_termination()


@contextmanager
def grpc_calls(turns: int, slots: int) -> Work:
    start = get_context("spawn").Process
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        given = [(folder, rank, near, slots) for rank, near in enumerate(GRAPH.neighbours)]
        children = [start(target=_grpc_agent, args=one, daemon=True) for one in given]
        for child in children:
            child.start()
        answer, run = (_stubs(folder, range(AGENTS), method) for method in ("answer", "run"))
        yield _timed(turns, lambda: _call(answer, bytes(TOLD))), _timed(1, lambda: _call(run, b""))
        for child in children:
            child.terminate()
            child.join()


# --- MPI and Flower's simulation start their agents themselves ------------------------------------


@contextmanager
def apart(command: Sequence[str], name: str, turns: int, slots: int) -> Work:
    """A command that runs both and prints the seconds of the star and of the mesh."""
    took: list[float] = []

    def star() -> float:
        module = [sys.executable, "-P", "-m", "bench.peers", name, str(turns), str(slots)]
        said = subprocess.run([*command, *module], capture_output=True, check=True, text=True)
        took[:] = map(float, said.stdout.splitlines()[-1].split())
        return took[0]

    yield star, lambda: took[1]


def mpi(turns: int, slots: int) -> None:
    """Broadcast and gather; sends between neighbours. The last rank is the coordinator."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rank, hub = world.rank, world.size - 1
    told, answer = bytearray(TOLD), bytearray(ANSWER)
    everything = bytearray(ANSWER * world.size) if rank == hub else None
    world.Barrier()
    began = time.perf_counter()
    for _ in range(turns):
        world.Bcast(told, hub)
        world.Gather(answer, everything, hub)
    star = time.perf_counter() - began
    world.Barrier()
    began = time.perf_counter()
    near = GRAPH.neighbours[rank] if rank != hub else ()
    boxes = [bytearray(TOLD) for _ in near]
    for _ in range(slots if near else 0):
        asked = [world.Irecv(box, n) for box, n in zip(boxes, near, strict=True)]
        MPI.Request.Waitall(asked + [world.Isend(told, n) for n in near])
    world.Barrier()
    if rank == hub:
        print(star, time.perf_counter() - began, flush=True)


def flower(turns: int, slots: int) -> None:
    """Messages from a server's app to the clients'; clients exchange none."""
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    server, client, took = ServerApp(), ClientApp(), []

    def record(size: int) -> Any:
        return RecordDict({"data": ConfigRecord({"data": bytes(size)})})

    def told(grid: Any, context: object) -> None:
        while len(nodes := list(grid.get_node_ids())) < AGENTS:
            time.sleep(0.1)
        for _ in range(turns + 1):
            grid.send_and_receive([Message(record(TOLD), n, "query") for n in nodes])
            took.append(time.perf_counter())

    client.query()(lambda message, context: Message(record(ANSWER), reply_to=message))
    server.main()(told)
    run_simulation(server, client, num_supernodes=AGENTS)
    print(took[-1] - took[0], 0.0, flush=True)


# --- Ray and Dask: actors -------------------------------------------------------------------------


class Actor:
    """An agent of star and mesh."""

    def __init__(self) -> None:
        self.heard: Counter[int] = Counter()
        self.more = asyncio.Event()

    async def answer(self, told: bytes) -> bytes:
        return bytes(ANSWER)

    async def put(self, slot: int, told: bytes) -> None:
        self.heard[slot] += 1
        self.more.set()

    async def run(self, peers: Sequence[Any], slots: int) -> None:
        puts = [getattr(peer.put, "remote", peer.put) for peer in peers]
        for slot in range(slots):
            sent = [put(slot, bytes(TOLD)) for put in puts]
            while self.heard[slot] < len(puts):
                self.more.clear()
                await self.more.wait()
            self.heard[slot] = 0
            for one in sent:
                await one


class HostActor:
    """An agent of posse as an actor."""

    def __init__(self, setup: bytes, rank: int) -> None:
        carried = msgspec.msgpack.decode(setup, type=AgentSetup)
        self.host = AgentHost(carried, rank, of_this_machine(time.monotonic_ns))

    def take(self, frame: bytes) -> list[bytes]:
        """Hand over a frame from the coordinator; return the agent's frames."""
        return [sent.frame for sent in self.host.receive(-1, frame) if isinstance(sent, SendFrame)]


class Ray:
    def __enter__(self) -> Self:
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        self._ray = ray
        return self

    def __exit__(self, *error: object) -> None:
        self._ray.shutdown()

    def make(self, kind: type, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        made = [self._ray.remote(num_cpus=0)(kind).remote(*one) for one in given]
        self._ray.get([one.__ray_ready__.remote() for one in made])
        return made

    def ask(self, method: Any, *given: Any) -> Callable[[], Any]:
        """Call an actor; the function returned waits for the answer."""
        return partial(self._ray.get, method.remote(*given))


class Dask:
    def __enter__(self) -> Self:
        from distributed import Client, LocalCluster

        quiet = {"dashboard_address": ":0", "silence_logs": 50}
        self._cluster = LocalCluster(n_workers=AGENTS, threads_per_worker=1, **quiet)
        self._client = Client(self._cluster)
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()
        self._cluster.close()

    def make(self, kind: type, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        workers = list(self._client.scheduler_info(n_workers=-1)["workers"])
        started = [
            self._client.submit(kind, *one, actor=True, pure=False, workers=[workers[n % AGENTS]])
            for n, one in enumerate(given)
        ]
        return [one.result() for one in started]

    def ask(self, method: Any, *given: Any) -> Callable[[], Any]:
        return method(*given).result


@contextmanager
def actors(kind: type[Ray | Dask], turns: int, slots: int) -> Work:
    with kind() as up:
        made = up.make(Actor, [()] * AGENTS)

        def turn() -> None:
            for answer in [up.ask(actor.answer, bytes(TOLD)) for actor in made]:
                answer()

        def lockstep() -> None:
            peers = [[made[n] for n in near] for near in GRAPH.neighbours]
            for ended in [up.ask(a.run, p, slots) for a, p in zip(made, peers, strict=True)]:
                ended()

        yield _timed(turns, turn), _timed(1, lockstep)


SYSTEMS: tuple[tuple[str, str, Callable[[int, int], AbstractContextManager[Any]], int], ...] = (
    ("posse", "posse", posse, 1),
    ("bare pyzmq", "zmq", pyzmq, 1),
    ("zmq.asyncio", "zmq", zmq_asyncio, 1),
    ("gRPC", "grpc", grpc_calls, 4),
    ("MPI", "mpi4py", partial(apart, ("mpiexec", "-n", str(AGENTS + 1)), "mpi"), 4),
    ("Ray actors", "ray", partial(actors, Ray), 4),
    ("Dask actors", "distributed", partial(actors, Dask), 16),
    ("Flower's simulation", "flwr", partial(apart, (), "flower"), 80),
)
"""Name, the package needed, how to run it, and the divisor of its number of turns."""


def compare() -> None:
    rates: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        up = []
        for name, package, start, fewer in SYSTEMS:
            if find_spec(package) is None or (name == "MPI" and not which("mpiexec")):
                print(f"{name} is left out: it is not installed")
                continue
            up.append((name, fewer, stack.enter_context(start(TURNS // fewer, SLOTS // fewer))))
        for number in range(ROUNDS + 1):
            for name, fewer, (star, mesh) in up:
                took = {"star": star(), "mesh": mesh()}
                sent = {"star": 2 * AGENTS * (TURNS // fewer)}
                sent["mesh"] = 2 * GRAPH.size * (SLOTS // fewer)
                for work, seconds in took.items() if number else ():  # the first round warms up
                    if seconds:
                        rates.setdefault((name, work), []).append(sent[work] / seconds)
    rows = []
    for name, _, _ in up:
        row = [name]
        for work in ("star", "mesh"):
            found = rates.get((name, work), [])
            ratios = [a / b for a, b in zip(found, rates["bare pyzmq", work], strict=False)]
            row += [spread(found, "{:,.0f}"), f"{median(ratios):.3f}"] if found else ["", ""]
        rows.append(row)
    show(
        f"{AGENTS} processes, messages/s, {ROUNDS} rounds: median (least-greatest), of bare pyzmq",
        ["", "star", "of bare", "ring", "of bare"],
        rows,
    )


def _carried(plan: Plan, up: Ray | Dask) -> float:
    """Seconds of a run whose frames are arguments and results of actors' calls."""
    network = plan.network(0)
    setups = [msgspec.msgpack.encode(setup) for setup in agent_setups(plan, network)]
    made = up.make(HostActor, [(setup, rank) for rank, setup in enumerate(setups)])
    host = CoordinatorHost(plan, network, 0, of_this_machine(time.monotonic_ns))
    asked: deque[tuple[int, Any]] = deque()
    began = time.perf_counter()
    effects = [*host.begin()]
    while host.record is None:
        for effect in effects:
            if isinstance(effect, SendFrame):
                asked.append((effect.target, up.ask(made[effect.target].take, effect.frame)))
        rank, answer = asked.popleft()
        effects = [effect for frame in answer() for effect in host.receive(rank, frame)]
    return time.perf_counter() - began


def mase() -> None:
    plan = prepare(run_file("dp-mase", MASE_AGENTS, parameters={"epsilon": 0.1}))
    ways: list[tuple[str, Any, Callable[[Any], float]]] = [
        ("posse", partial(ProcessEngine, plan), lambda up: up.run(plan, 0).elapsed_seconds)
    ]
    for name, package, kind in (("Ray", "ray", Ray), ("Dask", "distributed", Dask)):
        if find_spec(package):
            ways.append((name, kind, partial(_carried, plan)))
    rows = []
    for name, start, run in ways:
        began = time.perf_counter()
        with start() as up:
            took = run(up)
            rows.append([name, f"{time.perf_counter() - began:.1f}", f"{took:.2f}"])
    show(
        f"DP-MASE, {MASE_AGENTS} agents, K = 5, ε = .1, seconds",
        ["", "from nothing to the answer", "of this the run"],
        rows,
    )


def main() -> None:
    compare()
    mase()


if __name__ == "__main__":
    if len(sys.argv) > 1:  # a process of a system that starts its agents itself
        {"mpi": mpi, "flower": flower}[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
