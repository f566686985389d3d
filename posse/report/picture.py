"""A space-time picture: processes as lines, messages as arrows between them, time downwards.

Each thing that happens has a row of its own, so that the picture is readable whatever the times
are; they are written at the side. The form is that of Lamport, "Time, clocks, and the ordering of
events", 1978. Colours are a page's, where the picture stands in one.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from posse.gates.shown import printable
from posse.protocol.machine import COORDINATOR
from posse.reading.folder import Frame

_ROW, _TOP, _SIDE = 18, 46, 120
_WIDEST, _NARROWEST, _ALL = 130, 54, 900
"""Pixels between two processes, at most and at least, and between all if there are many."""

_STYLE = (
    ".st text{font:11px sans-serif;fill:var(--ink,#222)}"
    ".st .t{fill:var(--muted,#666);font-size:10px}.st line{stroke:var(--muted,#888)}"
    ".st .k{font-size:10px;paint-order:stroke;stroke:var(--paper,#fff);stroke-width:3px}"
    ".st .r{--c:var(--muted,#5c646c)}.st .data{--c:var(--s0,#1f6fb4)}"
    ".st .world{--c:var(--s1,#bd5217)}.st .session{--c:var(--s3,#a23688)}"
    ".st .r line{stroke:var(--c)}.st .r :is(.k,.h){fill:var(--c)}"
    ".st .bad{--c:var(--bad,#c02626)}.st .bad line{stroke-dasharray:4 3}"
    ".st .f{fill:var(--bad,#c02626);font-weight:bold}"
    ".st .band{fill:var(--bad,#c02626);fill-opacity:.16}.st .back{fill:var(--paper,#fff)}"
)


@dataclass(frozen=True)
class Arrow:
    """A message: the rows in which it was sent and came (None: it never came), and its name.

    `detail` is shown where one points at it. `bad`: it was sent again.
    """

    source: int
    target: int
    sent: int
    came: int | None
    name: str
    plane: str = "data"
    detail: str = ""
    bad: bool = False


@dataclass(frozen=True)
class Mark:
    """Something that happened to a process, in a row; `bad` for a fault."""

    process: int
    row: int
    text: str
    bad: bool = False


@dataclass(frozen=True)
class Band:
    """A fault that lasted: what it did to a process, from a row to another."""

    process: int
    first: int
    last: int
    text: str


def picture(
    title: str,
    times: Sequence[str],
    arrows: Iterable[Arrow],
    marks: Iterable[Mark],
    bands: Iterable[Band] = (),
) -> str:
    """The picture as SVG; `times` has the time of each row."""
    arrows, marks, bands = list(arrows), list(marks), list(bands)
    ends = {end for arrow in arrows for end in (arrow.source, arrow.target)}
    processes = sorted(ends | {m.process for m in marks} | {band.process for band in bands})
    wide = max(_NARROWEST, min(_WIDEST, _ALL // max(len(processes), 1)))
    column = {process: _SIDE + wide * place for place, process in enumerate(processes)}
    width = _SIDE + wide * max(len(processes), 1) + (160 if marks else 0)
    height = _TOP + _ROW * (len(times) + 1)
    name = _text(title, 300)
    parts = [
        f'<svg class="st" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{name}"><style>{_STYLE}</style>',
        f'<rect class="back" width="{width}" height="{height}"/><text x="8" y="16">{name}</text>',
    ]
    for band in bands:
        x, y, tall = column[band.process] - 9, _height(band.first) - 9, band.last - band.first + 1
        parts.append(
            f'<g><title>{_text(band.text, 200)}</title><rect class="band" x="{x}" y="{y}" '
            f'width="18" height="{_ROW * tall}"/></g>'
        )
    heads = [f'<rect class="back" y="20" width="{width}" height="20"/>']
    for process, x in column.items():
        short = wide < _WIDEST / 2 and process != COORDINATOR
        name = "coordinator" if process == COORDINATOR else f"{'' if short else 'agent '}{process}"
        heads.append(f'<text x="{x}" y="{_TOP - 12}" text-anchor="middle">{name}</text>')
        parts.append(f'<line x1="{x}" y1="{_TOP - 6}" x2="{x}" y2="{height - 6}"/>')
    before = ["", *times]
    for row, (last, when) in enumerate(pairwise(before)):
        if when != last:
            parts.append(f'<text class="t" x="8" y="{_height(row) + 4}">{_text(when, 12)}</text>')
    parts += [_drawn(arrow, column) for arrow in arrows]
    for mark in marks:
        x, y = column[mark.process], _height(mark.row)
        kind = ' class="f"' if mark.bad else ""
        parts.append(f'<circle{kind} cx="{x}" cy="{y}" r="3"/>')
        parts.append(f'<text{kind} x="{x + 6}" y="{y + 4}">{_text(mark.text, 60)}</text>')
    parts.append(f'<g class="names">{"".join(heads)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _height(row: int) -> int:
    return _TOP + _ROW * row


def _drawn(arrow: Arrow, column: dict[int, int]) -> str:
    x, y = column[arrow.source], _height(arrow.sent)
    to, below = column[arrow.target], _height(arrow.sent if arrow.came is None else arrow.came)
    lost = arrow.came is None
    if lost:
        to = (x + to) // 2
    turn = -7 if to >= x else 7
    head = f'<path class="h" d="M{to},{below}l{turn},-6v7z"/>' * (not lost)
    side, anchor = (8, "start") if to >= x else (-8, "end")
    name = _text(f"{arrow.name}{' (lost)' if lost else ''}", 40)
    label = f'<text class="k" x="{x + side}" y="{y - 3}" text-anchor="{anchor}">{name}</text>'
    css = f"r {arrow.plane}{' bad' if lost or arrow.bad else ''}"
    title = f"<title>{_text(arrow.detail or arrow.name, 240)}</title>"
    line = f'<line x1="{x}" y1="{y}" x2="{to}" y2="{below}"/>'
    return f'<g class="{css}" data-r="{arrow.sent}">{title}{line}{head}{label * bool(name)}</g>'


def _text(words: str, longest: int) -> str:
    """A frame's words, or a file's name, as text of the picture: a capture may be anybody's."""
    return escape(printable(words, longest))


def of_frames(title: str, frames: Iterable[Frame], most: int = 400) -> str:
    """The picture of a capture's frames, of which at most `most` are shown; the last ones.

    A capture says when a frame was sent, not when it came: arrows are drawn to the next row.
    """
    shown: deque[Frame] = deque(maxlen=most)
    count = 0
    for frame in frames:
        if frame.source is not None and frame.target is not None:
            shown.append(frame)
            count += 1
    if len(shown) < count:
        title = f"{title}: the last {len(shown)} of {count:,} frames"
    arrows = arrows_of(enumerate(shown), {})
    return picture(title, [f"{frame.time:.6f}" for frame in shown], arrows, ())


def arrows_of(
    rows: Iterable[tuple[int, Frame]], names: Mapping[str, Sequence[str]]
) -> Iterator[Arrow]:
    """The arrow of each frame in its row; of several in one row the first is named.

    `names` has the fields' names by kind of message, as far as they are known.
    """
    named: set[int] = set()
    for row, frame in rows:
        if frame.source is None or frame.target is None:
            continue
        again = " (again)" * frame.resent
        yield Arrow(
            frame.source,
            frame.target,
            row,
            row + 1,
            "" if row in named else frame.kind + again,
            frame.plane,
            f"{frame.line(names.get(frame.kind, ()))}{again}",
            frame.resent,
        )
        named.add(row)
