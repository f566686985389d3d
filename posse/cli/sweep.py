"""`posse run --over`: all values of some keys, on all cores or on a Dask cluster."""

import itertools
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from posse import api
from posse.cli import call, paths
from posse.cli.options import Changes, Out, Placed, RunFile, SetOptions, console, print_json
from posse.cli.progress import screen
from posse.durable import batch
from posse.durable.sweep import At, PointResult, SweepDirectory, Task
from posse.errors import PosseError, RunFailed, SpecError
from posse.gates import files, locks
from posse.log import complain, remark
from posse.measure.numbers import counted, with_interval
from posse.progress import Progress
from posse.spec.runfile import parsed


def points(over: Sequence[str]) -> list[At]:
    """Every combination of "path=a,b,c", as a dict from path to value."""
    axes: dict[str, list[Any]] = {}
    for axis in over:
        path, equals, text = axis.partition("=")
        if not equals or not path or "" in text.split(","):
            raise SpecError("--over", f"'{axis}' must have the form path=a,b,c")
        if path in axes:
            raise SpecError("--over", f"{path} is given twice; give all its values in one --over")
        together = parsed(f"[{text}]")  # values as TOML writes them, or words
        values = together if isinstance(together, list) else [*map(parsed, text.split(","))]
        axes[path] = values
        if len(set(map(repr, values))) < len(values):
            raise SpecError("--over", f"'{axis}' has a value twice; delete one of them")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def sweep(
    file: Path,
    over: Sequence[str],
    settings: SetOptions,
    changes: Changes,
    placed: Placed,
    result: Out,
) -> int:
    """Check every point, run what is missing, write and print the result of each."""
    # as the first override, so that any other wins
    source = RunFile(file, settings, ("engine.kind", "memory"))
    own = changes.overrides(settings.set, over)
    plans = [(point, source.plan(*own, *point.items())) for point in points(over)]
    is_placed = placed.placement() is not None
    for _, checked in plans:
        checked.require(0 if is_placed else None)
        if not is_placed:
            checked.check_logs()  # before there is a folder
    folder = paths.result(result.out, f"sweep-{file.stem}")
    directory = SweepDirectory(folder, plans)
    runs = sum(checked.spec.repeat for _, checked in plans)
    with locks.held(folder), Progress(f"{len(plans)} points", runs, screen()) as progress:
        files.require_room(folder)
        directory.open()
        results = _carry_out(directory, placed, progress)
    call.current().written = folder
    if not (written := _write(directory, results)) or result.json:
        print_json(results)
    else:
        _show(results, directory)
    failed = [point for point in results if point.failure is not None]
    for point in failed:
        complain(f"{point.directory}: {point.failure}")
    if failed:
        complain(
            f"{len(failed)} of {len(results)} points failed; the same command with --out {folder} "
            "tries them again"
        )
    return RunFailed.exit_code if failed else int(not written)


def _write(sweep: SweepDirectory, results: list[PointResult]) -> bool:
    """Write the table; if that fails, say so and return False."""
    try:
        sweep.write(results)
    except OSError as error:
        complain(
            f"the table cannot be written to {sweep.folder} ({error.strerror or error}); it is "
            "printed instead"
        )
        return False
    return True


def _carry_out(sweep: SweepDirectory, placed: Placed, progress: Progress) -> list[PointResult]:
    """The result of each point, written as soon as its last run ends."""
    pieces = sweep.pieces()
    results: dict[int, PointResult] = {}
    try:
        with closing(batch.carry_out(pieces, partial(_work, sweep, placed))) as outcomes:
            for done in outcomes:
                place, number = pieces[done.place].task
                progress.done(before=done.before, failed=isinstance(done.outcome, PosseError))
                if ended := sweep.points[place].take(number, done.outcome):
                    results[place] = ended
    except KeyboardInterrupt:
        for place in range(len(sweep.points)):
            if place not in results and (begun := sweep.points[place].give_up("interrupted")):
                results[place] = begun
        _write(sweep, [results[place] for place in sorted(results)])
        remark(
            f"finished runs are kept in {sweep.folder}; the same command with --out {sweep.folder} "
            "resumes from them"
        )
        raise
    return [results[place] for place in sorted(results)]


