"""`posse frames`: what a capture has, a line per frame."""

import argparse
from pathlib import Path

import msgspec

from posse.cli.options import number
from posse.durable import frames


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FRAMES", help="what posse capture wrote")
    parser.add_argument("--kind", metavar="KIND", help="of this kind alone, as in Vote")
    parser.add_argument("--plane", choices=("data", "control", "world", "session"))
    parser.add_argument("--run", type=number, metavar="N", help="of this run alone, from 0")
    for option, meaning in (("--from", "who sent them"), ("--to", "who they are for")):
        parser.add_argument(option, type=_end, metavar="RANK", help=f"{meaning}; or coordinator")
    parser.add_argument("--json", action="store_true", help="one JSON document per line")
    parser.set_defaults(command=run)


def _end(text: str) -> int:
    if text == "coordinator":
        return -1
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"is {text}; it must be a rank, or coordinator")
    return int(text)


def run(options: argparse.Namespace) -> None:
    """Read the file, and print what is asked for."""
    link = (vars(options)["from"], options.to)
    for frame in frames.select(
        frames.read(options.file),
        link=link,
        plane=options.plane,
        kind=options.kind,
        run=options.run,
    ):
        print(msgspec.json.encode(frame).decode() if options.json else frame)
