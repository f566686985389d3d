"""Other systems that can carry a star and a mesh, each agent in a process of its own."""

import asyncio
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent import futures
from functools import cached_property
from multiprocessing import get_context
from typing import Any, Self

TOLD, ANSWER = 100, 830
"""Bytes to an agent, or to a neighbour; bytes from an agent."""

_SLOT = struct.Struct("<I")


def _frame(slot: int) -> bytes:
    return _SLOT.pack(slot) + bytes(TOLD - _SLOT.size)


class Peer:
    """Agents that are up from `__enter__` to `__exit__`; `star` and `mesh` take seconds."""

    def __init__(self, neighbours: Sequence[tuple[int, ...]], turns: int, slots: int) -> None:
        self.neighbours, self.turns, self.slots = neighbours, turns, slots
        self.agents = len(neighbours)
        self.folder = tempfile.TemporaryDirectory(prefix="bench-")
        self.children: list[Any] = []

    def spawn(self, body: Callable[..., None]) -> None:
        """A process for each agent."""
        for rank, near in enumerate(self.neighbours):
            given = self.folder.name, rank, near, self.slots
            self.children.append(get_context("spawn").Process(target=body, args=given, daemon=True))
            self.children[-1].start()

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *error: object) -> None:
        self.down()
        for child in self.children:
            child.terminate()
            child.join()
        self.folder.cleanup()

    def up(self) -> None:
        """Start."""

    def down(self) -> None:
        """End."""

    def turn(self) -> None:
        """Tell all, and hear from all."""

    def lockstep(self) -> None:
        """All slots of the mesh."""

    def star(self) -> float:
        began = time.perf_counter()
        for _ in range(self.turns):
            self.turn()
        return time.perf_counter() - began

    def mesh(self) -> float:
        began = time.perf_counter()
        self.lockstep()
        return time.perf_counter() - began


# --- pyzmq: blocking sockets, or asyncio in the agents --------------------------------------------


def _connected(context: Any, folder: str, rank: int, near: tuple[int, ...]) -> tuple[Any, ...]:
    import zmq

    kinds = zmq.DEALER, zmq.PULL, *[zmq.PUSH] * len(near)
    hub, inbox, *peers = (context.socket(kind) for kind in kinds)
    inbox.bind(f"ipc://{folder}/{rank}")
    hub.connect(f"ipc://{folder}/hub")
    for peer, n in zip(peers, near, strict=True):
        peer.connect(f"ipc://{folder}/{n}")
    return hub, inbox, peers


def _blocking_agent(folder: str, rank: int, near: tuple[int, ...], slots: int) -> None:
    import zmq

    hub, inbox, peers = _connected(zmq.Context(), folder, rank, near)
    hub.send(b"here")
    while True:
        if len(hub.recv()) > 1:
            hub.send(bytes(ANSWER))
            continue
        heard: Counter[int] = Counter()
        for slot in range(slots):
            for peer in peers:
                peer.send(_frame(slot))
            while heard[slot] < len(near):
                heard[_SLOT.unpack_from(inbox.recv())[0]] += 1
        hub.send(b"done")


class Pyzmq(Peer):
    agent: Callable[..., None] = staticmethod(_blocking_agent)
    hub: Any

    def up(self) -> None:
        import zmq

        self.hub = zmq.Context.instance().socket(zmq.ROUTER)
        self.hub.bind(f"ipc://{self.folder.name}/hub")
        self.spawn(self.agent)
        self.names = [self.hub.recv_multipart()[0] for _ in range(self.agents)]

    def turn(self, told: bytes = bytes(TOLD)) -> None:
        for name in self.names:
            self.hub.send_multipart((name, told))
        for _ in self.names:
            self.hub.recv_multipart()

    def lockstep(self) -> None:
        self.turn(b"m")

    def down(self) -> None:
        self.hub.close(linger=0)


