"""`posse capture`: run, and write the frames of all links to a file; `posse frames` shows them."""

import argparse
from pathlib import Path

import msgspec

from posse import api
from posse.cli import paths
from posse.cli.options import add_changes, add_run_file, changes, console_of, number, place, plan
from posse.cli.parser import Parser
from posse.cli.progress import screen
from posse.durable import frames
from posse.gates import files
from posse.log import remark
from posse.measure.numbers import listed
from posse.progress import RunProgress


def add(parser: Parser) -> None:
    add_run_file(parser)
    add_changes(parser)
    parser.option(
        "--out FRAMES", "file for the frames; posse frames shows them", type=place, required=True
    )


def run(options: argparse.Namespace) -> None:
    checked = plan(options, *changes(options))
    checked.require()
    file = paths.file(options.out)
    with RunProgress(checked, screen(options)) as progress:
        api.run(
            checked,
            observe=progress.observe,
            on_join=progress.joined,
            on_record=lambda record: progress.done(),
            capture=file,
        )
    message = f"the frames are in {file}; posse frames {file} shows them"
    console_of(options).print(message, soft_wrap=True, highlight=False)


def add_frames(parser: Parser) -> None:
    parser.option("file FRAMES", "file that posse capture wrote", type=Path)
    parser.option("--kind KIND", "show only frames of this kind, e.g. Vote")
    parser.option(
        "--plane",
        "show only frames of this plane",
        choices=("data", "control", "world", "session"),
    )
    parser.option("--run N", "show only frames of this run, from 0", type=number)
    for end in ("from", "to"):
        help_text = f"show only frames {end} the agent of this rank, or coordinator"
        parser.option(f"--{end} RANK", help_text, type=_end)
    parser.option("--json", "print one JSON document per line")
    parser.option(
        "--picture SVG", "write the last 400 of them as a space-time picture instead", type=Path
    )


def _end(text: str) -> int:
    if text == "coordinator":
        return -1
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"is {text}; it must be a rank, or coordinator")
    return int(text)


def run_frames(options: argparse.Namespace) -> None:
    link = (vars(options)["from"], options.to)
    wanted = {"link": link, "plane": options.plane, "kind": options.kind, "run": options.run}
    frame = None
    if options.picture is not None:
        from posse.report.picture import of_frames

        file = paths.file(options.picture)
        shown = frames.select(frames.read(options.file), **wanted)
        files.write(file, of_frames(str(options.file), shown))
        return
    for frame in frames.select(frames.read(options.file), **wanted):
        print(msgspec.json.encode(frame).decode() if options.json else frame)
    if frame is None:
        kinds = sorted({frame.kind for frame in frames.read(options.file)})
        remark(f"{options.file}: no frame matches; its frames are of the kinds {listed(kinds)}")
