"""A run as a film: who sent what to whom, beside its regret and the arms left at that time.

The frames are those of a capture that lies in the run's folder as `frames`, such as `posse run FILE
--out DIR --capture DIR/frames` writes. What does not fit is left out, and the page says what.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from markupsafe import Markup

from posse.errors import InputError
from posse.protocol.machine import COORDINATOR
from posse.reading.folder import Frame, Series
from posse.report.drawing import thin
from posse.report.page import Film, Section
from posse.report.picture import Band, Mark, arrows_of, picture
from posse.results.record import RunRecord

MOST_FRAMES = 600
"""Frames in a film: with what is shown where one points at them, less than 400 kB."""

MOST_AGENTS = 16
"""Agents in a film, the first ones: more columns are not told apart."""

MOST_FAULTS = 4
"""Faults about which frames of a long run are kept, the first ones."""

MOST_READ = 300_000
"""Frames of a capture that are looked at, some seconds' work."""

_POINTS = 200
_PLANES = ("data", "world", "control", "session", "unknown")


def section(series: Series) -> Section | None:
    """The film of the first run; None where no frames lie beside it, or it is under way."""
    captured = series.frames()
    if captured is None:
        return None
    run = series.runs[0]
    made = Section(id="film", title="Film")
    try:
        every = list(islice(captured, MOST_READ))
    except InputError as error:
        made.text = [f"{error}."]
        return made
    of_run = [frame for frame in every if frame.run in (run.run, None)]
    faults = sorted({gone.since for gone in run.missing})[:MOST_FAULTS]
    shown, left_out, gaps = choose(of_run, faults)
    if not shown:
        made.text = [f"The capture has no frames of run {run.run}."]
        return made
    if len(every) == MOST_READ:
        left_out.append(f"all after the first {MOST_READ:,} of the capture")
    made.film = draw(series, run, shown, gaps)
    made.text = [
        f"Run {run.run}: each arrow is a message, time runs downwards, and a capture says when a "
        "message was sent, not when it came. Point at an arrow for what it said; the slider moves "
        "the time here and in the figures of regret and arms left.",
        f"Left out: {'; '.join(left_out)}." if left_out else "Nothing is left out.",
    ]
    if doubt := _doubt(run, of_run):
        made.text.insert(0, doubt)
    return made


def choose(
    every: Sequence[Frame], faults: Sequence[float] = ()
) -> tuple[list[Frame], list[str], list[int]]:
    """At most `MOST_FRAMES`, what is left out in words, and the numbers of frames after a gap.

    First go those without a place in the picture, then heartbeats and the clock's own; then what is
    neither at the beginning, nor at the end, nor about the time of one of the `faults`.
    """
    left_out: list[str] = []
    gaps: list[int] = []
    kept = list(every)

    def drop(what: str, keep: Iterable[Frame]) -> None:
        nonlocal kept
        rest = list(keep)
        if len(rest) < len(kept):
            left_out.append(f"{len(kept) - len(rest):,} {what}")
        kept = rest

    drop("frames of who had no rank yet", [f for f in kept if None not in (f.source, f.target)])
    drop(
        f"frames from or to agents above {MOST_AGENTS - 1}",
        [f for f in kept if _ends(f) < MOST_AGENTS],
    )
    if len(kept) > MOST_FRAMES:
        drop("envelopes without a frame", [f for f in kept if f.plane != "session"])
    if len(kept) > MOST_FRAMES:
        drop("control frames, which are posse's own", [f for f in kept if f.plane != "control"])
    if len(kept) > MOST_FRAMES:
        places = _windows(kept, faults)
        gaps = [n for n in range(1, len(places)) if places[n] > places[n - 1] + 1]
        holes = [f"{_at(kept[places[n - 1]])} and {_at(kept[places[n]])}" for n in gaps]
        drop(f"frames between {', '.join(holes)}", [kept[place] for place in places])
    return kept, left_out, gaps


