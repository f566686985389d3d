"""The documents' site as `make docs` says to open it: from a file, whole, and asking nobody."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.test_screens import AXE, BARRIERS
from tests.support.browser import CHROMIUM, Browser
from tests.support.patience import PATIENCE

SITE = Path(__file__).parents[2] / "build" / "site"

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.skipif(not (SITE / "iframe-worker.js").is_file(), reason="no site: make docs"),
    pytest.mark.slow,
]

WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

SEARCH = """
(() => {
  document.querySelector("#__search").click();
  const asked = document.querySelector("input[data-md-component=search-query]");
  asked.focus();
  asked.value = "regret";
  asked.dispatchEvent(new KeyboardEvent("keyup", {key: "t", bubbles: true}));
})()
"""

FOUND = "document.querySelectorAll('.md-search-result__item').length"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.mark.parametrize("page", ["index", "reproduction", "ledger", "private", "commands"])
@pytest.mark.parametrize("width", [375, 1440])
def test_a_page_is_whole_and_asks_nobody(browser: Browser, page: str, width: int) -> None:
    browser.messages.clear()
    browser.open(SITE / f"{page}.html", width=width)
    assert browser.evaluate(WIDE) == 0
    assert browser.messages == []


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: npm install axe-core")
@pytest.mark.parametrize("page", ["index", "reproduction", "testing", "commands"])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_barrier(browser: Browser, page: str, dark: bool) -> None:
    browser.open(SITE / f"{page}.html", dark=dark)
    browser.evaluate(AXE.read_text() + ";0")
    # nothing is to be fetched: a page from a file may not
    assert browser.evaluate(BARRIERS.replace("{runOnly", "{preload: false, runOnly")) == []


def test_the_search_finds_from_a_file(browser: Browser) -> None:
    browser.messages.clear()
    browser.open(SITE / "index.html", width=1440)
    browser.evaluate(SEARCH)
    end = time.monotonic() + PATIENCE
    while not browser.evaluate(FOUND) and time.monotonic() < end:
        time.sleep(0.05)
    assert browser.evaluate(FOUND) > 5
    assert browser.messages == []
