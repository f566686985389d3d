"""`posse report`: a page about one folder; `posse compare`: one about several on the same arms."""

import argparse
import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from posse.cli import paths
from posse.cli.options import add_trust, place
from posse.cli.parser import Parser
from posse.errors import InputError, PosseError
from posse.gates.code import Imports
from posse.log import remark
from posse.measure.numbers import listed

if TYPE_CHECKING:
    from posse.report.page import Page

_NEEDED = ("jinja2", "matplotlib")

SYSTEMS = "import the code of the systems that the results name, from their folders"


def require() -> None:
    """`PosseError` if the extra `report`, which pages need, is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise PosseError(
            f"reports need {' and '.join(missing)}; install them with: "
            'python -m pip install "posse-bandits[report]"'
        )


def add(parser: Parser) -> None:
    parser.option("directory DIR", "directory of a run, a sweep or an audit", type=Path)
    add_trust(parser, SYSTEMS)
    parser.set_defaults(imports=Imports.NOTHING)
    _add_format(parser)
    parser.option(
        "--for READER",
        "board: one A4 to sign, with who sees what, what a person is charged, and the audit",
        choices=("board",),
        dest="reader",
    )
    parser.option("--audit DIR", "for the board: what posse audit found of this system", type=Path)
    parser.option(
        "--out FILE", "file or folder (default: DIR/report.html, else DIR/FORMAT)", type=place
    )


def _add_format(parser: Parser) -> None:
    parser.option(
        "--format FORMAT",
        "html: a page; for a paper a folder of tables as tex or csv, or of figures as svg",
        choices=("html", "tex", "csv", "svg"),
        default="html",
    )


def _write(made: "Page", options: argparse.Namespace, default: Path) -> None:
    """Write a page where `--out` says, and print the files."""
    if options.format == "html":
        options.out = paths.file(options.out or default)
        made.write(options.out)
        print(options.out)
        return
    from posse.report import formats

    options.out = options.out or default.parent / options.format
    for path in formats.write(made, options.format, options.out):
        print(path)


def add_compare(parser: Parser) -> None:
    parser.option("directories DIR", "directory of a run or a sweep", type=Path, nargs="+")
    add_trust(parser, SYSTEMS)
    parser.set_defaults(imports=Imports.NOTHING)
    _add_format(parser)
    parser.option("--out FILE", "file or folder (default: compare.html, else FORMAT)", type=place)


def run(options: argparse.Namespace) -> None:
    require()
    from posse.report import audit, board, comparison, read, run_page

    directory = options.directory
    audited = audit.is_audit(directory)
    all_series = [] if audited else read.find(directory, trust=options.trust)
    if audited:
        made = audit.audit_page(directory)
    elif options.reader == "board" and read.is_run(directory):
        made = board.board_page(all_series[0], options.audit)
    elif options.reader == "board":
        raise InputError(f"{directory} holds several runs; a board signs one")
    elif read.is_run(directory):
        made = run_page.run_page(all_series[0])
    else:
        _say_what_is_passed_over(directory)
        name = directory.resolve().name
        made = comparison.several_page(
            all_series, f"{name}: {len(all_series)} series", "posse report"
        )
    _write(made, options, directory / f"{options.reader or 'report'}.html")


def _say_what_is_passed_over(directory: Path) -> None:
    """Name the folders in a folder of runs that hold runs of their own, such as sweeps."""
    from posse.report import read

    inner = [child for child in sorted(directory.iterdir()) if child.is_dir()]
    passed = [
        folder
        for folder in inner
        if not read.is_run(folder) and any(map(read.is_run, folder.iterdir()))
    ]
    if passed:
        names = listed([folder.name for folder in passed])
        remark(f"not in this page: {names}; posse report draws each, posse compare several")


def run_compare(options: argparse.Namespace) -> None:
    require()
    from posse.report import comparison, differences, read

    all_series = [
        series
        for directory in options.directories
        for series in read.find(directory, trust=options.trust)
    ]
    places = Counter(series.path.resolve() for series in all_series)
    if twice := [path for path, times in places.items() if times > 1]:
        raise InputError(f"{twice[0]} is named twice; name each run once")
    if len(all_series) < 2:
        raise InputError("posse compare needs at least two runs; use posse report for one")
    differences.require_same_arms(all_series)
    names = Counter(series.name for series in all_series)
    all_series = [
        replace(series, name=f"{series.path.resolve().parent.name}/{series.name}")
        if names[series.name] > 1
        else series
        for series in all_series
    ]
    systems = list(dict.fromkeys(series.spec.system for series in all_series))
    title = " · ".join(systems) if len(systems) > 1 else f"{systems[0]}, {len(all_series)} series"
    made = comparison.several_page(all_series, title, "posse compare · the same arms")
    _write(made, options, Path("compare.html"))
