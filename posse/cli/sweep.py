"""`posse sweep`: one run file over all values of some keys, on all cores or on a Dask cluster."""

from __future__ import annotations

import argparse
import csv
import itertools
import json
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posse.cli import paths, volume
from posse.cli.options import Commands, add_result, add_run_file, count, plan
from posse.errors import PosseError, SpecError

if TYPE_CHECKING:
    from posse.results.point import PointResult

Point = dict[str, str]


def add(commands: Commands) -> None:
    """The verb and its options."""
    parser = commands.add_parser("sweep", help="a run file over all values of some keys")
    add_run_file(parser)
    parser.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="PATH=A,B,C",
        help="a key and its values; several make all combinations",
    )
    parser.add_argument("--jobs", type=count, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--dask", metavar="ADDRESS", help="a Dask cluster to run on instead")
    add_result(parser)
    parser.set_defaults(command=run)


def points(over: list[str]) -> list[Point]:
    """Every combination of "path=a,b,c", as path to value."""
    axes = []
    for axis in over:
        path, equals, values = axis.partition("=")
        if not equals or not path or "" in values.split(","):
            raise SpecError("--over", f"'{axis}' is not path=a,b,c")
        axes.append([(path, value) for value in values.split(",")])
    return [dict(combination) for combination in itertools.product(*axes)]


def one(task: tuple[Point, dict[str, Any]]) -> PointResult:
    """Run the specification of one point, in any process that has posse."""
    import msgspec

    from posse import api
    from posse.results.point import PointResult
    from posse.spec.runfile import RunSpec

    at, document = task
    found = api.run(msgspec.convert(document, RunSpec))
    return PointResult(
        at=at,
        summary=found.summary(),
        statuses=[run.status for run in found.runs],
        best_arms=[run.best_arm for run in found.runs],
    )


def run(options: argparse.Namespace) -> None:
    """Check every point first, run all, write and print what came of each."""
    import msgspec

    from posse.engines.pool import on_all_cores

    grid = points(options.over)
    plans = [
        plan(options, "engine.kind=memory", *(f"{path}={value}" for path, value in point.items()))
        for point in grid
    ]
    for checked in plans:
        checked.require()
    paths.folder(options.out or paths.RUNS)
    tasks = [
        (point, msgspec.to_builtins(checked.spec))
        for point, checked in zip(grid, plans, strict=True)
    ]
    if options.dask:
        found = _on_dask(options.dask, tasks)
    else:
        found = []
        for _, point in sorted(on_all_cores(one, tasks, options.jobs), key=itemgetter(0)):
            if isinstance(point, PosseError):
                raise point
            found.append(point)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = options.out or paths.RUNS / f"sweep-{options.file.stem}-{stamp}"
    _write(folder, found)
    if options.json:
        print(json.dumps(msgspec.to_builtins(found)))
    else:
        _show(found, folder, options)


def _on_dask(address: str, tasks: list[tuple[Point, dict[str, Any]]]) -> list[PointResult]:
    try:
        from distributed import Client
    except ImportError:
        raise PosseError('--dask needs: pip install "posse[dask]"') from None
    try:
        with Client(address, timeout=10) as client:  # type: ignore[no-untyped-call,unused-ignore]
            futures = client.map(one, tasks, pure=False)
            gathered: list[PointResult] = client.gather(futures)
            return gathered
    except (OSError, TimeoutError, ValueError) as error:
        raise PosseError(
            f"--dask {address}: no scheduler answers there ({error}); give the address that "
            "dask scheduler prints, as in tcp://192.0.2.1:8786, or leave --dask out"
        ) from None


def _write(folder: Path, found: list[PointResult]) -> None:
    import msgspec

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sweep.json").write_text(json.dumps(msgspec.to_builtins(found), indent=1))
    measured = sorted({name for point in found for name in point.summary})
    with (folder / "sweep.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        parts = (f"{name}{part}" for name in measured for part in ("", "_ci95"))
        writer.writerow([*found[0].at, *parts])
        for point in found:
            means = [point.summary.get(name) for name in measured]
            cells = [cell for m in means for cell in ((m.mean, m.ci95) if m else (None, None))]
            writer.writerow([*point.at.values(), *cells])


def _show(found: list[PointResult], folder: Path, options: argparse.Namespace) -> None:
    from rich.table import Table

    shown = [m for m in ("rounds", "slots", "regret", "data_messages") if m in found[0].summary]
    table = Table(*found[0].at, "status", *shown, box=None)
    for point in found:
        means = [point.summary.get(name) for name in shown]
        cells = ["" if mean is None else f"{mean.mean:,.0f}" for mean in means]
        table.add_row(*point.at.values(), ", ".join(sorted(set(point.statuses))), *cells)
    console = volume.closing(options)
    console.print(table)
    console.print(f"written to {folder}")
