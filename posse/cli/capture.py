"""`posse capture`: a run, and the frames that crossed its links, in a file."""

import argparse

from posse import api
from posse.cli import paths, volume
from posse.cli.options import add_changes, add_run_file, changes, place, plan
from posse.cli.progress import screen
from posse.progress import RunProgress


def add(parser: argparse.ArgumentParser) -> None:
    add_run_file(parser)
    add_changes(parser)
    parser.add_argument(
        "--out", type=place, required=True, metavar="FRAMES", help="the file; see posse frames"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Run it, and say where the frames are."""
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
