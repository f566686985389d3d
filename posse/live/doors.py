"""The doors of a live agent: a Unix socket, or HTTP, each in a thread with a loop of its own."""

import asyncio
import contextlib
import os
import socket
import stat
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from posse.errors import PosseError
from posse.gates import decode, files
from posse.live.service import Service
from posse.live.told import ask, tell

LONGEST = 1 << 20
"""Bytes of a request."""

_TURN = 0.0001
"""Seconds after which the agent's loop lets the door answer, some two medians of an answer: what
1 % of requests wait is mostly this (Python's own is 5 ms)."""

_MOST_AT_ONCE = 1_000
"""Requests of one connection that may be under way; beyond that it is not read."""


class LineRequest(msgspec.Struct, frozen=True):
    """One request over a Unix socket, a line of JSON: `n` comes back with its answer.

    `ask` with a `person` or "", `tell` with pairs of id and reward, or `status`.
    """

    n: int = 0
    ask: str | None = None
    tell: list[tuple[str, float]] | None = None
    status: bool = False


class Doors:
    """One door of a service, open until `close`; `address` is where it is."""

    def __init__(self, service: Service, where: str, token: Path | None, rate: float) -> None:
        self.address = where
        self._service = service
        self._ends = asyncio.Event()
        self._ready = threading.Event()
        self._trouble: Exception | None = None
        if where.startswith("unix:"):
            listener = unix_listener(Path(where[5:]))
            serve = self._lines(listener)
        else:
            from posse.live import http  # noqa: PLC0415  (an extra)

            listener, self.address = http.listener(where)
            secret = http.read_token(token) if token is not None else ""
            host = urlsplit(where).hostname or ""
            serve = http.serve(service, listener, self._ends, secret, rate, host)
        sys.setswitchinterval(_TURN)
        self._listener = listener
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, args=(serve,), name="live door", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Close the door; a socket's file goes with it."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()
        self._listener.close()
        if self.address.startswith("unix:"):
            files.remove(Path(self.address[5:]))

    def _run(self, serve: Any) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(serve)
        finally:
            for task in (tasks := asyncio.all_tasks(self._loop)):
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    # --- the Unix socket -------------------------------------------------------------------------

    async def _lines(self, listener: socket.socket) -> None:
        tasks: set[asyncio.Task[None]] = set()

        # no coroutine: one that was not begun when the door is closed would leave its socket open
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._converse(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            task.add_done_callback(lambda _: writer.close())

        server = await asyncio.start_unix_server(connected, sock=listener, limit=LONGEST)
        await self._ends.wait()
        # before 3.12 who is being accepted while the server closes stays open
        self._loop.remove_reader(listener)
        await _turns()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _turns()  # and these have closed their connections

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        room = asyncio.Semaphore(_MOST_AT_ONCE)
        under_way: set[asyncio.Task[None]] = set()
        with contextlib.suppress(ConnectionError, ValueError):  # a line that is too long
            while line := await reader.readline():
                try:
                    request: LineRequest = decode.from_json(line, LineRequest)
                except decode.Undecodable as error:
                    self._reply(writer, 0, {"error": f"this is no request: {error}"})
                    return
                await room.acquire()
                task = asyncio.ensure_future(self._answer(writer, request))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
                task.add_done_callback(lambda _: room.release())
                await writer.drain()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _answer(self, writer: asyncio.StreamWriter, request: LineRequest) -> None:
        try:
            if request.ask is not None:
                answer: Any = await ask(self._service, request.ask)
            elif request.tell is not None:
                answer = await tell(self._service, request.tell)
            else:
                answer = self._service.status()
        except PosseError as error:
            self._reply(writer, request.n, {"error": str(error)})
            return
        self._reply(writer, request.n, {"answer": answer})

    def _reply(self, writer: asyncio.StreamWriter, n: int, reply: dict[str, Any]) -> None:
        if not writer.is_closing():
            writer.write(msgspec.json.encode({"n": n, **reply}) + b"\n")


async def _turns() -> None:
    """Let the loop turn as often as it needs to make a connection, or to close one."""
    for _ in range(5):
        await asyncio.sleep(0)


def unix_listener(path: Path) -> socket.socket:
    """A listening socket for its owner alone; one that nobody listens at any more is replaced."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        if path.exists() and stat.S_ISSOCK(path.lstat().st_mode):
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(str(path))
                except ConnectionRefusedError:
                    files.remove(path)
                else:
                    raise PosseError(f"unix:{path} is in use by another process; end it first")
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(1_024)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise PosseError(f"unix:{path} cannot be listened at: {error.strerror or error}") from None
    except PosseError:
        listener.close()
        raise
    return listener
