"""`posse compare`: one page for several runs on the same arms."""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path

from posse.cli import extra, paths
from posse.cli.options import place
from posse.errors import InputError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--out", type=place, default=Path("compare.html"), metavar="FILE")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    extra.require()
    from posse.report import differ, read, several

    found = [series for directory in options.directories for series in read.find(directory)]
    if len(found) < 2:
        raise InputError("posse compare needs at least two runs; for one there is posse report")
    differ.fit(found)
    names = Counter(series.name for series in found)
    found = [
        replace(series, name=f"{series.path.resolve().parent.name}/{series.name}")
        if names[series.name] > 1
        else series
        for series in found
    ]
    paths.file(options.out)
    systems = list(dict.fromkeys(series.spec.system for series in found))
    title = " · ".join(systems) if len(systems) > 1 else f"{systems[0]}, {len(found)} series"
    several.several_page(found, title, "posse compare · the same arms").write(options.out)
    print(options.out)
