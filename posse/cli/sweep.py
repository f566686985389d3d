"""`posse sweep`: one run file over all values of some keys, on all cores or on a Dask cluster."""

import argparse
import csv
import itertools
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from posse.cli import paths, volume
from posse.cli.options import Commands, add_result, add_run_file, count, plan
from posse.errors import PosseError, SpecError

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


def one(document: dict[str, Any]) -> dict[str, Any]:
    """Run one specification; plain data in and out, for any process that has posse."""
    import msgspec

    from posse import api
    from posse.spec.runfile import RunSpec

    found = api.run(msgspec.convert(document, RunSpec))
    return {
        "summary": msgspec.to_builtins(found.summary()),
        "statuses": [run.status for run in found.runs],
        "best_arms": [run.best_arm for run in found.runs],
    }


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
    documents = [msgspec.to_builtins(checked.spec) for checked in plans]
    if options.dask:
        results = _on_dask(options.dask, documents)
    else:
        results = list(on_all_cores(one, documents, options.jobs))
    rows = [{"at": point, **result} for point, result in zip(grid, results, strict=True)]
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = options.out or paths.RUNS / f"sweep-{options.file.stem}-{stamp}"
    _write(folder, rows)
    if options.json:
        print(json.dumps(rows))
    else:
        _show(rows, folder, options)


def _on_dask(address: str, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        from distributed import Client
    except ImportError:
        raise PosseError('--dask needs: pip install "posse[dask]"') from None
    try:
        with Client(address, timeout=10) as client:  # type: ignore[no-untyped-call,unused-ignore]
            futures = client.map(one, documents, pure=False)
            gathered: list[dict[str, Any]] = client.gather(futures)
            return gathered
    except (OSError, TimeoutError, ValueError) as error:
        raise PosseError(
            f"--dask {address}: no scheduler answers there ({error}); give the address that "
            "dask scheduler prints, as in tcp://192.0.2.1:8786, or leave --dask out"
        ) from None


def _write(folder: Path, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sweep.json").write_text(json.dumps(rows, indent=1))
    metrics = sorted({name for row in rows for name in row["summary"]})
    with (folder / "sweep.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [*rows[0]["at"], *(f"{m}{part}" for m in metrics for part in ("", "_ci95"))]
        )
        for row in rows:
            cells = [row["summary"].get(m, {}).get(p) for m in metrics for p in ("mean", "ci95")]
            writer.writerow([*row["at"].values(), *cells])


def _show(rows: list[dict[str, Any]], folder: Path, options: argparse.Namespace) -> None:
    from rich.table import Table

    shown = [m for m in ("rounds", "slots", "regret", "data_messages") if m in rows[0]["summary"]]
    table = Table(*rows[0]["at"], "status", *shown, box=None)
    for row in rows:
        cells = []
        for metric in shown:
            found = row["summary"].get(metric)
            cells.append("" if found is None else f"{found['mean']:,.0f}")
        table.add_row(*row["at"].values(), ", ".join(sorted(set(row["statuses"]))), *cells)
    console = volume.closing(options)
    console.print(table)
    console.print(f"written to {folder}")
