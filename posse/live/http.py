"""The HTTP door: JSON under /v1, OpenFeature's remote evaluation protocol (OFREP) under /ofrep/v1.

The run's name is a flag of it, its variants are the arms. Evaluating it is asking: the decision's
id is in `metadata`, and the reward is told under /v1/rewards. Whoever is named by `targetingKey`
gets the decision that is open for them again, however often the flag is evaluated.
"""

import asyncio
import contextlib
import hashlib
import os
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from posse.errors import InputError, PosseError
from posse.gates import decode, files, owners
from posse.gates import http as gate
from posse.live.desk import Decision
from posse.live.openapi import Asked, document
from posse.live.service import Service
from posse.live.told import Reward, ask, tell

_LONGEST = 1 << 20
"""Bytes of a request."""

_LONGEST_HEAD = 64 << 10
"""Bytes of its head, and of whatever else is no body, which the parser keeps however long it is."""

_IN_A_ROW = 16
"""Requests of one connection that may come before the first of them is answered."""

_UNDER_WAY = 64 << 20
"""Bytes of all bodies that are read at the same time."""

_PATIENCE = 10.0
"""Seconds in which a body arrives."""

_AT_ONCE = 500
"""Connections; a further one takes the place of the one that has been without a request for the
longest, of those first that never sent one."""

_SHORTEST = 16
"""Characters of a token."""


class Evaluation(msgspec.Struct, frozen=True):
    """The body of an evaluation, of which only the context's `targetingKey` is looked at."""

    context: dict[str, Any] = {}

    @property
    def person(self) -> str:
        """Who asks; "" if nobody says."""
        key = self.context.get("targetingKey", "")
        return key[:1_000] if isinstance(key, str) else str(key)[:1_000]


def read_token(path: Path) -> str:
    """The token in a file for its owner alone."""
    try:
        with files.opened(path, 4_096) as file:
            token = file.read().decode().strip()
            private = owners.is_private(os.fstat(file.fileno()))
    except (OSError, ValueError) as error:
        raise InputError(f"the token file {path} cannot be read: {error}") from None
    if not private or len(token) < _SHORTEST:
        raise InputError(
            f"the token file {path} must be its owner's alone (chmod 600) and have {_SHORTEST} "
            f"characters at least, as: {gate.new_token()}"
        )
    return token


def listener(where: str) -> tuple[socket.socket, str]:
    """A listening socket, and its address with the port."""
    parts = urlsplit(where)
    host, port = parts.hostname or "127.0.0.1", parts.port or 0
    six = ":" in host
    made = socket.socket(socket.AF_INET6 if six else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # asyncio sets it for sockets it made itself alone; without it an answer takes 40 ms
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        made.bind((host, port))
        made.listen(1_024)
    except OSError as error:
        made.close()
        raise PosseError(
            f"{where} cannot be listened at: {error.strerror}; choose another port"
        ) from None
    made.setblocking(False)
    name = f"[{host}]" if six else host
    return made, f"http://{name}:{made.getsockname()[1]}"


async def serve(
    service: Service,
    listening: socket.socket,
    ends: asyncio.Event,
    token: str,
    rate: float,
    host: str = "",
) -> None:
    """Serve until `ends`; `host` is the name to listen at, under which requests may come."""
    config = uvicorn.Config(
        application(service, token, rate, host),
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        http=_places(),
        ws="none",
        timeout_keep_alive=75,
        server_header=False,
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve([listening]))
    await ends.wait()
    server.should_exit = server.force_exit = True
    with contextlib.suppress(asyncio.CancelledError):
        await serving


def _places() -> type[asyncio.Protocol]:
    """A protocol of uvicorn, in which connections that ask for nothing make place for others.

    It has no time limit of its own for a request's head.
    """
    idle: dict[Any, None] = {}

    class _Placed(HttpToolsProtocol):
        asked = False
        head = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > _AT_ONCE:
                silent = (one for one in idle if not one.asked)
                first = next(silent, next(iter(idle), self))
                idle.pop(first, None)
                first.transport.abort()
            idle[self] = None

        def data_received(self, data: bytes) -> None:
            self.head += len(data)
            super().data_received(data)
            if self.head > _LONGEST_HEAD:
                self.transport.abort()
            if self.cycle is not None and not self.cycle.response_complete:
                self.asked = True
                idle.pop(self, None)

        def on_headers_complete(self) -> None:
            self.head = 0
            super().on_headers_complete()
            if len(self.pipeline) > _IN_A_ROW:
                self.transport.abort()
                raise ValueError  # ends the parser, too

        def on_body(self, body: bytes) -> None:
            self.head = 0
            super().on_body(body)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self in self.connections and self.cycle.response_complete:
                idle[self] = None

        def connection_lost(self, exc: Exception | None) -> None:
            idle.pop(self, None)
            super().connection_lost(exc)

    return _Placed


def application(service: Service, token: str = "", rate: float = 0.0, host: str = "") -> ASGIApp:
    """The application; `token` is asked of every request but those of the page."""
    doors = _Answers(service)
    routes = [
        Route("/v1/ask", doors.ask, methods=["POST"]),
        Route("/v1/rewards", doors.rewards, methods=["POST"]),
        Route("/v1/status", doors.status),
        Route("/v1/openapi.json", doors.openapi),
        Route("/ofrep/v1/evaluate/flags/{key}", doors.flag, methods=["POST"]),
        Route("/ofrep/v1/evaluate/flags", doors.flags, methods=["POST"]),
        Route("/ofrep/v1/configuration", doors.configuration),
        Route("/healthz", doors.health),
        Route("/", doors.page),
    ]
    return Guarded(Router(routes=routes), token, rate, host)


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, "application/json")


