"""The pages in a real browser: they render, nothing is cut off, nothing is said on the console."""

import pytest

from posse.cli import main as cli
from posse.report.palette import PALETTE
from tests.report.test_report import make
from tests.support.browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: apt-get install chromium"
)

CUT_OFF = """
(() => {
  const width = document.documentElement.clientWidth;  // innerWidth grows with what is wide
  const wide = document.documentElement.scrollWidth - width;
  const out = wide > 0 ? [`page ${wide}`] : [];
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("svg, .scroll, details:not([open])")) continue;
    const box = e.getBoundingClientRect();
    if (box.right > width + 0.5 || box.left < -0.5) out.push(e.outerHTML.slice(0, 80));
  }
  for (const svg of document.querySelectorAll("figure svg")) {
    const frame = svg.getBoundingClientRect();
    for (const e of svg.querySelectorAll("text")) {
      const box = e.getBoundingClientRect();
      if (box.right > frame.right + 2 || box.left < frame.left - 2 ||
          box.bottom > frame.bottom + 2 || box.top < frame.top - 2)
        out.push(`text ${e.textContent}`);
    }
  }
  return out;
})()
"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    one = make(folder / "one")
    two = make(folder / "two-with-a-long-name", system="mase", parameters={})
    again = ["run", str(one / "spec.toml"), "--out", str(folder / "again")]
    assert cli.main([*again, "--capture", str(one / "frames")]) == 0
    assert cli.main(["report", str(one)]) == 0
    assert cli.main(["compare", str(one), str(two), "--out", str(folder / "compare.html")]) == 0
    long = [
        make(
            folder / "all" / f"a-folder-with-a-name-of-{n}-that-is-long",
            system=system,
            parameters=p,
        )
        for n, (system, p) in enumerate(
            [("dp-mase", {"epsilon": 0.5}), ("central", {}), ("independent", {})]
        )
    ]
    assert cli.main(["compare", *map(str, long), "--out", str(folder / "long.html")]) == 0
    return {
        "report": one / "report.html",
        "compare": folder / "compare.html",
        "long names": folder / "long.html",
    }


RANKED = """
[...document.querySelectorAll(".ranked li")].map(row => {
  const box = row.getBoundingClientRect(), dot = row.querySelector(".dot").getBoundingClientRect();
  const shown = [...row.children].every(e => e.clientHeight > 0 || e.getClientRects().length);
  return [row.querySelector("b").textContent, shown && box.height > 20,
          dot.left >= box.left && dot.right <= box.right + 6];
})
"""


@pytest.mark.parametrize("width", [375, 768, 1440])
def test_every_series_has_its_row_whole_at_any_width(browser, pages, width):
    browser.open(pages["long names"], width=width)
    rows = browser.evaluate(RANKED)
    assert sorted(name for name, *_ in rows) == ["central", "dp-mase", "independent"]
    assert all(all(fits) for _, *fits in rows)


PAPER = """
(() => {
  const css = getComputedStyle(document.documentElement);
  const wide = [...document.querySelectorAll("main *")].filter(e => !e.closest("svg") &&
    e.getBoundingClientRect().right > document.documentElement.clientWidth + 1);
  const cut = [...document.querySelectorAll(".scroll")].filter(e =>
    e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1);
  return [css.getPropertyValue("--ink"), wide.length, cut.length,
          document.querySelectorAll(".ranked li").length];
})()
"""


@pytest.mark.parametrize("name", ["report", "compare", "long names"])
def test_on_paper_nothing_is_cut_and_all_is_dark_on_light(browser, pages, name):
    """A4 with margins of 14 mm is 688 pixels wide."""
    browser.open(pages[name], width=688, dark=True, media="print")
    ink, wide, cut, rows = browser.evaluate(PAPER)
    assert ink == PALETTE["light"]["ink"]
    assert (wide, cut) == (0, 0)
    assert rows == {"report": 0, "compare": 2, "long names": 3}[name]


TOO_WIDE = """
(async () => {
  document.querySelectorAll("details").forEach(d => d.open = true);
  const painted = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
  await painted();
  return [...document.querySelectorAll("main .scroll")]
    .filter(e => e.scrollWidth > e.clientWidth + 1 && !e.closest(".film")).map(e => e.ariaLabel);
})()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report", "compare", "long names"])
@pytest.mark.parametrize("width", [320, 375, 768, 1440])
def test_tables_fit(browser, pages, name, width):
    browser.open(pages[name], width=width)
    assert browser.evaluate(TOO_WIDE) == []
    labelled = "document.querySelector('table.cards td').dataset.h !== ''"
    assert width > 375 or browser.evaluate(labelled)


