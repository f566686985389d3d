"""The small HTTP server of a coordinator or an agent; a WSGI application answers each path.

Each request goes through `posse.gates.http`. There is no authentication, so the default host is
this machine alone. Whoever asks slowly holds up
nobody: a new connection takes the place of the oldest.
"""

import contextlib
import io
import re
import socket
import socketserver
import threading
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from posse.errors import InputError, PosseError
from posse.gates import files, http
from posse.hosts.status import LIVE
from posse.log import LOG

_PLACE = re.compile(r"(?P<host>[^\s/:\[\]]*|\[[^\s/\[\]]+\]):(?P<port>\d{1,5})")
_AT_ONCE = 32
"""Requests served at the same time; a further one closes the oldest, which is the slowest."""
_PATIENCE = 10.0
"""Seconds for a request to arrive, and for a reader to accept a piece of the answer."""

PRIVATE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of an answer that nobody keeps, and no page of another site shows."""


def place(option: str, address: str) -> tuple[str, int]:
    """Host and port of `[HOST]:PORT`; the default host is this machine alone."""
    match = _PLACE.fullmatch(address)
    if match is None or int(match["port"]) > 0xFFFF:
        raise InputError(
            f"{option} {address}: must be [HOST]:PORT, as in :9100 or [::1]:9100, with a number up "
            "to 65535"
        )
    return match["host"].strip("[]") or "127.0.0.1", int(match["port"])


def headers(environ: WSGIEnvironment) -> dict[str, str]:
    """The headers of a request, by lower-case name."""
    return {
        name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }


def answer(
    start: StartResponse,
    text: str | bytes,
    status: int = 200,
    kind: str = "text/plain",
    **headers: str,
) -> list[bytes]:
    """A complete answer; in the names of `headers`, _ stands for -."""
    body = text.encode() if isinstance(text, str) else text
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    start(
        f"{status} {HTTPStatus(status).phrase}",
        [("Content-Type", kind + charset), ("Content-Length", str(len(body))), *named],
    )
    return [body]


def given(folder: Path, environ: WSGIEnvironment, start: StartResponse) -> list[bytes]:
    """Answers with the state of the series that is under way in a folder."""
    try:
        return answer(start, files.read(folder / LIVE), 200, "application/json", **PRIVATE)
    except OSError:
        return answer(start, "no run goes on\n", 404)


class Web:
    """Serves `address` until `close`; `routes` are by path, and may be added to.

    `option` is the command-line option of the address. Raises `PosseError` if the port is taken.
    """

    def __init__(self, option: str, address: str, routes: Mapping[str, WSGIApplication]) -> None:
        self.routes = dict(routes)
        host, port = place(option, address)
        try:
            self._server = _Server(host, port)
        except OSError as error:
            raise PosseError(
                f"{option} {address} cannot be bound: {error.strerror}; choose another address"
            ) from None
        self._host = host
        self._server.set_app(self._answer)
        self.port = self._server.server_port
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        threading.Thread(target=self._server.serve_forever, name="web", daemon=True).start()

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "GET":
            return answer(start, "only GET\n", 405)
        if problem := http.refusal(headers(environ), self._host):
            return answer(start, f"{problem}\n", 403)
        application = self.routes.get(environ["PATH_INFO"])
        if application is None:
            return answer(start, "".join(f"{path}\n" for path in sorted(self.routes)), 404)
        try:
            return application(environ, start)
        except Exception as error:
            LOG.warning("%s cannot be answered: %r", environ["PATH_INFO"], error)
            return answer(start, "see the log\n", 500)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 2 * _AT_ONCE  # answers or closes the connections of a burst in order
    block_on_close = False

    def __init__(self, host: str, port: int) -> None:
        self._open: dict[socket.socket, None] = {}
        self._changing = threading.Lock()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Request)

    def server_bind(self) -> None:
        """Bind without a DNS lookup of this host's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changing:
            if len(self._open) >= _AT_ONCE:
                oldest = next(iter(self._open))
                del self._open[oldest]
                with contextlib.suppress(OSError):  # its thread reads the end, and closes it
                    oldest.shutdown(socket.SHUT_RDWR)
            self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._changing:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore readers that disconnect: they are not worth a log line."""


class _Request(WSGIRequestHandler):
    timeout = _PATIENCE

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_InTime(self.connection, self.timeout))

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests: nobody reads them."""

    def get_stderr(self) -> io.StringIO:
        """Swallow the traceback that wsgiref writes when a reader leaves."""
        return io.StringIO()


class _InTime(io.RawIOBase):
    """Reads from a connection for `patience` seconds in total, however many reads that takes."""

    def __init__(self, connection: socket.socket, patience: float) -> None:
        self._connection = connection
        self._patience = patience
        self._until = time.monotonic() + patience

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if (left := self._until - time.monotonic()) <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(self._patience)