class _Answers:
    """What each path answers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._openapi = document(service.settings.names)
        self._page = files.text(Path(__file__).with_name("page.html"))

    async def ask(self, request: Request) -> Response:
        body = await request.body()
        asked: Asked = decode.from_json(body, Asked) if body else Asked()
        return _json(await ask(self._service, asked.person))

    async def rewards(self, request: Request) -> Response:
        sent = decode.from_json(await request.body(), Reward | list[Reward])
        rewards = sent if isinstance(sent, list) else [sent]
        told = await tell(self._service, [(r.id, r.reward) for r in rewards])
        return _json(told, 409 if told and all(one.refused for one in told) else 200)

    async def status(self, request: Request) -> Response:
        return _json(self._service.status())

    async def openapi(self, request: Request) -> Response:
        return _json(self._openapi)

    async def page(self, request: Request) -> Response:
        return Response(self._page, media_type="text/html", headers=_POLICY)

    async def health(self, request: Request) -> Response:
        trouble = self._service.health()
        return Response(f"{trouble or 'it serves'}\n", 503 if trouble else 200)

    # --- OFREP -----------------------------------------------------------------------------------

    async def flag(self, request: Request) -> Response:
        key = request.path_params["key"]
        if key != self._service.settings.flag:
            problem = f"this agent decides about the flag {self._service.settings.flag} only"
            return _json(_failure("FLAG_NOT_FOUND", problem, key), 404)
        evaluation = self._evaluation(await request.body())
        if isinstance(evaluation, Response):
            return evaluation
        return _json(self._evaluated(await ask(self._service, evaluation.person)))

    async def flags(self, request: Request) -> Response:
        evaluation = self._evaluation(await request.body())
        if isinstance(evaluation, Response):
            return evaluation
        decision = await ask(self._service, evaluation.person)
        flag = self._evaluated(decision)
        # of an idle decision the id says nothing, and is another one each time
        same = flag["metadata"] | {"decision": "" if decision.idle else decision.id}
        tag = hashlib.sha256(msgspec.json.encode([flag["variant"], same])).hexdigest()[:32]
        if request.headers.get("if-none-match", "").strip('W/"') == tag:
            return Response(status_code=304, headers={"ETag": f'"{tag}"'})
        return _json({"flags": [flag]}, headers={"ETag": f'"{tag}"'})

    async def configuration(self, request: Request) -> Response:
        return _json(
            {
                "name": "posse",
                "capabilities": {
                    "cacheInvalidation": {"polling": {"enabled": False}},
                    "flagEvaluation": {"supportedTypes": ["string"]},
                    "caching": {"enabled": False},
                },
            }
        )

    def _evaluation(self, body: bytes) -> Evaluation | Response:
        try:
            evaluation: Evaluation = decode.from_json(body or b"{}", Evaluation)
        except decode.Undecodable as error:
            code = "INVALID_CONTEXT" if "context" in str(error) else "PARSE_ERROR"
            return _json(_failure(code, str(error), self._service.settings.flag), 400)
        if self._service.settings.most_of_person is not None and not evaluation.person:
            problem = "[privacy] person is set, so the context must have a targetingKey"
            return _json(
                _failure("TARGETING_KEY_MISSING", problem, self._service.settings.flag), 400
            )
        return evaluation

    def _evaluated(self, decision: Decision) -> dict[str, Any]:
        return {
            "key": self._service.settings.flag,
            "value": decision.name,
            "variant": decision.name,
            "reason": "STATIC" if decision.idle else "SPLIT",
            "metadata": {
                "decision": decision.id,
                "arm": decision.arm,
                "idle": decision.idle,
            },
            "cacheable": False,
        }


def _failure(code: str, details: str, key: str) -> dict[str, str]:
    return {"key": key, "errorCode": code, "errorDetails": details}


_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_WITHOUT_TOKEN = ("/", "/healthz")
"""The page itself has no number in it."""


class Guarded:
    """What every request passes: who may ask, how much, how often; and one form of errors."""

    def __init__(self, inner: ASGIApp, token: str, rate: float, host: str = "") -> None:
        self._inner = inner
        self._host = host
        self._token = token
        self._rate = rate
        self._room, self._at = max(1.0, rate), time.monotonic()
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http":
            return
        headers = gate.joined(scope["headers"])
        answer = self._refused(scope, headers)
        if answer is not None:
            await answer(scope, receive, send)
            return
        taken, until = 0, asyncio.get_running_loop().time() + _PATIENCE

        async def bounded() -> Any:
            nonlocal taken
            async with asyncio.timeout_at(until):
                message = await receive()
            more = len(message.get("body", b""))
            taken, self._under_way = taken + more, self._under_way + more
            if taken > _LONGEST:
                raise _Unread(413, f"at most {_LONGEST:,} bytes are read")
            if self._under_way > _UNDER_WAY:
                raise _Unread(503, "too much is read at the same time; ask again")
            return message

        try:
            await self._inner(scope, bounded, send)
        except TimeoutError:
            await _problem(408, f"the body must arrive in {_PATIENCE:g} s")(scope, receive, send)
        except _Unread as error:
            await _problem(*error.args)(scope, receive, send)
        except ClientDisconnect:
            return
        except decode.Undecodable as error:
            await _problem(400, f"the body is not what it should be: {error}")(scope, receive, send)
        except PosseError as error:
            await _problem(503, str(error))(scope, receive, send)
        finally:
            self._under_way -= taken

    def _refused(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        if refusal := gate.refusal(headers, self._host):
            return _problem(403, refusal)
        if self._token and scope["path"] not in _WITHOUT_TOKEN:
            given = headers.get("authorization", "").removeprefix("Bearer ") or headers.get(
                "x-api-key", ""
            )
            if not gate.is_token(given, self._token):
                return _problem(401, "give the token: Authorization: Bearer TOKEN, or X-API-Key")
        if scope["method"] == "POST" and (kind := headers.get("content-type", "")):
            if kind.partition(";")[0].strip() != "application/json":
                return _problem(415, "the body must be application/json")
        elif scope["method"] == "POST":
            return _problem(415, "Content-Type must be application/json")
        if self._rate and not self._has_room():
            return _problem(
                429, f"more than {self._rate:g} requests a second", {"Retry-After": "1"}
            )
        return None

    def _has_room(self) -> bool:
        now = time.monotonic()
        self._room = min(max(1.0, self._rate), self._room + (now - self._at) * self._rate)
        self._at = now
        if self._room < 1:
            return False
        self._room -= 1
        return True


class _Unread(Exception):
    """A body is not read; status and why."""


def _problem(status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    return _json({"errorCode": "GENERAL", "errorDetails": why}, status, headers)
