"""Every kind of page, on a phone and a desk, light, dark and on paper: whole, and open to all."""

import os
from pathlib import Path
from typing import Any

import pytest

from posse.cli import main as cli
from posse.reading.folder import read
from posse.report.run_page import run_page
from posse.testing.judged import judged_page
from posse_arena.page import arena_page
from posse_arena.result import read as read_arena
from posse_arena.verb import LIGHT
from tests.report.test_browser import CUT_OFF
from tests.report.test_pages import live
from tests.report.test_report import make
from tests.support.browser import CHROMIUM, Browser
from tests.testing.test_judged import FOUND

ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("AXE", ROOT / "build/axe/node_modules/axe-core/axe.min.js"))

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.slow,
]

KINDS = ("report", "board", "compare", "sweep", "audit", "arena", "unfinished", "live", "judged")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("screens")
    one = make(folder / "one", repeat=5)
    two = make(folder / "two", system="mase", parameters={}, repeat=5)
    run = folder / "one" / "spec.toml"
    for words in (
        ["run", run, "--out", folder / "again", "--capture", one / "frames"],
        ["report", one],
        ["report", one, "--for", "board"],
        ["compare", one, two, "--out", folder / "compare.html"],
        ["sweep", run, "--over", "parameters.epsilon=0.5,1", "--out", folder / "sweep"],
        ["report", folder / "sweep"],
        ["audit", run, "--runs", "0", "--out", folder / "audit"],
        ["report", folder / "audit"],
    ):
        assert cli.main([*map(str, words)]) == 0
    (two / "result.json").unlink()
    assert cli.main(["report", str(two)]) == 0
    arena_page(read_arena(LIGHT)).write(folder / "arena.html")
    judged_page("mine:SYSTEM", FOUND).write(folder / "judged.html")
    return {
        "report": one / "report.html",
        "board": one / "board.html",
        "compare": folder / "compare.html",
        "sweep": folder / "sweep" / "report.html",
        "audit": folder / "audit" / "report.html",
        "arena": folder / "arena.html",
        "unfinished": two / "report.html",
        "live": _live(one, folder / "live.html"),
        "judged": folder / "judged.html",
    }


def _live(run: Path, page: Path) -> Path:
    """A series under way with all that can happen to agents; it does not ask for its next page."""
    html = run_page(live(read(run), links=[(0, 1), (1, 2)])).html()
    page.write_text(html.replace("<body data-live", "<body"))
    return page


@pytest.fixture(scope="module")
def browser() -> Any:
    with Browser() as opened:
        yield opened


VIEWS = [(375, False, "screen"), (1440, False, "screen"), (1440, True, "screen")]
VIEWS += [(375, True, "screen"), (688, True, "print")]


@pytest.mark.parametrize(("width", "dark", "media"), VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole(
    browser: Any, pages: dict[str, Path], kind: str, width: int, dark: bool, media: str
) -> None:
    browser.messages.clear()
    browser.open(pages[kind], width=width, dark=dark, media=media)
    assert browser.evaluate(CUT_OFF) == []
    assert browser.messages == []
    assert browser.evaluate("document.querySelector('h1').textContent.length") > 10


BARRIERS = """
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(found =>
  found.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 90)]))
"""


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: npm install axe-core")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_no_barrier(browser: Any, pages: dict[str, Path], kind: str, dark: bool) -> None:
    browser.open(pages[kind], dark=dark)
    browser.evaluate(AXE.read_text() + ";0")
    assert browser.evaluate(BARRIERS) == []