@pytest.mark.parametrize("name", ["report", "compare"])
@pytest.mark.parametrize("width", [375, 768, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_off_and_nothing_complains(browser, pages, name, width, dark):
    browser.messages.clear()
    browser.open(pages[name], width=width, dark=dark)
    assert browser.evaluate(CUT_OFF) == []
    assert browser.messages == []
    drawn = "[...document.querySelectorAll('figure svg')].every(s => s.clientHeight > 60)"
    assert browser.evaluate(drawn)
    assert browser.evaluate("document.querySelectorAll('figure svg').length") >= 3


SIGNS = """
(async () => {
  document.querySelectorAll("details").forEach(d => d.open = true);
  const painted = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
  await painted();
  const shown = (frame, end) => getComputedStyle(frame, end).display !== "none";
  const out = [];
  for (const inner of document.querySelectorAll(".scroll")) {
    if (inner.scrollWidth <= inner.clientWidth + 1) continue;
    const frame = inner.parentElement, start = shown(frame, "::after");
    inner.scrollLeft = 1e6;
    await painted();
    out.push([start, !shown(frame, "::after"), shown(frame, "::before")]);
  }
  return out;
})()
"""


@pytest.mark.parametrize("name", ["report", "compare"])
def test_whatever_scrolls_says_so_until_its_end(browser, pages, name):
    browser.open(pages[name], width=375)
    menu = "document.querySelector('nav .scroll')"
    assert browser.evaluate(f"{menu}.scrollWidth <= {menu}.clientWidth + 1")
    signs = browser.evaluate(SIGNS)
    browser.open(pages[name], width=660)
    wider = browser.evaluate(SIGNS)
    assert wider or name == "compare"  # whose tables and menu fit
    assert all(all(sign) for sign in signs + wider), (signs, wider)
    browser.open(pages[name], width=1440)
    assert browser.evaluate("!document.querySelector('nav .frame.right')")


SMALLEST = """
Math.min(...[...document.querySelectorAll("figure svg")].flatMap(svg =>
  [...svg.querySelectorAll("text")].map(text =>
    parseFloat(getComputedStyle(text).fontSize) * svg.clientWidth / svg.viewBox.baseVal.width)))
"""
"""The size of the smallest text of a figure, in pixels of the screen."""


@pytest.mark.parametrize("name", ["report", "compare"])
def test_text_in_figures_can_be_read_on_a_phone_and_does_not_shout_on_a_desk(browser, pages, name):
    browser.open(pages[name], width=375)
    assert browser.evaluate(SMALLEST) > 9
    browser.open(pages[name], width=1440)
    assert browser.evaluate(SMALLEST.replace("min", "max")) < 18


def test_dark_and_light_differ_and_the_button_turns(browser, pages):
    colour = "getComputedStyle(document.body).backgroundColor"
    tick = "getComputedStyle(document.querySelector('figure svg text')).fill"
    browser.open(pages["report"], dark=False)
    light = browser.evaluate(colour), browser.evaluate(tick)
    browser.open(pages["report"], dark=True)
    dark = browser.evaluate(colour), browser.evaluate(tick)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    browser.evaluate("document.getElementById('theme').click()")
    assert (browser.evaluate(colour), browser.evaluate(tick)) == light


def test_tables_sort_by_a_click(browser, pages):
    browser.open(pages["report"])
    column = """
    (() => {
      const table = document.querySelector("#traffic table");
      const th = [...table.tHead.rows[0].cells].find(c => c.textContent === "frame bytes");
      th.querySelector("button").click();
      return [th.ariaSort, [...table.tBodies[0].rows].map(r => +r.cells[th.cellIndex].dataset.v)];
    })()
    """
    order, values = browser.evaluate(column)
    assert order == "ascending"
    assert values == sorted(values)
    assert len(set(values)) > 2
    order, values = browser.evaluate(column)
    assert order == "descending"
    assert values == sorted(values, reverse=True)


@pytest.mark.slow
def test_whatever_came_into_a_page_its_own_script_alone_runs(browser, pages, tmp_path):
    """What escapes text is tested elsewhere; this is for the day on which it fails."""
    act = "document.title='owned'"
    foreign = f'<script>{act}</script><img src=x onerror="{act}">'
    page = tmp_path / "page.html"
    page.write_text(pages["report"].read_text().replace("</main>", f"{foreign}</main>"))
    browser.open(page)
    assert browser.evaluate("document.title") != "owned"
    assert browser.evaluate("document.querySelector('th button') !== null")  # our own ran
    browser.messages.clear()
