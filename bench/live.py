"""Live arms: what a decision costs, over HTTP beside a constant answer, on disk beside SQLite.

And how long requests wait while other things go on, and what delays cost in regret.
"""

import asyncio
import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from starlette.responses import Response
from starlette.routing import Route, Router

from bench.tables import compare, hold, show
from posse import run
from posse.live import Agent, LiveDecision, LiveError, RewardRefused, http, service
from posse.live.desk import DeskSettings
from posse.live.service import Service
from posse.live.store import _ASK, _CLOSE, _SCHEMA
from posse.testing.hosts import free_port

ROUNDS = 5
ASKS = 50_000
BAR_ASK = 20.0
"""Microseconds of a processor."""
BAR_HTTP = 0.5
BAR_DURABLE = 10_000.0
"""Rewards a second."""
BAR_TAIL = 3.0

CONNECTIONS, SECONDS = 16, 1.5
GROUP = 500

NAMES = ("a", "b", "c")
MEANS = (0.3, 0.5, 0.7)


def opened(path: Path | None = None) -> Service:
    made = Service(DeskSettings(names=NAMES, timeout=3_600.0, open=10**6), path)
    made.begin(b"bench")
    made.order(object(), (0, 1, 2), (10**6,) * 3 if path is None else (10**5,) * 3, explore=False)
    return made


# --- in process ----------------------------------------------------------------------------------


def asks() -> None:
    made = opened()
    spans = []
    for _ in range(ROUNDS):
        before = time.thread_time()
        for _ in range(ASKS):
            made.ask()
        spans.append((time.thread_time() - before) / ASKS * 1e6)
    made.close()
    show(
        "ask in process, microseconds of a processor",
        ["", "least", "greatest"],
        [["ask", f"{min(spans):.1f}", f"{max(spans):.1f}"]],
    )
    hold("ask in process, µs", float(np.median(spans)), BAR_ASK, most=True)


# --- HTTP ----------------------------------------------------------------------------------------


def _load(port: int, path: str, seconds: float, answers: Any) -> None:
    """Requests from several connections, one after the other on each."""
    body = b"{}"
    request = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body

    async def ask(until: float) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        count = 0
        while time.monotonic() < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            count += 1
        writer.close()
        return count

    async def all_of_them() -> int:
        until = time.monotonic() + seconds
        return sum(await asyncio.gather(*(ask(until) for _ in range(CONNECTIONS))))

    answers.put(asyncio.run(all_of_them()) / seconds)


def _rate(port: int, path: str) -> tuple[float]:
    context = get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_load, args=(port, path, SECONDS, answers))
    process.start()
    rate: float = answers.get(timeout=60)
    process.join()
    return (rate,)


def over_http() -> None:
    made = opened()
    listening, address = http.listener("http://127.0.0.1:0")
    ends = asyncio.Event()
    inner = http.application(made)

    async def constant(request: Any) -> Response:
        await request.body()
        return Response(
            b'{"id":"1-0123456789ab","arm":1,"name":"b"}', 200, None, "application/json"
        )

    same = http.Guarded(Router(routes=[Route("/constant", constant, methods=["POST"])]), "", 0.0)

    async def both(scope: Any, receive: Any, send: Any) -> None:
        await (same if scope["path"] == "/constant" else inner)(scope, receive, send)

    http_application, http.application = http.application, lambda *_: both
    loop = asyncio.new_event_loop()
    thread = threading.Thread(
        target=loop.run_until_complete, args=(http.serve(made, listening, ends, "", 0.0),)
    )
    thread.start()
    port = int(address.rpartition(":")[2])
    try:
        ways = {
            "ask": partial(_rate, port, "/v1/ask"),
            "constant": partial(_rate, port, "/constant"),
        }
        (ratio,) = compare(
            "HTTP, requests a second", ROUNDS, ways, {"rate": (itemgetter(0), "{:.0f}")}
        )
    finally:
        http.application = http_application
        loop.call_soon_threadsafe(ends.set)
        thread.join()
        loop.close()
        listening.close()
        made.close()
    hold("ask over HTTP beside a constant answer", ratio, BAR_HTTP)


# --- on disk -------------------------------------------------------------------------------------


def _told(count: int = 20_000) -> tuple[float]:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        made = opened(Path(folder) / "x.decisions")
        ids = []
        done = threading.Semaphore(0)
        for _ in range(count):
            made.ask_soon("", lambda d: ids.append(d.id))
        made.store.flush()
        began = time.monotonic()
        for first in range(0, count, GROUP):
            group = [(id_, 1.0) for id_ in ids[first : first + GROUP]]
            made.tell_soon(group, lambda _: done.release())
        for _ in range(0, count, GROUP):
            done.acquire()
        took = time.monotonic() - began
        made.close()
    return (count / took,)


