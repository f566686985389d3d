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
from typing import Any

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

POUR = """
import sys, zmq
from pathlib import Path
from posse.wire.sockets import end
from posse.security import keys
from posse.security.zap import connect_with
endpoint, folder, joins, parts = sys.argv[1], sys.argv[2], sys.argv[3] == "joins", int(sys.argv[4])
from tests.support.hostile import HostilePeer
with HostilePeer(endpoint, 0, keys.for_agent(Path(folder), 0) if folder else None) as peer:
    if joins:
        peer.join()
    part = memoryview(bytes(4 << 20))
    peer.socket.setsockopt(zmq.SNDTIMEO, 60_000)
    for _ in range(parts):
        peer.socket.send(part, zmq.SNDMORE, copy=False)
    peer.socket.send(b"")
    print("sent", flush=True)
    sys.stdin.read()
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

    def result(self) -> dict[str, Any]:
        assert self.process.wait(PATIENCE) == 0, self.log()
        document: dict[str, Any] = json.loads((self.folder / "out" / "result.json").read_text())
        return document


@contextmanager
def site(folder: Path, *, keyed: bool = True, run: str = RUN) -> Iterator[Site]:
    here = Site(folder, run, keyed)
    try:
        yield here
    finally:
        here.process.kill()
        here.process.wait()


def bound(test: str) -> float:
    """What the page says of the buffer that this test fills, in MiB."""
    page = (ROOT / "docs/security.md").read_text()
    (peak,) = re.findall(rf"\|([\d.]+)\|`tests/runs/test_floods.py::{test}`", page)
    return float(peak)


def assert_peak(grown: float, test: str) -> None:
    # how much is under way when the door looks is the machine's business: no least amount, and
    # where a flood is ended by a look, half of what was offered
    assert grown <= bound(test), f"{grown:.1f} MiB"


def poured(here: Site, *, joins: bool, parts: int = 300) -> float:
    """By how much a coordinator grew, in MiB, at most, by one message of parts of 4 MiB."""
    before = here.settled()
    folder = "" if here.keys is None else str(here.keys)
    command = [sys.executable, "-c", POUR, here.endpoint, folder, "joins" if joins else "-"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, str(parts)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as peer:
        assert peer.stdout is not None
        try:
            peer.stdout.readline()
            until(lambda: "closed a connection" in here.log(), "that the door closes it")
        finally:
            peer.kill()
    return here.mib("VmHWM") - before


def test_a_message_without_end_of_somebody_who_has_not_joined(tmp_path: Path) -> None:
    for keyed in (True, False):
        folder = tmp_path / str(keyed)
        folder.mkdir()
        with site(folder, keyed=keyed) as here:
            grown = poured(here, joins=False)
            agents = [here.agent(rank) for rank in range(3)]
            assert here.result()["runs"][0]["best_arm"] == 0
            assert [agent.ended() for agent in agents] == [0, 0, 0]
        assert grown <= bound("test_a_message_without_end_of_somebody_who_has_not_joined")
    assert_peak(grown, "test_a_message_without_end_of_somebody_who_has_not_joined")


def test_a_message_without_end_of_an_agent(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        grown = poured(here, joins=True)
    assert_peak(grown, "test_a_message_without_end_of_an_agent")


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


Connect = Callable[[keys.KeyPair], "zmq.Socket[bytes]"]


@contextmanager
def beside_an_honest_agent(here: Site) -> Iterator[tuple[int, Path, Connect]]:
    """Agent 0 in a process of its own: its id, its log, and who connects to its inbox by a key.

    Agent 1 is ours: it joins and is agent 0's neighbour, and its own inbox never listens.
    """
    assert here.keys is not None
    inbox = f"tcp://127.0.0.1:{free_port()}"
    command = [sys.executable, "-P", "-m", "posse", "agent", "--join", here.endpoint]
    command += ["--rank", "0", "--keys", str(here.keys), "--inbox", inbox]
    own = keys.for_agent(here.keys, 1)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 2_000)
    opened: list[zmq.Socket[bytes]] = []
    with (here.folder / "agent-log").open("w") as log:
        honest = subprocess.Popen(command, stderr=log, stdout=log)
    try:
        with HostilePeer(here.endpoint, 1, own) as peer:
            peer.join(f"tcp://127.0.0.1:{free_port()}")
            configure = peer.until("Configure")
            server = msgspec.msgpack.decode(configure[2], strict=False)["keys"][0]

            def connect(pair: keys.KeyPair) -> zmq.Socket[bytes]:
                opened.append(socket_ := context.socket(zmq.PUSH))
                socket_.setsockopt(zmq.LINGER, 0)
                socket_.setsockopt(zmq.SNDTIMEO, 60_000)
                connect_with(socket_, pair.public, pair.secret, server)
                socket_.connect(inbox)
                return socket_

            yield honest.pid, here.folder / "agent-log", connect
    finally:
        honest.kill()
        honest.wait()
        for socket_ in opened:
            socket_.close(0)
        end(context)


def test_a_message_without_end_of_a_neighbour(tmp_path: Path) -> None:
    with (
        site(tmp_path, run=MESH) as here,
        beside_an_honest_agent(here) as (pid, log, connect),
    ):
        before = settled(pid)
        assert here.keys is not None
        neighbour = connect(keys.for_agent(here.keys, 1).own)
        part = memoryview(bytes(4 << 20))
        for _ in range(300):
            neighbour.send(part, zmq.SNDMORE, copy=False)
        neighbour.send(b"")
        until(lambda: "closed a connection" in log.read_text(), "that the door closes it")
        grown = mib(pid, "VmHWM") - before
    assert_peak(grown, "test_a_message_without_end_of_a_neighbour")


def test_strangers_at_an_inbox_leave_few_lines_and_a_neighbour_gets_in(tmp_path: Path) -> None:
    """Keys that nobody named: each is a question that waits, and is not let in."""
    with (
        site(tmp_path, run=MESH) as here,
        beside_an_honest_agent(here) as (pid, log, connect),
    ):
        before = settled(pid)
        for _ in range(1_000):
            public, secret = (key.decode() for key in zmq.curve_keypair())
            connect(keys.KeyPair(public, secret))
        until(
            lambda: "too many connections have not joined" in log.read_text(),
            "that the door closes them",
        )
        assert here.keys is not None
        neighbour = connect(keys.for_agent(here.keys, 1).own)
        neighbour.send(bytes(40))  # only when it is connected
        grown = mib(pid, "VmHWM") - before
        assert len(log.read_text().splitlines()) < 60
    assert_peak(grown, "test_strangers_at_an_inbox_leave_few_lines_and_a_neighbour_gets_in")


def test_a_message_without_end_of_a_coordinator(tmp_path: Path) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.LINGER, 0)
    router.setsockopt(zmq.RCVTIMEO, int(1000 * PATIENCE))
    router.setsockopt(zmq.SNDHWM, 0)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    command = [sys.executable, "-P", "-m", "posse", "agent", "--join", f"tcp://127.0.0.1:{port}"]
    with (tmp_path / "log").open("w") as log:
        agent = subprocess.Popen(command, stderr=log, stdout=log, cwd=tmp_path)
    try:
        identity, _ = router.recv_multipart()
        before = settled(agent.pid)
        part = memoryview(bytes(4 << 20))
        router.send(identity, zmq.SNDMORE)
        for _ in range(300):
            router.send(part, zmq.SNDMORE, copy=False)
        router.send(b"")
        until(
            lambda: "closed the connection" in (tmp_path / "log").read_text(),
            "that the door closes it",
        )
        grown = mib(agent.pid, "VmHWM") - before
    finally:
        agent.kill()
        agent.wait()
        router.close(0)
        end(context)
    assert_peak(grown, "test_a_message_without_end_of_a_coordinator")


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
        agents = [here.agent(rank) for rank in range(3)]
        assert here.result()["runs"][0]["best_arm"] == 0
        assert [agent.ended() for agent in agents] == [0, 0, 0]
    assert len(here.log().splitlines()) < 60


def test_one_key_with_many_connections_that_say_nothing_keeps_no_agent_out(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        context.set(zmq.MAX_SOCKETS, 2_000)
        idle: list[zmq.Socket[bytes]] = []
        assert here.keys is not None
        pair = keys.for_agent(here.keys, 0)
        try:
            for _ in range(520):
                idle.append(context.socket(zmq.DEALER))
                connect_with(idle[-1], pair.own.public, pair.own.secret, pair.coordinator)
                idle[-1].connect(here.endpoint)
            until(
                lambda: "too many connections have not joined" in here.log(),
                "that the door closes them",
            )
            agents = [here.agent(rank) for rank in range(3)]
            assert here.result()["runs"][0]["best_arm"] == 0
            assert [agent.ended() for agent in agents] == [0, 0, 0]
        finally:
            for socket_ in idle:
                socket_.close(0)
            end(context)


def test_strangers_keys_and_garbage_leave_few_lines_and_no_descriptor(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        assert here.keys is not None
        before, descriptors = here.settled(), here.descriptors()
        server = keys.for_agent(here.keys, 0).coordinator
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            for _ in range(300):
                public, secret = (key.decode() for key in zmq.curve_keypair())
                stranger = context.socket(zmq.DEALER)
                connect_with(stranger, public, secret, server)
                stranger.connect(here.endpoint)
                time.sleep(0.005)
                stranger.close(0)
            strangers = [here.knock(number) for number in range(1_000)]
            for garbage in strangers:
                with garbage, suppress(OSError):
                    garbage.sendall(os.urandom(100))
        finally:
            end(context)
        until(lambda: here.descriptors() <= descriptors + 20, "descriptors that are given back")
        grown = here.mib("VmHWM") - before  # before the run, which may end the process at once
        agents = [here.agent(rank) for rank in range(3)]
        assert here.result()["runs"][0]["best_arm"] == 0
        assert [agent.ended() for agent in agents] == [0, 0, 0]
        assert len(here.log().splitlines()) < 60
    assert_peak(grown, "test_strangers_keys_and_garbage_leave_few_lines_and_no_descriptor")


def test_frames_without_end_of_an_agent(tmp_path: Path) -> None:
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
    assert_peak(grown, "test_frames_without_end_of_an_agent")