async def _asyncio_main(folder: str, rank: int, near: tuple[int, ...], slots: int) -> None:
    import zmq.asyncio

    hub, inbox, peers = _connected(zmq.asyncio.Context(), folder, rank, near)
    await hub.send(b"here")
    while True:
        if len(await hub.recv()) > 1:
            await hub.send(bytes(ANSWER))
            continue
        heard: Counter[int] = Counter()
        for slot in range(slots):
            for peer in peers:
                await peer.send(_frame(slot))
            while heard[slot] < len(near):
                heard[_SLOT.unpack_from(await inbox.recv())[0]] += 1
        await hub.send(b"done")


def _asyncio_agent(*given: Any) -> None:
    asyncio.run(_asyncio_main(*given))


class AsyncioPyzmq(Pyzmq):
    """In the agents; the coordinator is that of `Pyzmq`."""

    agent = staticmethod(_asyncio_agent)


# --- gRPC: a server in each agent, bytes as they are ----------------------------------------------


def _stubs(folder: str, ranks: Sequence[int], method: str) -> list[Any]:
    import grpc

    channels = [grpc.insecure_channel(f"unix:{folder}/{rank}") for rank in ranks]
    for channel in channels:
        grpc.channel_ready_future(channel).result(60)
    return [channel.unary_unary(f"/peer/{method}") for channel in channels]


def _grpc_agent(folder: str, rank: int, near: tuple[int, ...], slots: int) -> None:
    import grpc

    heard: Counter[int] = Counter()
    more = threading.Condition()
    puts: list[Any] = []

    def put(data: bytes, context: object) -> bytes:
        with more:
            heard[_SLOT.unpack_from(data)[0]] += 1
            more.notify()
        return b""

    def run(data: bytes, context: object) -> bytes:
        puts[:] = puts or _stubs(folder, near, "put")
        for slot in range(slots):
            sent = [one.future(_frame(slot)) for one in puts]
            with more:
                while heard[slot] < len(near):
                    more.wait(60)
                heard[slot] = 0
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


class Grpc(Peer):
    def up(self) -> None:
        self.spawn(_grpc_agent)
        self.answer, self.run = (
            _stubs(self.folder.name, range(self.agents), method) for method in ("answer", "run")
        )

    def turn(self) -> None:
        for one in [stub.future(bytes(TOLD)) for stub in self.answer]:
            one.result()

    def lockstep(self) -> None:
        for one in [stub.future(b"") for stub in self.run]:
            one.result()


# --- MPI: broadcast and gather; sends and receives between neighbours -----------------------------


class Apart(Peer):
    """One that starts its agents itself, and prints the seconds of the star and of the mesh."""

    command: tuple[str, ...] = ()

    def star(self) -> float:
        command = [*self.command, sys.executable, "-P", "-m", "bench.peers", type(self).__name__]
        found = subprocess.run(command, capture_output=True, check=True, text=True)
        star, self._mesh = map(float, found.stdout.splitlines()[-1].split())
        return star

    def mesh(self) -> float:
        return self._mesh


class Mpi(Apart):
    def up(self) -> None:
        self.command = ("mpiexec", "-n", str(self.agents + 1))

    @staticmethod
    def main(neighbours: Sequence[tuple[int, ...]], turns: int, slots: int) -> None:
        """The last rank is the coordinator."""
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
        near = neighbours[rank] if rank != hub else ()
        boxes = [bytearray(TOLD) for _ in near]
        for _ in range(slots if near else 0):
            asked = [world.Irecv(box, n) for box, n in zip(boxes, near, strict=True)]
            MPI.Request.Waitall(asked + [world.Isend(told, n) for n in near])
        world.Barrier()
        if rank == hub:
            print(star, time.perf_counter() - began, flush=True)


# --- Ray and Dask: actors -------------------------------------------------------------------------


class Actor:
    """An agent of a star and of a mesh."""

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
    """An agent of posse."""

    def __init__(self, setup: bytes, rank: int) -> None:
        import time as clock

        import msgspec

        from posse.engines.sources import of_this_machine
        from posse.hosts.agent import AgentHost
        from posse.hosts.agent_setup import AgentSetup

        carried = msgspec.msgpack.decode(setup, type=AgentSetup)
        self.host = AgentHost(carried, rank, of_this_machine(clock.monotonic_ns))
        self.host.outbox.clear()

    def take(self, frame: bytes) -> list[bytes]:
        """What the agent says to the coordinator's frame."""
        self.host.receive(-1, frame)
        said = [frame for _, frame in self.host.outbox]
        self.host.outbox.clear()
        return said


