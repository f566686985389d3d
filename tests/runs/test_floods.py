"""A coordinator in a process of its own, and who would fill its memory and its descriptors.

The peaks stand in `docs/security.md`; each test reads its line there.
"""

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
import zmq

from posse.protocol import control
from posse.security import keys
from posse.security.zap import connect_with
from posse.wire.sockets import end
from tests.support.blocks import ROOT
from tests.support.hostile import HostilePeer
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, free_port, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is not here"),
]

TOO_MANY = "too many connections have not joined"

FILES = 1_024
"""Descriptors of the coordinator: what many systems give a process."""

RUN = """
system = "central"
[agents]
count = 3
[arms]
kind = "bernoulli"
means = [0.9, 0.1]
[parameters]
delta = 0.2
[engine]
clock = "wall"
deadline = 60.0
"""


def mib(pid: int, which: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(rf"^{which}:\s+(\d+) kB", status, re.M)[0]) / 1024


def settled(pid: int) -> float:
    """A process's memory, once it has imported all that it imports; the peak counts from here."""
    seen = [0.0] * 10

    def calm() -> bool:
        time.sleep(0.05)
        seen.append(mib(pid, "VmRSS"))
        return max(seen[-10:]) - min(seen[-10:]) < 0.5

    until(calm, "a process that waits")
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return seen[-1]


