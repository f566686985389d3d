"""`posse capture`: run, and write the frames of all links to a file; `posse frames` shows them."""

import argparse
from pathlib import Path

import msgspec

from posse import api
from posse.cli import paths, volume
from posse.cli.options import add_changes, add_run_file, changes, number, place, plan
from posse.cli.progress import screen
from posse.durable import frames
from posse.log import remark
from posse.measure.numbers import listed
from posse.progress import RunProgress


def add(parser: argparse.ArgumentParser) -> None:
    add_run_file(parser)
    add_changes(parser)
    parser.add_argument(
        "--out",
        type=place,
        required=True,
        metavar="FRAMES",
        help="file for the frames; posse frames shows them",
    )


def run(options: argparse.Namespace) -> None:
    """Run, and say where the frames are."""
    checked = plan(options, *changes(options))
    checked.require()
    file = paths.file(options.out)
    with RunProgress(checked, screen(options)) as progress:
        api.run(
            checked.spec,
            observe=progress.observe,
            on_join=progress.joined,
            on_record=lambda record: progress.done(),
            capture=file,
        )
    said = f"the frames are in {file}; posse frames {file} shows them"
    volume.closing(options).print(said, soft_wrap=True, highlight=False)


def add_frames(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FRAMES", help="file that posse capture wrote")
    parser.add_argument("--kind", metavar="KIND", help="show only frames of this kind, e.g. Vote")
    parser.add_argument(
        "--plane",
        choices=("data", "control", "world", "session"),
        help="show only frames of this plane",
    )
    parser.add_argument(
        "--run", type=number, metavar="N", help="show only frames of this run, from 0"
    )
    for option, meaning in (("--from", "from"), ("--to", "to")):
        whose = f"show only frames {meaning} the agent of this rank, or coordinator"
        parser.add_argument(option, type=_end, metavar="RANK", help=whose)
    parser.add_argument("--json", action="store_true", help="print one JSON document per line")


def _end(text: str) -> int:
    if text == "coordinator":
        return -1
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"is {text}; it must be a rank, or coordinator")
    return int(text)


def run_frames(options: argparse.Namespace) -> None:
    """Read the file, and print the frames asked for."""
    link = (vars(options)["from"], options.to)
    wanted = {"link": link, "plane": options.plane, "kind": options.kind, "run": options.run}
    frame = None
    for frame in frames.select(frames.read(options.file), **wanted):
        print(msgspec.json.encode(frame).decode() if options.json else frame)
    if frame is None:
        kinds = sorted({frame.kind for frame in frames.read(options.file)})
        remark(f"{options.file}: no frame matches; its frames are of the kinds {listed(kinds)}")