def _windows(kept: Sequence[Frame], faults: Sequence[float]) -> list[int]:
    """The places of the first and the last frames and of those about each fault."""
    size, last = MOST_FRAMES // (2 + len(faults)), len(kept)
    starts = [0, last - size]
    for since in faults:
        at = next((n for n, f in enumerate(kept) if (f.now or 0.0) >= since), last)
        starts.append(max(0, min(at - size // 2, last - size)))
    return sorted({place for start in starts for place in range(start, start + size)})


def _ends(frame: Frame) -> int:
    return max(frame.source or 0, frame.target or 0)


def _at(frame: Frame) -> str:
    return "–" if frame.now is None else f"{frame.now:g}"


def _doubt(run: RunRecord, of_run: Sequence[Frame]) -> str:
    """A sentence if the capture has not the messages that the result counted."""
    sent = sum(frame.plane == "data" and not frame.resent for frame in of_run)
    counted_there = run.communication.data.messages
    if counted_there is None or sent == counted_there or run.missing or run.restarts:
        return ""
    return (
        f"The capture has {sent:,} data messages of this run and its result "
        f"{counted_there:,}: it is of another run, of one process, or was cut."
    )


def _in_rows(shown: Sequence[Frame]) -> Iterator[tuple[int, Frame]]:
    """Each frame with its row; what one sends to several in a row has one."""
    row, before = -1, None
    for frame in shown:
        same = (frame.source, frame.plane, frame.kind, str(frame.fields), frame.now, frame.resent)
        row += same != before
        before = same
        yield row, frame


def draw(series: Series, run: RunRecord, shown: Sequence[Frame], gaps: Sequence[int]) -> Film:
    """The film of these frames; `gaps` are the numbers of those before which others lack."""
    rows = list(_in_rows(shown))
    after_gaps = {rows[gap][0]: shown[gap] for gap in gaps}
    times: list[float] = []
    for row, frame in rows:
        if row == len(times):
            times.append(max(frame.now or 0.0, times[-1] if times else 0.0))
    names = series.system.fields if series.system is not None else {}
    planes = Counter(frame.plane for frame in shown)
    drawn = picture(
        f"time ({series.clock_unit})",
        [f"{time:.8g}" for time in times],
        arrows_of(rows, names),
        [_gap(frame, row) for row, frame in after_gaps.items()],
        bands(run, times),
    )
    curves: list[tuple[str, bool, list[list[float]]]] = []
    if run.regret_curve:
        curves.append(("regret", False, [point[:2] for point in thin(run.regret_curve, _POINTS)]))
    for figure in series.system.figures if series.system is not None else ():
        if figure.style == "steps":
            pairs = figure.values(run, series.spec.arms.arm_count())
            curves.append((figure.y, True, [list(pair) for pair in thin(list(pairs), _POINTS)]))
    data = json.dumps(
        {"unit": series.clock_unit, "times": times, "curves": curves, "gaps": [*after_gaps]}
    )
    return Film(
        svg=Markup(drawn),
        planes=[f"{plane} ({planes[plane]:,})" for plane in sorted(planes, key=_PLANES.index)],
        data=Markup(data.replace("<", "\\u003c")),
    )


def _gap(frame: Frame, row: int) -> Mark:
    return Mark(COORDINATOR if frame.source is None else frame.source, row, "after a gap", bad=True)


def bands(run: RunRecord, times: Sequence[float]) -> Iterator[Band]:
    """The faults that the result tells: who was away, from when to when."""
    for gone in run.missing:
        if gone.agent >= MOST_AGENTS:
            continue
        rows = [row for row, time in enumerate(times) if gone.since <= time <= gone.until]
        first = next((row for row, time in enumerate(times) if time >= gone.since), len(times) - 1)
        text = f"agent {gone.agent} was away from {gone.since:g} to {gone.until:g}: {gone.why}"
        yield Band(gone.agent, first, rows[-1] if rows else first, text)