class Site:
    """A coordinator's process, with keys or without."""

    def __init__(self, folder: Path, run: str, keyed: bool) -> None:
        self.folder = folder
        self.keys = folder / "keys" if keyed else None
        (folder / "run.toml").write_text(run)
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        security = ["--insecure"]
        if self.keys is not None:
            keys.create(self.keys, 3)
            security = ["--keys", str(self.keys)]
        command = [sys.executable, "-P", "-m", "posse", "coordinator", "run.toml"]
        command += ["--bind", self.endpoint, "--out", "out", "--quiet", *security]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                ["prlimit", f"--nofile={FILES}:{FILES}", *command],
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        until(self._listens, "a coordinator that listens")

    def _listens(self) -> bool:
        assert self.process.poll() is None, self.log()
        try:
            self.connection().close()
        except OSError:
            return False
        return True

    def connection(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", int(self.endpoint.rpartition(":")[2])), 1)

    def knock(self, source: int) -> socket.socket:
        """A connection from one of 64 other addresses, that nobody waits for."""
        peer = socket.socket()
        peer.setblocking(False)
        peer.bind((f"127.0.1.{1 + source % 64}", 0))
        peer.connect_ex(("127.0.0.1", int(self.endpoint.rpartition(":")[2])))
        return peer

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def mib(self, which: str) -> float:
        return mib(self.process.pid, which)

    def settled(self) -> float:
        return settled(self.process.pid)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def agent(self, rank: int) -> Agent:
        pair = keys.for_agent(self.keys, rank) if self.keys is not None else None
        return Agent(self.endpoint, rank, keys=pair)

    def finishes(self) -> None:
        """Three agents join, and the run ends as if nobody had disturbed it."""
        agents = [self.agent(rank) for rank in range(3)]
        assert self.process.wait(PATIENCE) == 0, self.log()
        document = json.loads((self.folder / "out" / "result.json").read_text())
        assert document["runs"][0]["best_arm"] == 0
        assert [agent.ended() for agent in agents] == [0, 0, 0]


@contextmanager
def site(folder: Path, *, keyed: bool = True, run: str = RUN) -> Iterator[Site]:
    here = Site(folder, run, keyed)
    try:
        yield here
    finally:
        here.process.kill()
        here.process.wait()


@pytest.fixture
def most(request: pytest.FixtureRequest) -> float:
    """What the page says of the buffer that this test fills, in MiB.

    How much is under way when the door looks is the machine's business: no least amount, and where
    a flood is ended by a look, half of what was offered.
    """
    page = (ROOT / "docs/security.md").read_text()
    name = f"tests/runs/test_floods.py::{request.node.originalname}"
    (peak,) = re.findall(rf"\| *([\d.]+) *\| *`{name}`", page)
    return float(peak)


def pour(socket_: "zmq.Socket[bytes]") -> None:
    """One message of 300 parts of 4 MiB."""
    part = memoryview(bytes(4 << 20))
    for _ in range(300):
        socket_.send(part, zmq.SNDMORE, copy=False)
    socket_.send(b"")


def poured(here: Site, *, joins: bool) -> float:
    """By how much a coordinator grew, in MiB, at most, by one message of many parts."""
    before = here.settled()
    pair = None if here.keys is None else keys.for_agent(here.keys, 0)
    with HostilePeer(here.endpoint, 0, pair) as peer:
        if joins:
            peer.join()
        peer.socket.setsockopt(zmq.SNDTIMEO, 60_000)
        pour(peer.socket)
        until(lambda: "closed a connection" in here.log(), "that the door closes it")
    return here.mib("VmHWM") - before


@pytest.mark.parametrize("keyed", [True, False])
def test_a_message_without_end_of_somebody_who_has_not_joined(
    tmp_path: Path, most: float, keyed: bool
) -> None:
    with site(tmp_path, keyed=keyed) as here:
        grown = poured(here, joins=False)
        here.finishes()
    assert grown <= most


def test_a_message_without_end_of_an_agent(tmp_path: Path, most: float) -> None:
    with site(tmp_path) as here:
        assert poured(here, joins=True) <= most


MESH = """
system = "ddp-mab"
[agents]
count = 2
[topology]
kind = "complete"
[arms]
kind = "bernoulli"
means = [0.9, 0.1]
[parameters]
horizon = 2000
epsilon = 1.0
[engine]
deadline = 60.0
"""


Dial = Callable[[int, str, keys.KeyPair, str], "zmq.Socket[bytes]"]


@contextmanager
def dialling() -> Iterator[Dial]:
    """Connects a socket of some kind to an address, by a key, to whom has another; closes all."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 2_000)
    opened: list[zmq.Socket[bytes]] = []

    def dial(kind: int, address: str, pair: keys.KeyPair, server: str) -> "zmq.Socket[bytes]":
        opened.append(made := context.socket(kind))
        made.setsockopt(zmq.SNDTIMEO, 60_000)
        connect_with(made, pair.public, pair.secret, server)
        made.connect(address)
        return made

    try:
        yield dial
    finally:
        for one in opened:
            one.close(0)
        end(context)


def stranger() -> keys.KeyPair:
    """A key that nobody named."""
    public, secret = (key.decode() for key in zmq.curve_keypair())
    return keys.KeyPair(public, secret)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """An agent in a process of its own, whose log is `agent-log` in the folder."""
    command = [sys.executable, "-P", "-m", "posse", "agent", *arguments]
    with (folder / "agent-log").open("w") as log:
        agent = subprocess.Popen(command, stderr=log, stdout=log, cwd=folder)
    try:
        yield agent
    finally:
        agent.kill()
        agent.wait()


@contextmanager
def beside_an_honest_agent(
    here: Site,
) -> Iterator[tuple[int, Path, Callable[[keys.KeyPair], "zmq.Socket[bytes]"]]]:
    """Agent 0 in a process of its own: its id, its log, and who connects to its inbox by a key.

    Agent 1 is ours: it joins and is agent 0's neighbour, and its own inbox never listens.
    """
    assert here.keys is not None
    inbox = f"tcp://127.0.0.1:{free_port()}"
    arguments = ("--join", here.endpoint, "--rank", "0", "--keys", str(here.keys))
    own = keys.for_agent(here.keys, 1)
    with (
        running(here.folder, *arguments, "--inbox", inbox) as honest,
        dialling() as dial,
        HostilePeer(here.endpoint, 1, own) as peer,
    ):
        peer.join(f"tcp://127.0.0.1:{free_port()}")
        configure = peer.until("Configure")
        server = msgspec.msgpack.decode(configure[2], strict=False)["keys"][0]
        log = here.folder / "agent-log"
        yield honest.pid, log, lambda pair: dial(zmq.PUSH, inbox, pair, server)


def test_a_message_without_end_of_a_neighbour(tmp_path: Path, most: float) -> None:
    with (
        site(tmp_path, run=MESH) as here,
        beside_an_honest_agent(here) as (pid, log, connect),
    ):
        before = settled(pid)
        assert here.keys is not None
        pour(connect(keys.for_agent(here.keys, 1).own))
        until(lambda: "closed a connection" in log.read_text(), "that the door closes it")
        assert mib(pid, "VmHWM") - before <= most


def test_strangers_at_an_inbox_leave_few_lines_and_a_neighbour_gets_in(
    tmp_path: Path, most: float
) -> None:
    """Keys that nobody named: each is a question that waits, and is not let in."""
    with (
        site(tmp_path, run=MESH) as here,
        beside_an_honest_agent(here) as (pid, log, connect),
    ):
        before = settled(pid)
        for _ in range(1_000):
            connect(stranger())
        until(lambda: TOO_MANY in log.read_text(), "that the door closes them")
        assert here.keys is not None
        neighbour = connect(keys.for_agent(here.keys, 1).own)
        neighbour.send(bytes(40))  # only when it is connected
        assert mib(pid, "VmHWM") - before <= most
        assert len(log.read_text().splitlines()) < 60


def test_a_message_without_end_of_a_coordinator(tmp_path: Path, most: float) -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.setsockopt(zmq.LINGER, 0)
        router.setsockopt(zmq.RCVTIMEO, int(1000 * PATIENCE))
        router.setsockopt(zmq.SNDHWM, 0)
        port = router.bind_to_random_port("tcp://127.0.0.1")
        with running(tmp_path, "--join", f"tcp://127.0.0.1:{port}") as agent:
            identity, _ = router.recv_multipart()
            before = settled(agent.pid)
            router.send(identity, zmq.SNDMORE)
            pour(router)
            log = tmp_path / "agent-log"
            until(lambda: "closed the connection" in log.read_text(), "that the door closes it")
            assert mib(agent.pid, "VmHWM") - before <= most


def close_all(sockets: Iterable[socket.socket]) -> None:
    for one in sockets:
        one.close()


@contextmanager
def renewed(connect: Callable[[int], socket.socket], count: int) -> Iterator[None]:
    """So many connections, and 500 new ones a second in place of the oldest."""
    held: deque[socket.socket] = deque()
    over = threading.Event()

    def renew() -> None:
        while not over.wait(0.01):
            for _ in range(5):
                held.popleft().close()
                held.append(connect(next(numbers)))

    numbers = itertools.count()
    with ExitStack() as stack:
        stack.callback(close_all, held)
        held.extend(map(connect, range(count)))
        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(over.set)
        yield


def test_strangers_that_connect_and_say_nothing_keep_no_agent_out_and_lose_no_result(
    tmp_path: Path,
) -> None:
    with site(tmp_path) as here, renewed(here.knock, 1_100):
        until(lambda: here.descriptors() < FILES // 4, "that the door closes them")
        here.finishes()
    assert len(here.log().splitlines()) < 60


def test_one_key_with_many_connections_that_say_nothing_keeps_no_agent_out(tmp_path: Path) -> None:
    with site(tmp_path) as here, dialling() as dial:
        assert here.keys is not None
        pair = keys.for_agent(here.keys, 0)
        for _ in range(520):
            dial(zmq.DEALER, here.endpoint, pair.own, pair.coordinator)
        until(lambda: TOO_MANY in here.log(), "that the door closes them")
        here.finishes()


def test_strangers_keys_and_garbage_leave_few_lines_and_no_descriptor(
    tmp_path: Path, most: float
) -> None:
    with site(tmp_path) as here:
        assert here.keys is not None
        before, descriptors = here.settled(), here.descriptors()
        server = keys.for_agent(here.keys, 0).coordinator
        with dialling() as dial:
            for _ in range(300):
                unknown = dial(zmq.DEALER, here.endpoint, stranger(), server)
                time.sleep(0.005)
                unknown.close(0)
            for garbage in [here.knock(number) for number in range(1_000)]:
                with garbage, suppress(OSError):
                    garbage.sendall(os.urandom(100))
        until(lambda: here.descriptors() <= descriptors + 20, "descriptors that are given back")
        # before the run, which may end the process at once
        assert here.mib("VmHWM") - before <= most
        here.finishes()
        assert len(here.log().splitlines()) < 60


def test_frames_without_end_of_an_agent(tmp_path: Path, most: float) -> None:
    """Garbage, questions whose answers are never read, and the largest frames there are."""
    with site(tmp_path) as here:
        before = here.settled()
        assert here.keys is not None
        with HostilePeer(here.endpoint, 0, keys.for_agent(here.keys, 0)) as peer:
            peer.join()
            peer.socket.setsockopt(zmq.SNDTIMEO, int(1000 * PATIENCE))
            for _ in range(100_000):
                peer.socket.send(b"\0" * 40)
            deep = b"po\x01\x01" + bytes(28) + b"\x91" * 1_000_000
            for _ in range(30):
                peer.socket.send(deep)
            others = [here.agent(rank) for rank in (1, 2)]
            until(lambda: all(a.process.joining.belongs for a in others), "the honest agents")
            peer.say(control.Sync(1))
            peer.until("Synced")  # so all before it was taken
            for _ in range(100):
                peer.socket.send(b"po\x01\x01" + bytes((8 << 20) - 4))
            until(
                lambda: "closed a connection" in here.log() or here.mib("VmRSS") < before + 16,
                "that they are taken, or that the door closes it",
            )
        grown = here.mib("VmHWM") - before
        here.process.terminate()
        assert {agent.ended() for agent in others} <= {1, 130}
    assert grown <= most
