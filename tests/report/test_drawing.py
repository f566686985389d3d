"""Figures that stay readable, whatever they show."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.errors import InputError
from posse.report.drawing import Chart, canvas, curve, large_numbers, points, thin, to_svg
from tests.support.conversations import examples


def drawn(series: int) -> tuple[float, float]:
    """The height of a figure of this many series, and that of its axes, in inches."""
    times = np.array([0.0, 1.0])
    with canvas() as (figure, axes):
        for index in range(series):
            curve(axes, index, f"count = {index}, means = [0.6, 0.5]", *[times] * 4)
        to_svg(figure, "legend", "")
        return figure.get_figheight(), axes.get_position().height * figure.get_figheight()


def test_numbers_of_an_axis_that_lie_close_are_told_apart() -> None:
    with canvas() as (figure, axes):
        axes.plot([0, 1], [187_500.0, 190_000.0])
        axes.set_yticks([187_500, 188_000, 188_500])
        large_numbers(axes)
        svg = to_svg(figure, "ticks", "")
    assert re.findall(r">([\d.]+k)</text>", svg) == ["187.5k", "188k", "188.5k"]


def test_numbers_below_an_axis_stand_apart() -> None:
    with canvas() as (figure, axes):
        axes.plot([36_900.0, 38_800.0], [0, 1])
        large_numbers(axes, x=True, y=False)
        svg = to_svg(figure, "below", "")
    assert re.findall(r">([\d.]+k)</text>", svg) == ["37k", "37.5k", "38k", "38.5k"]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_numbers_that_no_axis_holds_are_a_mistake_of_the_results() -> None:
    with canvas() as (figure, axes):
        axes.plot([0, 1], [1e308, -1e308])
        with pytest.raises(InputError, match="the figure regret of these results cannot be drawn"):
            to_svg(figure, "regret", "")


@settings(max_examples=6)
@given(st.integers(1, 40))
@example(2)
@example(3)
def test_two_places_are_not_joined_by_a_line(places: int) -> None:
    x = np.arange(1.0, places + 1)
    with canvas() as (_, axes):
        points(axes, 0, "a", x, x, x, x)
        assert axes.lines[0].get_linestyle() == ("-" if places > 2 else "None")


def test_a_short_line_lies_on_the_long_one_that_begins_with_it() -> None:
    with canvas() as (_, axes):
        for index, end in enumerate((1.0, 3.0)):
            times = np.array([0.0, end])
            curve(axes, index, str(end), times, times, times, times, shades=2)
        short, long = axes.get_lines()
    assert short.get_zorder() > long.get_zorder() >= 2


@pytest.mark.parametrize(
    "text",
    [
        r"$\foo$",
        "$" + "{" * 3000 + "}" * 3000 + "$",
        "$" + r"\frac{1}{" * 25 + "x" + "}" * 25 + "$",
        "a" * 10**6,
        "nul \x00 and \x1b",
        "</text><script>alert(1)</script>",
    ],
)
def test_labels_are_no_formulas_and_end(text: str) -> None:
    """A folder of results may have any; some formulas would take for ever (attack r15)."""
    with canvas() as (figure, axes):
        for mark in range(2):
            axes.plot([1, 2], [mark, 3], label=f"{mark}{text}")
        axes.set(xlabel=text, ylabel=text, title=text)
        axes.set_yticks([0, 1], labels=[text, "b"])
        axes.set_xscale("log")
        svg = to_svg(figure, "labels", text[:100])
    assert "\x00" not in svg
    assert "\x1b" not in svg
    assert "<script" not in svg
    assert len(svg) < 200_000


def test_powers_of_ten_are_drawn_as_plain_text() -> None:
    with canvas() as (figure, axes):
        axes.plot([1e-3, 1e5], [1, 2])
        axes.set_xscale("log")
        svg = to_svg(figure, "powers", "powers")
    assert ">10⁻³<" in svg
    assert ">10⁵<" in svg
    assert "mathdefault" not in svg


@given(st.lists(st.integers(), min_size=1, max_size=200, unique=True), st.integers(1, 50))
def test_rows_of_a_curve_are_thinned_evenly_and_its_last_point_stays(
    rows: list[int], most: int
) -> None:
    kept = thin(rows, most)
    assert len(kept) <= most + 1
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])
    steps = {b - a for a, b in pairwise([rows.index(row) for row in kept[:-1]])}
    assert len(steps) <= 1


@examples(Path(__file__).with_name("drawing.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)


def test_a_folder_of_figures_that_is_a_link_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "report-figures").symlink_to(tmp_path / "mine")
    chart = Chart(name="regret", title="", caption="", svg="<svg>", header=["x"], rows=[[1]])
    with pytest.raises(InputError, match="report-figures is a link; remove it"):
        chart.write(tmp_path / "report-figures")
    assert not list((tmp_path / "mine").iterdir())