class Ray(Peer):
    def up(self) -> None:
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")

    @cached_property
    def actors(self) -> list[Any]:
        return self.make(Actor, [()] * self.agents)

    @staticmethod
    def make(kind: type, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        import ray

        made = [ray.remote(num_cpus=0)(kind).remote(*one) for one in given]
        ray.get([one.__ray_ready__.remote() for one in made])
        return made

    @staticmethod
    def ask(method: Any, *given: Any) -> Callable[[], Any]:
        """Call an actor; what is returned waits for its answer."""
        import ray

        asked = method.remote(*given)
        return lambda: ray.get(asked)

    def turn(self) -> None:
        for one in [self.ask(actor.answer, bytes(TOLD)) for actor in self.actors]:
            one()

    def lockstep(self) -> None:
        near = [[self.actors[n] for n in ranks] for ranks in self.neighbours]
        asked = [
            self.ask(actor.run, peers, self.slots)
            for actor, peers in zip(self.actors, near, strict=True)
        ]
        for one in asked:
            one()

    def down(self) -> None:
        import ray

        ray.shutdown()


class Dask(Ray):
    def up(self) -> None:
        from distributed import Client, LocalCluster

        quiet = {"dashboard_address": ":0", "silence_logs": 50}
        self.cluster = LocalCluster(n_workers=self.agents, threads_per_worker=1, **quiet)
        self.client = Client(self.cluster)

    @staticmethod
    def make(kind: type, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        from distributed import default_client

        client = default_client()
        workers = list(client.scheduler_info(n_workers=-1)["workers"])
        return [
            client.submit(
                kind, *one, actor=True, pure=False, workers=[workers[n % len(workers)]]
            ).result()
            for n, one in enumerate(given)
        ]

    @staticmethod
    def ask(method: Any, *given: Any) -> Callable[[], Any]:
        return method(*given).result

    def down(self) -> None:
        self.client.close()
        self.cluster.close()


# --- Flower's simulation: messages from a server's app to clients' --------------------------------


class Flower(Apart):
    @staticmethod
    def main(neighbours: Sequence[tuple[int, ...]], turns: int, slots: int) -> None:
        from flwr.app import ConfigRecord, Message, RecordDict
        from flwr.clientapp import ClientApp
        from flwr.serverapp import ServerApp
        from flwr.simulation import run_simulation

        server, client, took = ServerApp(), ClientApp(), []

        def record(size: int) -> Any:
            return RecordDict({"data": ConfigRecord({"data": bytes(size)})})

        def answer(message: Any, context: object) -> Any:
            return Message(record(ANSWER), reply_to=message)

        def told(grid: Any, context: object) -> None:
            while len(nodes := list(grid.get_node_ids())) < len(neighbours):
                time.sleep(0.1)
            for _ in range(turns + 1):
                grid.send_and_receive([Message(record(TOLD), n, "query") for n in nodes])
                took.append(time.perf_counter())

        client.query()(answer)
        server.main()(told)
        run_simulation(server, client, num_supernodes=len(neighbours))
        print(took[-1] - took[0], 0.0, flush=True)


SYSTEMS: tuple[tuple[str, str, type[Peer], int], ...] = (
    ("bare pyzmq", "zmq", Pyzmq, 1),
    ("zmq.asyncio", "zmq", AsyncioPyzmq, 1),
    ("gRPC", "grpc", Grpc, 4),
    ("MPI", "mpi4py", Mpi, 4),
    ("Ray actors", "ray", Ray, 4),
    ("Dask actors", "distributed", Dask, 16),
    ("Flower's simulation", "flwr", Flower, 80),
)
"""Name, the package that it needs, what runs it, and by how much fewer turns it is given."""