def _sqlite(count: int = 20_000) -> tuple[float]:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        db = sqlite3.connect(Path(folder) / "x", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        for n in range(1, count + 1):
            db.execute(_ASK, (n, 1, 0, n, 0.0, b""))
        db.execute("COMMIT")
        began = time.monotonic()
        for first in range(1, count + 1, GROUP):
            db.execute("BEGIN IMMEDIATE")
            for n in range(first, min(first + GROUP, count + 1)):
                db.execute(_CLOSE, (1, n, 1.0, n))
            db.execute("COMMIT")
        took = time.monotonic() - began
        db.close()
    return (count / took,)


def on_disk() -> None:
    compare(
        f"durable rewards a second, in groups of {GROUP}",
        ROUNDS,
        {"tell": _told, "SQLite alone": _sqlite},
        {"rate": (itemgetter(0), "{:.0f}")},
    )
    hold("tell, durable, a second", float(np.median([_told()[0] for _ in range(3)])), BAR_DURABLE)


# --- delays --------------------------------------------------------------------------------------


class Delayed:
    """An application with rewards this many requests late; counts what its visitors lose."""

    def __init__(self, rank: int, delay: int, requests: int) -> None:
        self.lost, self.idle = 0.0, 0
        self._rank, self._delay, self._requests = rank, delay, requests
        self._draw = random.Random(rank)
        self._ends = threading.Event()
        self.thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        waiting: list[tuple[Any, float]] = []
        found, asked = None, 0
        while not self._ends.is_set():
            found = next((s for s in service.services() if s.rank == self._rank), None)
            if found is None:
                time.sleep(0.005)
                continue
            decision = found.ask()
            if decision.idle == "waits" and not waiting:
                time.sleep(0.0005)  # for others: at this speed nobody visits meanwhile
                continue
            if asked < self._requests:
                asked += 1
                self.lost += max(MEANS) - MEANS[decision.arm]
                self.idle += decision.idle == "waits"
            waiting.append((decision, float(self._draw.random() < MEANS[decision.arm])))
            if len(waiting) > self._delay:
                told, reward = waiting.pop(0)
                if not told.idle:
                    found.tell(told.id, reward)
            if decision.idle == "over" and asked >= self._requests:
                return

    def stop(self) -> None:
        self._ends.set()
        self.thread.join()


def delays(requests: int = 20_000) -> None:
    rows = []
    for system, agents, parameters in (
        ("dp-mase", 5, {"epsilon": 0.5}),
        ("cdp-mab", 3, {"horizon": 20_000, "epsilon": 1.0}),
    ):
        row: list[object] = [f"{system}, {agents} agents"]
        for delay in (0, 10, 1_000):
            raw = {
                "system": system,
                "seed": 1,
                "agents": {"count": agents},
                "arms": {"kind": "live", "names": list(NAMES), "durable": False},
                "parameters": parameters,
                "engine": {"kind": "memory"},
            }
            shops = [Delayed(rank, delay, requests) for rank in range(agents)]
            for shop in shops:
                shop.thread.start()
            run(raw)
            for shop in shops:
                shop.thread.join(60)
                shop.stop()
            lost = sum(shop.lost for shop in shops) / agents
            idle = sum(shop.idle for shop in shops) / (agents * requests)
            row.append(f"{lost:.0f} ({100 * idle:.0f} % waiting)")
            service.close_all()
        rows.append(row)
    show(
        f"regret of an agent's first {requests:,} requests, by the requests until a reward comes",
        ["", "0", "10", "1,000"],
        rows,
    )


# --- tails ---------------------------------------------------------------------------------------

RUN = """
system = "cdp-mab"
seed = 1
[agents]
count = 2
[arms]
kind = "live"
names = ["a", "b", "c"]
listen = "unix:shop-{rank}.sock"
timeout = 5.0
durable = %s
[parameters]
horizon = 1_000_000
epsilon = 1.0
[engine]
durable = true
absence = 600.0
deadline = 600.0
"""
ASKED = 3_000
PATIENCE = 120.0


def _bare(where: str, durable: bool, opens: Any) -> None:
    """A door that does nothing but answer, after a commit if decisions are durable."""
    db = sqlite3.connect(f"{where}.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.executescript(_SCHEMA)
    with socket.create_server(where, family=socket.AF_UNIX) as server:
        opens.set()
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as lines:
            for n, _ in enumerate(lines):
                if durable:
                    db.execute(_ASK, (n, 1, 0, n, 0.0, b""))
                answer = {"id": f"{n:x}-0123456789ab", "arm": 1, "name": "b", "idle": ""}
                connection.sendall(json.dumps({"n": 0, "answer": answer}).encode() + b"\n")


def _visits(where: str, bare: str, asked: Any) -> None:
    """An application; for each number it is sent it says how long this many asks took.

    In turn of the agent and of the bare door, if there is one. Only those whose rewards are not
    used, or only those whose are, if that is said.
    """
    draw = random.Random(1)
    agent, other = Agent(where), Agent(bare) if bare else None

    def ask(door: Agent) -> tuple[float, LiveDecision]:
        began = time.perf_counter()
        decision = door.ask()
        return time.perf_counter() - began, decision

    while True:
        count, idle = asked.recv()
        spans: tuple[list[float], list[float]] = ([], [])
        while len(spans[0]) != count:
            with suppress(LiveError, RewardRefused):
                took, decision = ask(agent)
                if bool(decision.idle) is idle or idle is None:
                    spans[0].append(took)
                    spans[1].extend([] if other is None else [ask(other)[0]])
                agent.tell(decision, float(draw.random() < MEANS[decision.arm]))
        asked.send(spans)


class Shop:
    """An application in a process of its own."""

    def __init__(self, stack: ExitStack, where: str, bare: str = "") -> None:
        context = get_context("spawn")
        self._here, there = context.Pipe()
        process = context.Process(target=_visits, args=(where, bare, there), daemon=True)
        process.start()
        stack.callback(process.join)
        stack.callback(process.kill)

    def begin(self, count: int = -1, idle: bool | None = None) -> None:
        """Begin to ask, without end unless told how often."""
        self._here.send((count, idle))

    def asked(self, count: int, idle: bool | None = None) -> tuple[list[float], list[float]]:
        """How long this many asks of the agent took, and of the bare door in turn with them."""
        self.begin(count, idle)
        if not self._here.poll(PATIENCE):
            raise TimeoutError(f"{count} asks took longer than {PATIENCE:g} s")
        spans: tuple[list[float], list[float]] = self._here.recv()
        return spans


def tails(durable: bool) -> None:
    """99 % of asks against the median, in three states of an agent's process.

    `durable`: of those that are written down, in a run only: while the coordinator is away and an
    order is done, requests are idle.
    """
    rows = []
    with tempfile.TemporaryDirectory(dir=".") as name, ExitStack() as stack:
        folder = Path(name).resolve()
        (folder / "run.toml").write_text(RUN % ("true" if durable else "false"))
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        run_file, bare = str(folder / "run.toml"), f"{folder}/bare.sock"

        def start(*arguments: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-P", "-m", "posse", *arguments, "--quiet"]
            made = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(made.wait)
            stack.callback(made.kill)
            return made

        context = get_context("spawn")
        opens = context.Event()
        door = context.Process(target=_bare, args=(bare, durable, opens), daemon=True)
        door.start()
        stack.callback(door.join)
        stack.callback(door.kill)
        opens.wait(30)
        coordinator = start("coordinator", run_file, "--bind", endpoint, "--out", f"{folder}/out")
        for rank in range(2):
            own = ["--run", run_file, "--rank", str(rank), "--lab"]
            start("agent", "--join", endpoint, *own)
        shop = Shop(stack, f"unix:{folder}/shop-0.sock", f"unix:{bare}")
        Shop(stack, f"unix:{folder}/shop-1.sock").begin()
        idle = False if durable else None
        shop.asked(500, idle)
        spans = {"a run, its journal and checkpoints": shop.asked(ASKED, idle)}
        if not durable:  # which waits then, and nothing is written
            coordinator.send_signal(signal.SIGSTOP)
            spans["the coordinator stands still"] = shop.asked(ASKED, idle)
            coordinator.kill()
            spans["the coordinator is gone"] = shop.asked(ASKED, idle)
    kind = "on disk" if durable else "not on disk"
    for state, both in spans.items():
        row = [state]
        for taken in both:
            middle, tail = np.quantile(taken, [0.5, 0.99])
            row += [f"{1e3 * middle:.2f}", f"{1e3 * tail:.2f}", f"{tail / middle:.2f}"]
        rows.append(row)
        # on a machine that others use, no door does better than one that only answers
        bar = max(BAR_TAIL, float(row[6]))
        hold(f"99 % of ask against the median, {kind}: {state}", float(row[3]), bar, most=True)
    show(
        f"ask over a Unix socket, {kind}, ms; and a bare door asked in turn with it",
        ["", "median", "99 %", "ratio", "bare", "99 %", "ratio"],
        rows,
    )


def main() -> None:
    asks()
    over_http()
    on_disk()
    tails(durable=False)
    tails(durable=True)
    delays()
