"""`posse frames`: what a capture has, a line per frame."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posse.cli.options import Commands

if TYPE_CHECKING:
    from posse.testing.frames import Frame

_WIDEST = 100


def add(commands: Commands) -> None:
    """The verb and its options."""
    parser = commands.add_parser("frames", help="show the frames of a capture, a line each")
    parser.add_argument("file", type=Path, metavar="FRAMES", help="what posse capture wrote")
    parser.add_argument("--kind", metavar="KIND", help="of this kind alone, as in Vote")
    parser.add_argument("--plane", choices=("data", "control", "world", "session"))
    for option, meaning in (("--from", "who sent them"), ("--to", "who they are for")):
        parser.add_argument(option, type=_end, metavar="RANK", help=f"{meaning}; or coordinator")
    parser.add_argument("--json", action="store_true", help="one JSON document per line")
    parser.set_defaults(command=run)


def _end(text: str) -> int:
    if text == "coordinator":
        return -1
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"is {text}; it must be a rank, or coordinator")
    return int(text)


def run(options: argparse.Namespace) -> None:
    """Read the file, and print what is asked for."""
    import msgspec

    from posse.testing import frames

    link = (vars(options)["from"], options.to)
    for frame in frames.select(
        frames.read(options.file), link=link, plane=options.plane, kind=options.kind
    ):
        print(msgspec.json.encode(frame).decode() if options.json else _line(frame))


def _line(frame: Frame) -> str:
    link = f"{_name(frame.source)} → {_name(frame.target)}"
    where = "" if frame.run is None else f"run {frame.run}  #{frame.sequence}  at {frame.now:g}"
    said = ", ".join(map(_plain, frame.fields))
    said = said if len(said) <= _WIDEST else said[: _WIDEST - 1] + "…"
    again = "  (again)" if frame.resent else ""
    return (
        f"{frame.time:10.6f}  {link:<17}  {frame.plane:<7}  {frame.size:>6} B  {where:<28}  "
        f"{frame.kind} {said}{again}"
    ).rstrip()


def _name(end: int | None) -> str:
    return "?" if end is None else "coordinator" if end == -1 else str(end)


def _plain(value: Any) -> str:
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else str(value)
