"""Figures by matplotlib as small SVG, coloured by CSS variables so that a page can be dark."""

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import Formatter, FuncFormatter, NullFormatter
from matplotlib.transforms import ScaledTranslation

from posse.errors import InputError
from posse.gates import files
from posse.gates.shown import label as printed
from posse.measure.numbers import short
from posse.protocol.arrays import FloatArray
from posse.report.palette import PALETTE, variables
from posse.results import tables

T = TypeVar("T")

COLOUR = {name: f"#00fe{index:02x}" for index, name in enumerate(PALETTE["light"])}
"""A stand-in for each CSS variable: matplotlib knows only fixed colours."""

SERIES = [COLOUR[f"s{i}"] for i in range(8)]
DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), (0, (1, 1))]
"""Line number n of several has dash n, so that lines are told apart without colours."""

MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]

_STYLE: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11.5,
    "axes.edgecolor": COLOUR["muted"],
    "axes.labelcolor": COLOUR["ink"],
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelsize": 11,
    "grid.color": COLOUR["grid"],
    "grid.linewidth": 0.8,
    "xtick.color": COLOUR["muted"],
    "ytick.color": COLOUR["muted"],
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "text.color": COLOUR["ink"],
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "lines.linewidth": 1.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A figure on the page: `svg` is coloured by CSS variables, `header` and `rows` are its data.

    `wide` figures take the page's whole width.
    """

    name: str
    title: str
    caption: str
    svg: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    wide: bool = False

    def write(self, folder: Path) -> None:
        """NAME.svg, which stands alone, and NAME.csv."""
        try:
            files.make_folder(folder, inside=True)
        except NotADirectoryError:
            raise InputError(
                f"{folder} is a link; remove it, or write elsewhere with --out"
            ) from None
        files.write(folder / f"{self.name}.svg", standalone(self.svg))
        with files.replacing(folder / f"{self.name}.csv") as file:
            tables.write(file, self.header, self.rows)


def standalone(svg: str) -> str:
    """The same figure with its colours in it."""
    style = (
        f"<style>svg{{{variables('light')}background:var(--paper);font-family:sans-serif}}"
        f"@media(prefers-color-scheme:dark){{svg{{{variables('dark')}}}}}</style>"
    )
    head = svg.index(">") + 1
    return '<?xml version="1.0" encoding="utf-8"?>\n' + svg[:head] + style + svg[head:]


WIDTH = 4.6
"""Of every figure, in inches: about what a phone shows, so that text keeps its size there."""

_BELOW = 0.42
"""How far a legend lies below the axes, in inches: below ticks and label."""

_LINE = 46
"""Letters of a legend that fit beside each other."""


@contextmanager
def canvas(height: float = 3.3, width: float = WIDTH) -> Iterator[tuple[Figure, Axes]]:
    """A figure in the page's style; sizes in inches."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, figure.add_subplot()


