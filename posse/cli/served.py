"""The page of a folder, served while runs write into it: drawn from its files, anew now and then.

Another process draws, so that the one that serves, which may also run, goes on. The page is for
whoever has its whole address, whose token is new each time.
"""

import threading
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from html import escape
from multiprocessing import get_context
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs
from wsgiref.types import StartResponse, WSGIEnvironment

from posse.engines.start.pool import begin_worker
from posse.errors import PosseError
from posse.gates import code, http
from posse.hosts.status import LIVE
from posse.operate.web import PRIVATE, Web, answer, given

EVERY = 2.0
"""Least seconds between two drawings; readers ask as often (`templates/page.js`)."""

_SHARE = 0.1
"""The largest share of a core's time for drawing."""

_READER = 2.5 * EVERY
"""Who asked within this many seconds still reads."""

_PATIENCE = 10.0
"""Seconds to wait for the first page; then a reader is asked to come again."""

_FIRST = (
    f'<!doctype html><meta http-equiv="refresh" content="{EVERY:g}"><p>The page is being drawn.</p>'
)

_WHOLE = "the whole address is needed, with its token\n"


class ServedPage:
    """Serves the page of `folder` at `address`, [HOST]:PORT, until it is left.

    `url` is the whole address. At the end readers have `farewell` seconds to ask for the last page.
    `PosseError` if the port is taken; it names `option`. `trust` as in `posse.reading.folder.read`.
    """

    def __init__(
        self,
        folder: Path,
        option: str,
        address: str,
        *,
        trust: bool = False,
        farewell: float = _READER,
    ) -> None:
        self._trust = trust
        self._farewell = farewell
        self._folder = folder
        self._token = http.new_token()
        self._page = ""
        self._asked_at = -_READER
        self._asked, self._drawn, self._over = (threading.Event() for _ in range(3))
        self._found = threading.Event()
        """Whether anybody ever asked."""
        self._web = Web(option, address, {"/": self._answer, f"/{LIVE}": self._status})
        self.url = f"{self._web.url}/?token={self._token}"
        self._drawer = threading.Thread(target=self._draw, name="draw", daemon=True)
        self._drawer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        read = self._is_read
        self._over.set()
        self._asked.set()
        self._drawer.join()
        try:
            if read or self._is_read:
                time.sleep(self._farewell)
        finally:
            self._web.close()

    def was_asked(self, within: float = 0.0) -> bool:
        """Whether anybody has asked for the page, or does so within this many seconds."""
        return self._found.wait(within)

    @property
    def _is_read(self) -> bool:
        return time.monotonic() < self._asked_at + _READER

    def _draw(self) -> None:
        """Draw while there are readers, and once at the end."""
        spawn = get_context("spawn")
        with ProcessPoolExecutor(1, spawn, begin_worker, (code.trusted(),)) as pool:
            while not self._over.is_set() or self._is_read:
                self._asked.wait()
                self._asked.clear()
                last, began = self._over.is_set(), time.monotonic()
                if last and not self._is_read:
                    return
                try:
                    self._page = pool.submit(draw, self._folder, self._trust).result()
                except BrokenProcessPool:
                    self._page = _sentence("the process that draws this page has ended")
                    last = True
                self._drawn.set()
                if last:
                    return
                self._over.wait(max(EVERY, (time.monotonic() - began) / _SHARE))

    def _is_let_in(self, environ: WSGIEnvironment) -> bool:
        given = parse_qs(environ.get("QUERY_STRING", "")).get("token", [""])[0]
        return http.is_token(given, self._token)

    def _status(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if not self._is_let_in(environ):
            return answer(start, _WHOLE, 403)
        return given(self._folder, environ, start)

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if not self._is_let_in(environ):
            return answer(start, _WHOLE, 403)
        self._asked_at = time.monotonic()
        self._found.set()
        self._asked.set()
        if not self._drawn.wait(_PATIENCE):
            return answer(start, _FIRST, 503, "text/html", **PRIVATE)
        return answer(start, self._page, 200, "text/html", **PRIVATE)


def draw(folder: Path, trust: bool = False) -> str:
    """The page of a series of runs as its files are now; a sentence if they cannot be read.

    With `trust` the code of their system is imported.
    """
    from posse.reading import folder as folders
    from posse.report import run_page

    try:
        return run_page.run_page(folders.read(folder, trust=trust)).html()
    except PosseError as error:
        return _sentence(str(error))


def _sentence(text: str) -> str:
    return f"<!doctype html><title>posse</title><main><p>{escape(text)}</p></main>"
