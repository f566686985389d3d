"""The page in a real browser: it fits, nothing complains, and it shows what it is told."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from posse.engines.board import SHOWN, Board
from posse.operate.status import CoordinatorStatus, Snapshot
from posse.operate.web import Web
from posse.plan import prepare
from posse.watch.feed import Feed
from posse.watch.page import routes
from posse.watch.view import View, Watcher
from tests.report.test_browser import CUT_OFF
from tests.support.browser import CHROMIUM, Browser
from tests.support.patience import PATIENCE
from tests.watch.test_feed import plan_of, watched

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@contextmanager
def served(system: str) -> Iterator[str]:
    """The page of a run that is over."""
    feed, _ = watched(plan_of(system))
    path, answers = routes(feed)
    web = Web("--watch", ":0", answers)
    try:
        yield web.url + path
    finally:
        web.close()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served("dp-mase") as of_a_run:
        yield of_a_run


def opened(browser: Browser, url: str, ready: str, **how: object) -> list[object]:
    """Open it and wait until it says that it is `ready`; what complained meanwhile."""
    browser.messages.clear()
    browser.open(url, **how)
    until = time.monotonic() + PATIENCE
    while not browser.evaluate(ready):
        assert time.monotonic() < until, browser.evaluate("document.body.innerText")
        time.sleep(0.05)
    browser.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    own = url.partition("?")[0]
    return [m for m in browser.messages if not str(m.get("request", "")).startswith(own)]


COMPLETE = "document.getElementById('head').textContent === 'All runs are complete'"


@pytest.mark.parametrize("width", [375, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_and_nothing_complains(browser: Browser, url: str, width: int, dark: bool) -> None:
    assert opened(browser, url, COMPLETE, width=width, dark=dark) == []
    assert browser.evaluate(CUT_OFF) == []


def test_it_shows_what_it_was_told(browser: Browser, url: str) -> None:
    opened(browser, url, COMPLETE)
    said = browser.evaluate("document.body.innerText")
    assert "dp-mase (corrected)" in said
    assert "4 of 4" in said
    assert "square: the coordinator" in said
    browser.evaluate("$('pick').value = 2; $('pick').dispatchEvent(new Event('input'))")
    assert "With coordinator: " in browser.evaluate("document.getElementById('picked').textContent")
    shown = "[...document.querySelectorAll('#votes li')].map(row => row.lastChild.textContent)"
    assert sum(count.endswith("out") for count in browser.evaluate(shown)) == 3
    drawn = """(() => {
      const canvas = document.getElementById("base");
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return pixels.some(value => value);
    })()"""
    assert browser.evaluate(drawn)


def test_what_a_peer_wrote_is_text(browser: Browser) -> None:
    act = "<img src=x onerror=\"document.title='owned'\">"
    feed = Feed(plan_of("dp-mase"), Watcher(plan_of("dp-mase")), None)
    told = CoordinatorStatus(
        agents=4,
        arrived=4,
        running=True,
        heard_seconds_ago={1: 0.0},
        heard={1: act},
        refused={act: 2},
    )
    feed.snapshot = lambda: Snapshot(told)
    path, answers = routes(feed)
    web = Web("--watch", ":0", answers)
    try:
        opened(browser, web.url + path, "document.getElementById('trouble').textContent !== ''")
        assert "<img src=x" in browser.evaluate("document.getElementById('trouble').textContent")
        assert browser.evaluate("document.querySelector('main img') === null")
    finally:
        feed.close([])
        web.close()


def test_no_epsilon_is_told_where_none_is_promised(browser: Browser) -> None:
    """Of a system with many kinds of messages, whose links have much to be said of."""
    with served("anonymous") as of_a_run:
        assert opened(browser, of_a_run, COMPLETE, width=375) == []
        said = browser.evaluate("document.body.innerText")
        assert browser.evaluate(CUT_OFF) == []
    assert "none promised" in said
    assert "ε does not apply: none is promised" in said


def thousand() -> tuple[Feed, Watcher, Board]:
    """A mesh of a thousand agents of whom the page is told, without any of them."""
    plan = prepare(
        {
            "system": "private-ucb",
            "agents": {"count": 1000},
            "arms": {"kind": "bernoulli", "means": [0.8, 0.5, 0.2]},
            "topology": {"kind": "regular", "degree": 6},
            "parameters": {"epsilon": 1.0, "horizon": 1000, "gamma": 1},
            "engine": {"kind": "memory"},
        }
    )
    watcher, board = Watcher(plan), Board.of(plan)
    watcher.view = View(
        run=0,
        serial=0,
        network=plan.network(0),
        at=1.0,
        links={},
        regret=None,
        epsilon=None,
        status="",
        told={
            "run": 0,
            "said": ["slot 1"],
            "share": 0.1,
            "finished": [],
            "lost": {},
            "votes": [],
            "out": [],
            "status": "",
            "control": 0,
        },
    )
    board.rows[:] = np.ones(board.rows.shape)
    assert board.rows[0, SHOWN] == 1
    return Feed(plan, watcher, board), watcher, board


FRAMES = """new Promise(done => {
  const frames = [], end = performance.now() + 2000;
  const next = now => {
    frames.push(now);
    now < end ? requestAnimationFrame(next) : done(frames);
  };
  requestAnimationFrame(next);
})"""


def test_with_a_thousand_agents_it_goes_on_drawing(browser: Browser) -> None:
    """Frames come while links carry ever more; their times are for whoever measures."""
    feed, _, board = thousand()
    path, answers = routes(feed)
    web = Web("--watch", ":0", answers)
    try:
        assert opened(browser, web.url + path, "graph !== null && state !== null") == []
        assert browser.evaluate("graph.links.length") == 3000
        board.sent[0] = 5
        frames = browser.evaluate(FRAMES)
        assert len(frames) > 3
        assert browser.evaluate("settle") < 150
        assert browser.evaluate("state.flow.total.Bundle") == 5 * 1000 * 1000
    finally:
        feed.close([])
        web.close()