def to_svg(figure: Figure, name: str, label: str) -> str:
    """The figure, with its legend, as an `<svg>` element.

    It has no size of its own, named colours and short numbers.
    """
    out = io.StringIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels may be too long for the figure
        try:
            _disarm(figure)
            _legend(figure, figure.axes[0])
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        except (ValueError, OverflowError) as error:  # of results that no run has, such as ±1e308
            raise InputError(
                f"the figure {name} of these results cannot be drawn: {error}"
            ) from None
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'<svg xmlns:xlink="[^"]*" width="[^"]*" height="[^"]*"', "<svg", svg, count=1)
    named = f'<svg role="img" aria-label="{escape(printed(label))}"{_over_time(figure)}'
    svg = svg.replace("<svg", named, 1).replace("xlink:href", "href")
    svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    for key, stand_in in COLOUR.items():
        svg = svg.replace(stand_in, f"var(--{key})")
    svg = re.sub(r' (?:d|x|y|transform)="[^"]*"', _shorten, svg)
    used = set(re.findall(r"#(\w+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", svg)
    for key in sorted(used):
        if f'id="{key}"' in svg:
            svg = re.sub(rf'(["#]){key}\b', rf"\1{name}-{key}", svg)
    return re.sub(r"\s*\n\s*", " ", svg)


def _over_time(figure: Figure) -> str:
    """Where the axes of a figure over time lie, and their ends, for the film's slider."""
    axes = figure.axes[0]
    if not axes.get_xlabel().startswith("time ("):
        return ""
    box, (wide, high) = axes.get_position(), 72 * figure.get_size_inches()
    place = wide * box.x0, wide * box.x1, high * (1 - box.y1), high * (1 - box.y0)
    return f' data-time="{" ".join(f"{v:.6g}" for v in (*place, *axes.get_xlim()))}"'


class _PlainTicks(Formatter):
    """The ticks of another formatter as plain text: formulas of posse's own, no others."""

    def __init__(self, ticks: Formatter) -> None:
        self._ticks = ticks

    def __call__(self, value: float, place: int | None = None) -> str:
        text = self._ticks(value, place)
        if power := _POWER.fullmatch(text):
            return power[1].replace(r"\times", "×") + "10" + power[2].translate(_RAISED)
        return printed(_NUMBER.sub(r"\1", text))

    def set_axis(self, axis: Any) -> None:
        super().set_axis(axis)
        self._ticks.set_axis(axis)

    def set_locs(self, locs: Any) -> None:
        self._ticks.set_locs(locs)

    def get_offset(self) -> str:
        return self._ticks.get_offset()


_POWER = re.compile(r"\$\\mathdefault\{(-?(?:\d+\\times)?)10\^\{(-?\d+)\}\}\$")
_NUMBER = re.compile(r"^\$\\mathdefault\{(-?[\d.]+)\}\$$")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _disarm(figure: Figure) -> None:
    """Read no text of the figure as a formula, which may be endless, and let none be long."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_PlainTicks(axis.get_major_formatter()))
            if not isinstance(axis.get_minor_formatter(), NullFormatter):
                axis.set_minor_formatter(_PlainTicks(axis.get_minor_formatter()))
        for line in axes.get_legend_handles_labels()[0]:
            line.set_label(printed(str(line.get_label())))
    for text in figure.findobj(Text):
        text.set_text(printed(text.get_text()))


def _shorten(match: re.Match[str]) -> str:
    """Coordinates to a tenth of a point; to a hundredth in small shapes such as markers."""
    digits = 1 if len(match[0]) > 400 else 2
    return re.sub(rf"(\.\d{{{digits}}})\d+", r"\1", match[0])


def large_numbers(axes: Axes, *, x: bool = False, y: bool = True) -> None:
    """Ticks as 20k and 1.5M rather than 1e6: whole, so that no two that lie close look alike."""
    formatter = FuncFormatter(lambda value, _: short(value, 10))
    if x:
        axes.xaxis.set_major_formatter(formatter)
        if axes.get_xscale() == "linear":  # so many, and so short, that they stand apart
            axes.locator_params("x", nbins=6, steps=[1, 2, 5, 10])
    if y:
        axes.yaxis.set_major_formatter(formatter)
        if axes.get_yscale() == "log":
            low, high = axes.get_ylim()
            # between few decades some ticks in between need numbers, between many they are a mess
            few = FuncFormatter(lambda value, _: short(value) if f"{value:e}"[0] in "25" else "")
            axes.yaxis.set_minor_formatter(few if high < 30 * low else NullFormatter())


def _legend(figure: Figure, axes: Axes) -> None:
    """Below the axes, where it hides nothing, if there is more than one series.

    The figure grows by what it takes, so that the axes keep their height under many series.
    """
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        longest = max(map(len, labels))
        below = axes.legend(
            handles,
            [fill(label, _LINE) for label in labels],
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=axes.transAxes
            + ScaledTranslation(0.0, -_BELOW, axes.figure.dpi_scale_trans),
            ncols=min(len(labels), max(1, (_LINE + 7) // (longest + 7))),
            columnspacing=1.2,
            handlelength=1.8,
        )
        taken = below.get_window_extent().height / figure.dpi
        figure.set_figheight(figure.get_figheight() + taken)


def note(
    axes: Axes, text: str, point: tuple[float, float], away: tuple[float, float], **more: Any
) -> None:
    """A few small letters, this many points `away` from a place."""
    look = {"va": "center", "fontsize": 9.5, "color": COLOUR["muted"], **more}
    axes.annotate(text, point, xytext=away, textcoords="offset points", **look)


FEWEST_JOINED = 3
"""Fewer places are not joined by a line."""

_FAINTEST = 0.72
"""The faintest of several shades has this much colour: 3 : 1 against its paper."""


def look(index: int, shades: int = 0) -> dict[str, Any]:
    """The colour of number `index` of several series.

    With an order, such as that of a number that was varied, it is one of this many `shades`.
    """
    if not shades:
        return {"color": SERIES[index % len(SERIES)]}
    return {"color": SERIES[0], "alpha": _FAINTEST + (1 - _FAINTEST) * (index + 1) / shades}


def curve(
    axes: Axes,
    index: int,
    label: str,
    x: FloatArray,
    mean: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    shades: int = 0,
) -> None:
    """Line number `index` of several, with its interval where not NaN; `shades` as `look`."""
    axes.fill_between(x, low, high, **(look(index, shades) | {"alpha": 0.2}), linewidth=0)
    above = 2 + 1 / (1 + x[-1])  # a short line that a long one begins with would not be seen
    dashes = DASHES[index % len(DASHES)]
    axes.plot(x, mean, linestyle=dashes, label=label, zorder=above, **look(index, shades))


_LONGEST = 22
"""An end label with more letters is a letter, and a legend says whose."""

_APART = 12.0
"""Points between two end labels."""


def end_labels(axes: Axes, ends: Sequence[tuple[str, float, float]], *, shades: int = 0) -> None:
    """At the end of each of several lines its name: (name, x, y) of each, in the lines' order.

    Where a name is long all have letters, and the legend says whose. Names do not overlap.
    """
    if len(ends) < 2:
        return
    right = axes.get_xlim()[1]
    names = [name for name, *_ in ends]
    if max(map(len, names)) > _LONGEST or len(ends) > len(DASHES):
        names = [chr(97 + n % 26) * (1 + n // 26) for n in range(len(ends))]
        for line, name in zip(axes.get_legend_handles_labels()[0], names, strict=False):
            line.set_label(f"{name}: {line.get_label()}")
    else:
        for line in axes.get_legend_handles_labels()[0][: len(ends)]:
            line.set_label(f"_{line.get_label()}")
    axes.figure.canvas.draw()  # lays out: only then is it known where a value lies
    places = [axes.transData.transform((right, y))[1] for _, _, y in ends]
    per_point = axes.figure.dpi / 72
    low = -math.inf
    for n in sorted(range(len(ends)), key=lambda n: (places[n], n)):
        at = max(places[n], low + _APART * per_point)
        low = at
        away = (4.0, (at - places[n]) / per_point)
        colour = look(n, shades)["color"]
        note(axes, names[n], (right, ends[n][2]), away, color=colour, ha="left", fontsize=9.5)


def points(
    axes: Axes,
    index: int,
    label: str,
    x: FloatArray,
    mean: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    shades: int = 0,
) -> None:
    """Line number `index` of several: markers with intervals, joined from three places on.

    A line through two would claim a trend. `shades` as `look`.
    """
    axes.errorbar(
        x, mean, yerr=(mean - low, high - mean), label=label, **look(index, shades),
        marker=MARKERS[index % len(MARKERS)], markersize=5, capsize=3,
        linestyle="-" if len(x) >= FEWEST_JOINED else "none",
    )  # fmt: skip


def bars(axes: Axes, rows: Sequence[tuple[str, float, float, float]], *, shades: int = 0) -> None:
    """A bar for each row, the first one on top: its name, its mean, and its interval's ends.

    `shades` as `look`.
    """
    for index, (_, mean, low, high) in enumerate(rows):
        axes.barh(index, mean, height=0.62, **look(index, shades))
        axes.errorbar(
            [mean], [index], xerr=[[mean - low], [high - mean]], color=COLOUR["ink"], capsize=3
        )
    axes.set_yticks(range(len(rows)), [fill(name, 24) for name, *_ in rows])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    large_numbers(axes, x=True, y=False)


def thin(rows: Sequence[T], most: int) -> list[T]:
    """At most about `most` of the rows, evenly taken, the last one included."""
    step = -(-len(rows) // most) or 1
    return [row for n, row in enumerate(rows) if n % step == 0 or n == len(rows) - 1]
