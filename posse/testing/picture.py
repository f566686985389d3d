"""A space-time picture: processes as lines, messages as arrows between them, time downwards.

Each thing that happens has a row of its own, so that the picture is readable whatever the times
are; they are written at the side. The form is that of Lamport, "Time, clocks, and the ordering of
events", 1978.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from posse.durable.frames import COORDINATOR, Frame
from posse.gates.shown import printable

_WIDE, _ROW, _TOP, _SIDE = 130, 18, 46, 90
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.t{fill:#888;font-size:10px}"
    "line,path{stroke:#888}.m{stroke:#2563a8}.l{stroke:#c22;stroke-dasharray:4 3}"
    ".k{font-size:10px;fill:#2563a8}.f{fill:#c22;font-weight:bold}rect{fill:#fff}"
)


@dataclass(frozen=True)
class Arrow:
    """A message: the rows in which it was sent and came (None: it never came), and its name."""

    source: int
    target: int
    sent: int
    came: int | None
    name: str


@dataclass(frozen=True)
class Mark:
    """Something that happened to a process, in a row; `bad` for a fault."""

    process: int
    row: int
    text: str
    bad: bool = False


def picture(
    title: str, times: Sequence[float], arrows: Iterable[Arrow], marks: Iterable[Mark]
) -> str:
    """The picture as SVG; `times` has the time of each row, in seconds."""
    arrows, marks = list(arrows), list(marks)
    ends = {end for arrow in arrows for end in (arrow.source, arrow.target)}
    processes = sorted(ends | {mark.process for mark in marks})
    column = {process: _SIDE + 60 + _WIDE * place for place, process in enumerate(processes)}
    width = _SIDE + 60 + _WIDE * max(len(processes), 1) + 160
    height = _TOP + _ROW * (len(times) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><style>{_STYLE}</style>',
        '<defs><marker id="h" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
        '<path d="M0,0 L7,3 L0,6 z" fill="#2563a8" stroke="none"/></marker></defs>',
        f'<rect width="{width}" height="{height}"/><text x="8" y="16">{_text(title, 200)}</text>',
    ]
    for process, x in column.items():
        name = "coordinator" if process == COORDINATOR else f"agent {process}"
        parts.append(f'<text x="{x}" y="{_TOP - 12}" text-anchor="middle">{name}</text>')
        parts.append(f'<line x1="{x}" y1="{_TOP - 6}" x2="{x}" y2="{height - 6}"/>')
    for row, when in enumerate(times):
        parts.append(f'<text class="t" x="8" y="{_height(row) + 4}">{when:.6f}</text>')
    for arrow in arrows:
        parts += _drawn(arrow, column)
    for mark in marks:
        x, y = column[mark.process], _height(mark.row)
        kind = ' class="f"' if mark.bad else ""
        parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{"#c22" if mark.bad else "#222"}"/>')
        parts.append(f'<text{kind} x="{x + 6}" y="{y + 4}">{_text(mark.text, 60)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _height(row: int) -> int:
    return _TOP + _ROW * row


def _drawn(arrow: Arrow, column: dict[int, int]) -> list[str]:
    x, y = column[arrow.source], _height(arrow.sent)
    to, below = column[arrow.target], _height(arrow.sent if arrow.came is None else arrow.came)
    lost = arrow.came is None
    if lost:
        to = (x + to) // 2
    head = "" if lost else ' marker-end="url(#h)"'
    line = f'<line class="{"l" if lost else "m"}" x1="{x}" y1="{y}" x2="{to}" y2="{below}"{head}/>'
    side = 8 if to >= x else -8
    anchor = "start" if to >= x else "end"
    name = _text(f"{arrow.name}{' (lost)' if lost else ''}", 40)
    return [
        line,
        f'<text class="k" x="{x + side}" y="{y - 3}" text-anchor="{anchor}">{name}</text>',
    ]


def _text(words: str, longest: int) -> str:
    """A frame's words, or a file's name, as text of the picture: a capture may be anybody's."""
    return escape(printable(words, longest))


def of_frames(title: str, frames: Iterable[Frame], most: int = 400) -> str:
    """The picture of a capture's frames, of which at most `most` are shown; the last ones.

    A capture says when a frame was sent, not when it came: arrows are drawn to the next row.
    """
    shown = deque(frames, most)
    arrows = [
        Arrow(frame.source, frame.target, row, row + 1, frame.kind + " (again)" * frame.resent)
        for row, frame in enumerate(shown)
        if frame.source is not None and frame.target is not None
    ]
    return picture(title, [frame.time for frame in shown], arrows, ())
