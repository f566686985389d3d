"""What an application asks: `Agent`, or `AsyncAgent` for asyncio. It needs nothing but Python."""

import asyncio
import http.client
import itertools
import json
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

VARIABLE = "POSSE_LIVE"
"""The environment's variable with the address, if the application names none."""


class LiveError(Exception):
    """The agent did not answer, or cannot: the sentence says why."""


class RewardRefused(LiveError):
    """A reward that was not taken; `kind`: late, twice, unknown or range."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class LiveDecision(NamedTuple):
    """What a request is to be shown: `arm`, by its `name`.

    `id` is what the reward is told under. `idle` is why the reward is not used (waits, over,
    person, crowded), empty if it is.
    """

    id: str
    arm: int
    name: str
    idle: str = ""


def _address(address: str | None) -> str:
    where = address or os.environ.get(VARIABLE, "")
    if not where.startswith(("unix:", "http://")):
        raise LiveError(
            f"{where!r} is no address of a live agent; give unix:PATH or http://127.0.0.1:PORT, or "
            f"set {VARIABLE}"
        )
    return where


def _id(decision: "LiveDecision | str") -> str:
    return decision if isinstance(decision, str) else decision.id


def _one(answer: Any) -> bool:
    (told,) = answer
    if told.get("refused"):
        raise RewardRefused(told["refused"], told.get("why", ""))
    return bool(told["used"])


class Agent:
    """A live agent's door, for any number of threads, with a connection for each call under way.

    `address` is "unix:PATH" or "http://127.0.0.1:PORT", by default that of POSSE_LIVE. `token` is
    what HTTP asks for, and `timeout` in seconds. A call whose connection broke is made once more:
    a decision that was lost with it times out, and a reward counts once however often it is told.
    """

    def __init__(
        self, address: str | None = None, *, token: str | None = None, timeout: float = 10.0
    ) -> None:
        self._where = _address(address)
        self._token = token
        self._timeout = timeout
        self._free: list[_Unix | _Http] = []

    def ask(self, person: str = "") -> LiveDecision:
        """The arm for a request, at once; `LiveError` if the agent does not answer.

        A `person` whose decision is open gets the same one again.
        """
        return LiveDecision(**self._call({"ask": person}))

    def tell(self, decision: "LiveDecision | str", reward: float) -> bool:
        """Tell a decision's reward, once, whenever it is known, from anywhere.

        Returns whether it is used: False for an idle decision, and for a reward that was told
        before. `RewardRefused` if it cannot be taken.
        """
        return _one(self._call({"tell": [(_id(decision), reward)]}))

    def status(self) -> dict[str, Any]:
        """What the agent did so far: counts, open decisions, the answer once there is one."""
        status: dict[str, Any] = self._call({"status": True})
        return status

    def close(self) -> None:
        """Close all connections; a later call makes a new one."""
        while self._free:
            self._free.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, request: dict[str, Any]) -> Any:
        for last in (False, True):
            connection = None
            try:
                connection = self._taken()
                answer = connection.call(request)
                self._free.append(connection)
                return _answer(answer)
            except (OSError, EOFError, http.client.HTTPException) as error:
                if connection is not None:
                    connection.close()
                self.close()  # the others are of the same agent, which may have gone
                if last:
                    raise LiveError(f"{self._where} did not answer: {error}") from None
        raise AssertionError

    def _taken(self) -> "_Unix | _Http":
        try:
            return self._free.pop()
        except IndexError:
            return _connect(self._where, self._token, self._timeout)


def _connect(where: str, token: str | None, timeout: float) -> "_Unix | _Http":
    return _Unix(where, timeout) if where.startswith("unix:") else _Http(where, token, timeout)


class _Unix:
    def __init__(self, where: str, timeout: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(where[5:])
        except OSError:
            self._socket.close()
            raise
        self._file = self._socket.makefile("rb")

    def call(self, request: dict[str, Any]) -> Any:
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        line = self._file.readline()
        if not line:
            raise EOFError("it closed the connection")
        return _read(line)

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def _read(text: bytes) -> Any:
    return json.loads(text)  # noqa: TID251  (an application may have no msgspec)


def _answer(reply: dict[str, Any]) -> Any:
    if "error" in reply:
        raise LiveError(reply["error"])
    return reply["answer"]


class _Http:
    def __init__(self, where: str, token: str | None, timeout: float) -> None:
        parts = urlsplit(where)
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=timeout
        )
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def call(self, request: dict[str, Any]) -> Any:
        if "ask" in request:
            return self._send("POST", "/v1/ask", {"person": request["ask"]})
        if "tell" in request:
            rewards = [{"id": id_, "reward": reward} for id_, reward in request["tell"]]
            return self._send("POST", "/v1/rewards", rewards)
        return self._send("GET", "/v1/status", None)

    def _send(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, self._headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 400 and response.status != 409:
            return {"error": f"HTTP {response.status}: {content[:300].decode(errors='replace')}"}
        return {"answer": _read(content)}

    def close(self) -> None:
        self._connection.close()


class AsyncAgent:
    """As `Agent`, for asyncio. Over a Unix socket all calls share one connection."""

    def __init__(
        self, address: str | None = None, *, token: str | None = None, timeout: float = 10.0
    ) -> None:
        self._where = _address(address)
        self._timeout = timeout
        self._threads = (
            None
            if self._where.startswith("unix:")
            else Agent(self._where, token=token, timeout=timeout)
        )
        self._numbers = itertools.count(1)
        self._awaited: dict[int, asyncio.Future[Any]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()

    async def ask(self, person: str = "") -> LiveDecision:
        """See `Agent.ask`."""
        return LiveDecision(**await self._call({"ask": person}))

    async def tell(self, decision: "LiveDecision | str", reward: float) -> bool:
        """See `Agent.tell`."""
        return _one(await self._call({"tell": [(_id(decision), reward)]}))

    async def status(self) -> dict[str, Any]:
        """See `Agent.status`."""
        status: dict[str, Any] = await self._call({"status": True})
        return status

    async def close(self) -> None:
        """Close the connection; a later call makes a new one."""
        if self._threads is not None:
            self._threads.close()
        writer, reading = self._writer, self._reading
        self._writer = self._reading = None
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        if writer is not None:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _call(self, request: dict[str, Any]) -> Any:
        if self._threads is not None:
            return await asyncio.to_thread(self._threads._call, request)
        for last in (False, True):
            try:
                return await asyncio.wait_for(self._send(request), self._timeout)
            except (OSError, EOFError, TimeoutError) as error:
                await self.close()
                if last:
                    raise LiveError(f"{self._where} did not answer: {error!r}") from None
        raise AssertionError

    async def _send(self, request: dict[str, Any]) -> Any:
        async with self._connecting:
            if self._writer is None:
                reader, self._writer = await asyncio.open_unix_connection(
                    self._where[5:], limit=1 << 20
                )
                self._reading = asyncio.create_task(self._read(reader))
        number = next(self._numbers)
        answer = self._awaited[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(json.dumps({"n": number, **request}).encode() + b"\n")
            await self._writer.drain()
            return _answer(await answer)
        finally:
            self._awaited.pop(number, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                reply = _read(line)
                if (awaited := self._awaited.get(reply["n"])) and not awaited.done():
                    awaited.set_result(reply)
        finally:
            for awaited in self._awaited.values():
                if not awaited.done():
                    awaited.set_exception(EOFError("the connection was closed"))


def token_of(file: str | Path) -> str:
    """The token in a file."""
    return Path(file).read_text().strip()
