"""The page is for who has its whole address."""

import http.client
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from posse.operate.web import Web
from posse.plan import prepare
from posse.watch.feed import Feed
from posse.watch.page import routes
from posse.watch.view import Watcher
from tests.support.patience import PATIENCE

ARMS = {"kind": "bernoulli", "means": [0.9, 0.1]}
PLAN = prepare({"system": "central", "agents": {"count": 2}, "arms": ARMS})


@contextmanager
def served() -> Iterator[tuple[Feed, str]]:
    feed = Feed(PLAN, Watcher(PLAN), None)
    path, answers = routes(feed)
    web = Web("--watch", ":0", answers)
    try:
        yield feed, web.url + path
    finally:
        feed.close([])
        web.close()


def get(url: str, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
    connection.request("GET", path)
    return connection.getresponse()


@pytest.mark.parametrize(
    "query",
    ["", "?token=", "?token=guessed", "?token=%ff%fe", "?other=1", "?token=%C3%A9"],
)
@pytest.mark.parametrize("path", ["/", "/events"])
def test_without_its_token_nothing_is_told(path: str, query: str) -> None:
    with served() as (_, url):
        refused = get(url, path + query)
        assert refused.status == 403
        said = refused.read().decode()
        assert "central" not in said
        assert "token" in said


def test_the_page_is_whole_and_lets_its_own_script_run_alone() -> None:
    with served() as (_, url):
        assert url.startswith("http://127.0.0.1:")
        answered = get(url, f"/?{urlsplit(url).query}")
        text = answered.read().decode()
    assert answered.status == 200
    assert not re.search(r'(src|href)="(?!data:,)', text)
    policy = answered.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'sha256-" in policy
    assert "unsafe" not in policy
    assert answered.headers["Referrer-Policy"] == "no-referrer"
    assert answered.headers["Cache-Control"] == "no-store"


def test_two_addresses_have_two_tokens() -> None:
    with served() as (_, one), served() as (_, other):
        tokens = [urlsplit(url).query.removeprefix("token=") for url in (one, other)]
        assert tokens[0] != tokens[1]
        assert min(map(len, tokens)) >= 32


def test_events_stream_until_the_end() -> None:
    with served() as (feed, url):
        stream = get(url, f"/events?{urlsplit(url).query}")
        assert stream.headers["Content-Type"] == "text/event-stream"
        assert stream.readline() == b"event: graph\n"
        ending = threading.Thread(target=feed.close, args=([],))
        ending.start()
        names = [line for line in stream.read().split(b"\n") if line.startswith(b"event: ")]
        ending.join(timeout=PATIENCE)
    assert names[-2:] == [b"event: state", b"event: end"]
