"""What a page is made of, and how a number is written on it."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from posse import __version__
from posse.gates import files
from posse.measure.confidence import mean_of
from posse.measure.numbers import number, short, with_interval
from posse.report.drawing import Chart
from posse.report.palette import csp_hash, variables

MOST_ROWS = 200
"""Rows of a table on the page; the rest is in the CSV file, which is named."""


@dataclass(frozen=True)
class Cell:
    """What a table shows, and the number it is sorted by."""

    text: str
    value: float | str


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that can be sorted; `numeric` says which columns are numbers."""

    title: str
    header: Sequence[str]
    numeric: Sequence[bool]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One large number."""

    label: str
    value: str
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a claim is borne out; `css` is yes, no or open."""

    css: str
    word: str
    claim: str
    evidence: str


@dataclass(frozen=True, kw_only=True)
class RankedRow:
    """A row of a ranking: a dot at `value` with its interval, and words beside it.

    `low` and `high` are None without an interval. `css` is "best" for the one that is clearly
    better than all others, "level" for those that are not clearly worse than the best, else "".
    """

    name: str
    value: float
    low: float | None
    high: float | None
    text: str
    cells: Sequence[tuple[str, str]]
    css: str = ""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Rows in their order on one axis, from `left` to `right`."""

    title: str
    axis: str
    rows: Sequence[RankedRow]
    left: float
    right: float

    def at(self, value: float) -> float:
        """Where a value lies, in per cent of the axis."""
        return round(100 * (value - self.left) / ((self.right - self.left) or 1.0), 2)

    @property
    def ends(self) -> tuple[str, str]:
        """The ends of the axis in words."""
        return short(self.left), short(self.right)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One that a `Choosing` may name: what it costs, how good it is, and the command that runs it.

    `limits` has its number for each slider; None is beyond every limit. Of scores less is better;
    `low` and `high` are the ends of the interval, `text` says all of it in words.
    """

    group: str
    name: str
    limits: Sequence[float | None]
    rank: Sequence[float]
    low: float
    high: float
    text: str
    command: str


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """Sliders, one for each limit, which name the best candidate within all of them.

    A slider has a name, its stops (a number and a word each), and whether candidates must have
    that very number. Otherwise the stops are limits, and the last of them is none.
    """

    group: str
    sliders: Sequence[tuple[str, Sequence[tuple[float, str]], bool]]
    candidates: Sequence[Candidate]

    @property
    def groups(self) -> list[str]:
        """What can be asked for, in order."""
        return list(dict.fromkeys(candidate.group for candidate in self.candidates))

    @property
    def data(self) -> Markup:
        """All of it for the page's script; no text in it can end the element."""
        text = json.dumps(asdict(self), ensure_ascii=True)
        return Markup(text.replace("<", "\\u003c"))


@dataclass(frozen=True, kw_only=True)
class Film:
    """A picture of frames, their planes, and `data`: the time of each row, and curves beside."""

    svg: Markup
    planes: Sequence[str]
    data: Markup


@dataclass(kw_only=True)
class Section:
    """A part of a page."""

    id: str
    title: str
    text: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    terms: list[tuple[str, str]] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    rankings: list[Ranking] = field(default_factory=list)
    question: Choosing | None = None
    film: Film | None = None
    code: str = ""

    @property
    def split(self) -> bool:
        """Whether there is room for words and tables beside the charts."""
        beside = bool(self.terms) or any(not table.folded for table in self.tables)
        return beside and len(self.charts) == 1 and not self.charts[0].wide


@dataclass(kw_only=True)
class Page:
    """A whole page; `folder` is where its figures lie, relative to it.

    `live`: it is of a series under way, and asks its server for the next one. `sheet`: it is to
    fit on one sheet of A4.
    """

    title: str
    kicker: str
    lead: str
    sections: list[Section]
    folder: str = ""
    live: bool = False
    sheet: bool = False
    alerts: list[str] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    footer: str = f"posse {__version__}"

    def html(self) -> str:
        """The page as one file; without a `folder` its figures have no files of their own."""
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("posse.report"),
            autoescape=lambda name: name is not None and name.endswith(".html.j2"),
            undefined=jinja2.StrictUndefined,
        )
        environment.filters["breaks"] = _breaks
        script = environment.get_template("page.js").render()
        return environment.get_template("page.html.j2").render(
            page=self,
            light=variables("light"),
            dark=variables("dark"),
            script=Markup(script),
            script_hash=csp_hash(script),
        )

    def write(self, path: Path) -> None:
        """The page, and beside it each figure as SVG and CSV in `<name>-figures/`."""
        self.folder = f"{path.stem}-figures"
        text = self.html()
        files.make_folder(path.parent)
        files.write(path, text)
        for section in self.sections:
            for chart in section.charts:
                chart.write(path.parent / self.folder)


def _breaks(name: str) -> Markup:
    """A text that may break after the signs within names, rather than within their words."""
    return Markup(re.sub(r"(?<=[A-Za-z])([_:./])(?=\w)", r"\1<wbr>", str(escape(name))))


def some(*charts: Chart | None) -> list[Chart]:
    """Those that have something to show."""
    return [chart for chart in charts if chart is not None]


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], **more: Any) -> Table:
    """A table of plain values; a column is numeric if all its values are numbers, cells or None."""
    kept = [list(row) for row in rows]
    numeric = [
        bool(kept) and all(isinstance(row[i], int | float | Cell | None) for row in kept)
        for i in range(len(header))
    ]
    return Table(
        title=title,
        header=header,
        numeric=numeric,
        rows=[[_as_cell(value) for value in row] for row in kept],
        **more,
    )


def _as_cell(value: Any) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell(number(value), "" if value is None else value)


def mean_cell(values: list[float], n: int = 0) -> Cell:
    """A mean with its 95 % interval, sorted by the mean; `n` as `with_interval`."""
    if not values:
        return Cell("–", "")
    mean = mean_of(values)
    return Cell(with_interval(mean, n), mean.mean)
