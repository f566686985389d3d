"""`posse report`: a page about one folder, or about several on the same arms."""

import importlib.util
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from posse.cli import call, paths
from posse.cli.options import FileToWrite, Trust
from posse.errors import InputError, PosseError
from posse.log import remark
from posse.measure.numbers import listed

if TYPE_CHECKING:
    from posse.report.page import Page

_NEEDED = ("jinja2", "matplotlib")

_Format = Literal["html", "tex", "csv", "svg"]


def require() -> None:
    """`PosseError` if the extra `report`, which pages need, is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise PosseError(
            f"reports need {' and '.join(missing)}; install them with: "
            'python -m pip install "posse-bandits[report]"'
        )


def report(
    *directories: Path,
    format: _Format = "html",
    for_: Annotated[Literal["board"] | None, Parameter(name="--for")] = None,
    audit: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    out: FileToWrite | None = None,
    trust: Trust = Trust(),
) -> None:
    """Write one page about a run, a sweep or an audit, or one that compares runs on the same arms.

    Args:
        directories: directory of a run, a sweep or an audit; several are compared
        format: html, a page; for a paper a folder of tables as tex or csv, or of figures as svg
        for_: board, one A4 to sign, with who sees what, what a person is charged, and the audit
        audit: for the board, what posse audit found of this system
        out: file or folder (default: DIR/report.html, compare.html for several, else FORMAT)
    """
    require()
    if not directories:
        raise InputError("posse report needs the directory of a run, a sweep or an audit")
    if out is not None and format == "html":
        paths.file(out)
    if len(directories) > 1:
        if for_ or audit:
            raise InputError("--for and --audit are for one run; name one directory")
        _write(_compared(directories, trust=trust.trust), format, out, Path("compare.html"))
        return
    directory = directories[0]
    made = _one(directory, for_, audit, trust=trust.trust)
    _write(made, format, out, directory / f"{for_ or 'report'}.html")


def _one(directory: Path, reader: str | None, audit: Path | None, *, trust: bool) -> "Page":
    from posse.reading import audited
    from posse.reading import folder as folders
    from posse.report import board, comparison, run_page
    from posse.report.audit import audit_page

    if audited.is_audit(directory):
        return audit_page(directory)
    all_series = folders.find(directory, trust=trust)
    if reader == "board" and folders.is_run(directory):
        return board.board_page(all_series[0], audit)
    if reader == "board":
        raise InputError(f"{directory} holds several runs; a board signs one")
    if folders.is_run(directory):
        return run_page.run_page(all_series[0])
    _say_what_is_passed_over(directory)
    name = directory.resolve().name
    title = f"{name}: {len(all_series)} series"
    return comparison.several_page(all_series, title, "posse report")


def _write(made: "Page", kind: _Format, out: Path | None, default: Path) -> None:
    """Write a page where `--out` says, and print the files."""
    if kind == "html":
        file = paths.file(out or default)
        made.write(file)
        print(file)
        return
    from posse.report import formats

    folder = call.current().writing = out or default.parent / kind
    for path in formats.write(made, kind, folder):
        print(path)


def _say_what_is_passed_over(directory: Path) -> None:
    """Name the folders in a folder of runs that hold runs of their own, such as sweeps."""
    from posse.reading import folder as folders

    inner = [child for child in sorted(directory.iterdir()) if child.is_dir()]
    passed = [
        folder
        for folder in inner
        if not folders.is_run(folder) and any(map(folders.is_run, folder.iterdir()))
    ]
    if passed:
        names = listed([folder.name for folder in passed])
        remark(f"not in this page: {names}; posse report draws each, or several that are named")


def _compared(directories: Sequence[Path], *, trust: bool) -> "Page":
    from posse.reading import folder as folders
    from posse.report import comparison, differences

    all_series = [one for directory in directories for one in folders.find(directory, trust=trust)]
    places = Counter(series.path.resolve() for series in all_series)
    if twice := [path for path, times in places.items() if times > 1]:
        raise InputError(f"{twice[0]} is named twice; name each run once")
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
    return comparison.several_page(all_series, title, "posse report · the same arms")