def _work(sweep: SweepDirectory, placed: Placed, tasks: list[Task]) -> api.Outcomes:
    """Make runs: those in memory all side by side, those as processes point after point."""
    on = placed.placement()
    kinds = [sweep.points[place].plan.spec.engine.kind for place, _ in tasks]
    in_memory = [index for index, kind in enumerate(kinds) if kind == "memory"]
    if in_memory:
        carried = [
            api.encode_run(sweep.points[place].plan, n)
            for place, n in (tasks[i] for i in in_memory)
        ]
        for index, outcome in api.side_by_side(carried, placed.jobs, on):
            yield in_memory[index], outcome
    others = [index for index, kind in enumerate(kinds) if kind == "processes"]
    for place, group in itertools.groupby(others, key=lambda index: tasks[index][0]):
        indices = [*group]
        ended = 0
        try:
            numbers = [tasks[index][1] for index in indices]
            for index, outcome in api.make_runs(sweep.points[place].plan, numbers, on=on):
                yield indices[index], outcome
                ended += 1
        except PosseError as error:
            yield from ((index, error) for index in indices[ended:])


_ONCE = ("n", "answer", "status")
"""Columns that are left out where all rows have the same."""


def _show(results: list[PointResult], sweep: SweepDirectory) -> None:
    from posse.reading import folder as folders
    from posse.report.differences import names
    from posse.report.headline import several

    measures = ["rounds", "slots", "regret", "rewards", "data_messages"]
    if any(point.plan.spec.network is not None for point in sweep.points):
        measures += ["data_payload_bytes", "elapsed_seconds"]
    shown = [m for m in measures if any(m in point.summary for point in results)]
    axes = [key.rpartition(".")[2] for key in results[0].at]
    heads = (name.removeprefix("data_").removeprefix("elapsed_") for name in shown)
    columns = [*axes, "n", "answer", "right", "status", *heads]
    rows = []
    for point in results:
        means = [point.summary.get(name) for name in shown]
        cells = ["" if mean is None else with_interval(mean, point.runs) for mean in means]
        rows.append([*map(str, point.at.values()), str(point.runs), *_answer(point), *cells])
    # what is the same in all rows is said once, and leaves room for the intervals
    same = [
        place
        for place, name in enumerate(columns)
        if name in _ONCE and len(rows) > 1 and len({row[place] for row in rows}) == 1
    ]
    table = Table(*(name for place, name in enumerate(columns) if place not in same), box=None)
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*(cell for place, cell in enumerate(row) if place not in same))
    to = console()
    to.print(table)
    if same:
        to.print(
            "in all rows: " + "; ".join(f"{columns[place]} {rows[0][place]}" for place in same),
            highlight=False,
        )
    series = folders.find(sweep.folder)
    verdict = several(series, names(series)).verdict
    to.print(verdict.line, highlight=False)
    message = f"written to {sweep.folder}; posse report {sweep.folder} draws it"
    to.print(message, soft_wrap=True, highlight=False)


def _answer(point: PointResult) -> tuple[str, str, str]:
    """The commonest answer, how often it was right, and how the runs ended."""
    arms = Counter(arm for arm in point.best_arms if arm is not None).most_common(1)
    answers = ", ".join(
        f"arm {arm}" + f" in {n} of {point.runs}" * (n < point.runs) for arm, n in arms
    )
    right = point.summary.get("right")
    statuses = Counter(point.statuses).most_common()
    ended = ", ".join(f"{status} {n}" if len(statuses) > 1 else status for status, n in statuses)
    failed = f"failed after {counted(point.runs, 'run')}" if point.runs else "failed"
    return (
        answers or "–",
        f"{right.mean * right.n:.0f} of {right.n}" if right is not None else "–",
        ended if point.failure is None else failed,
    )
