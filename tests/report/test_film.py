"""The film of a run: what it shows, what it leaves out, and that its slider moves all of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from posse.cli import main as cli
from posse.durable.frames import Frame
from posse.reading import folder as folders
from posse.report import film
from posse.report.page import Section
from tests.report.test_report import make
from tests.support.browser import CHROMIUM, Browser
from tests.support.conversations import examples


def _capture(made: Path, *more: str) -> None:
    """The frames of the same seed, into the folder of its run."""
    words = ["run", str(made / "spec.toml"), "--out", str(made.parent / "again"), *more]
    assert cli.main([*words, "--capture", str(made / folders.FRAMES)]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make(tmp_path_factory.mktemp("film") / "run", agents={"count": 6})
    _capture(made)
    assert cli.main(["report", str(made)]) == 0
    return made


def _film(folder: Path) -> Section:
    made = film.section(folders.read(folder))
    assert made is not None
    return made


def test_each_frame_of_the_first_run_is_an_arrow_that_says_its_fields_by_name(folder: Path) -> None:
    made = _film(folder)
    assert made.film is not None
    assert made.text[-1] == "Nothing is left out."
    (run, *_), svg = folders.read(folder).runs, made.film.svg
    traffic = run.communication
    assert svg.count('class="r data"') == traffic.data.messages
    assert [plane.split()[0] for plane in made.film.planes] == ["data", "control"]
    assert "<title>Vote(arms = [" in svg
    assert "· 3 → coordinator · data · " in svg


def test_regret_and_arms_left_end_as_the_result_says(folder: Path) -> None:
    made = _film(folder)
    assert made.film is not None
    data = json.loads(made.film.data)
    run = folders.read(folder).runs[0]
    regret, left = data["curves"]
    assert (regret[0], regret[2][-1][1]) == ("regret", pytest.approx(run.regret))
    assert (left[0], left[1], left[2][-1][1]) == ("arms left", True, 1)
    assert data["times"] == sorted(data["times"])


def _frames(count: int, agents: int, plane: str = "data") -> list[Frame]:
    long = [1.0] * 400
    ends = [(n % agents, (n + 1) % agents) for n in range(count)]
    return [Frame(n, *ends[n], 9, plane, f"K{n}", [long], 0, n, float(n)) for n in range(count)]


def test_its_size_is_bounded_whatever_was_sent(folder: Path) -> None:
    series = folders.read(folder)
    shown, _, gaps = film.choose(_frames(5_000, 16))
    drawn = film.draw(series, series.runs[0], shown, gaps)
    assert len(drawn.svg) + len(drawn.data) < 400_000


SLIDE = """
(() => {
  const film = document.querySelector(".film"), slider = film.querySelector("input");
  const answer = film.querySelector(".answer"), line = document.querySelector("#figures .now");
  const seen = [];
  for (const value of [0, +slider.max]) {
    slider.value = value;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    const box = film.querySelector(".scroll");
    seen.push([film.querySelector("output").textContent, answer.textContent,
               +line.getAttribute("x1"), box.scrollTop]);
  }
  return seen;
})()
"""

POINT = """
(() => {
  const film = document.querySelector(".film"), arrow = film.querySelector(".r.data line");
  arrow.dispatchEvent(new Event("pointerover", {bubbles: true}));
  const box = film.querySelector("input[value=data]");
  box.click();
  const gone = getComputedStyle(arrow.parentNode).display;
  box.click();
  return [film.querySelector(".answer").textContent, gone,
          getComputedStyle(arrow.parentNode).display];
})()
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_one_slider_moves_film_regret_and_arms_left(folder: Path) -> None:
    with Browser() as browser:
        browser.open(folder / "report.html")
        (first, began, left, top), (last, ended, right, down) = browser.evaluate(SLIDE)
        assert first == "0 rounds · regret 0 · arms left 3"
        assert "arms left 1" in last
        assert began.startswith("Begin(")
        assert ended.startswith("Report")
        assert (right > left, down > top) == (True, True)
        said, gone, back = browser.evaluate(POINT)
        assert said.startswith("Vote(arms = [")
        assert (gone, back) == ("none", "inline")
        assert browser.messages == []


@examples(Path(__file__).with_name("film.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
