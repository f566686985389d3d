"""`posse run`, and how `posse coordinator` too makes a series of runs, and writes its folder."""

import contextlib
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table

from posse import api
from posse.arms import LiveArms
from posse.cli import call, paths, watch
from posse.cli.options import (
    Changes,
    Out,
    Placed,
    RunFile,
    SetOptions,
    Watched,
    console,
    file_to_write,
    is_resumable,
    parsed,
    print_json,
)
from posse.cli.progress import screen
from posse.durable.directory import RunDirectory
from posse.engines.start.room import cores
from posse.errors import InputError, PosseError, RunFailed
from posse.gates import files, locks
from posse.log import complain, remark
from posse.operate.live import LiveFile
from posse.plan import Plan
from posse.progress import RunProgress
from posse.results import words
from posse.results.record import RunRecord
from posse.results.result import Links, Result
from posse.results.verdict import why_no_answer


def run(
    file: Path,
    /,
    *,
    over: Annotated[tuple[str, ...], Parameter(metavar="PATH=A,B,C", n_tokens=1)] = (),
    settings: SetOptions = SetOptions(),
    changes: Changes = Changes(),
    placed: Placed = Placed(),
    capture: Annotated[Path | None, parsed(file_to_write, "FRAMES")] = None,
    serve: bool = False,
    watched: Watched = Watched(),
    result: Out = Out(),
) -> int:
    """Run every agent and all repeats of a run file, for one result or for each of many values.

    Args:
        file: run file (TOML)
        over: run the file for each of a key's values, in memory unless something says engine.kind;
            repeat the option for all combinations of several keys
        capture: file for every frame of all links, which posse frames shows
        serve: with live arms, after the runs serve their answer until interrupted
    """
    if over:
        if watched.watch is not None or capture is not None:
            raise InputError("--over goes with neither --watch nor --capture; leave it out")
        from posse.cli.sweep import sweep

        return sweep(file, over, settings, changes, placed, result)
    checked = RunFile(file, settings).plan(*changes.overrides(settings.set))
    on = placed.placement()
    checked.require(None if on is None else 0)
    if on is None:
        checked.check_logs()  # before there is a folder
    arms = checked.spec.arms
    if serve and not (isinstance(arms, LiveArms) and arms.durable):
        raise InputError(
            "--serve is for live arms that are durable: their answer is read from arms.store"
        )
    jobs = placed.jobs or cores()
    if placed.jobs and (checked.spec.engine.kind == "processes" or on):
        remark("--jobs has no effect: it shares runs in memory, without --on")
    if capture is not None:
        paths.file(capture)

    def opened(source: Plan, **given: Any) -> AbstractContextManager[api.RunMaker]:
        make = partial(api.make_runs, source, jobs=jobs, on=on, capture=capture, **given)
        return contextlib.nullcontext(make)

    folder = paths.result(result.out, file.stem)
    links = api.links_of(checked, on)
    code = carry_out(checked, folder, opened, links, json=result.json, watched=watched)
    if serve and not code:
        _serve(checked)
    return code


def _serve(plan: Plan) -> None:
    """Serve the answers in the stores of live arms where the agents did, until interrupted."""
    arms, spec = plan.spec.arms, plan.spec
    assert isinstance(arms, LiveArms)
    with contextlib.suppress(KeyboardInterrupt):
        for rank in range(spec.agents.count):
            for door in arms.service(spec.base, rank, spec.privacy.persons).doors:
                remark(f"the answer of agent {rank} is served at {door.address}, until Ctrl-C")
        threading.Event().wait()


def carry_out(
    plan: Plan,
    folder: Path,
    opened: Callable[..., AbstractContextManager[api.RunMaker]],
    links: Links,
    journal: str = "",
    *,
    json: bool,
    watched: Watched,
    resumable: bool | None = None,
) -> int:
    """Make the runs that the folder of a plan lacks, and write the result of all.

    `opened` makes a context in which runs can be made. It is left when the result is safe. If no
    run is missing it is entered only for a `journal` in the folder: agents may wait for release.
    """
    directory = RunDirectory(folder, plan)
    kept: list[bool] = []
    """Of each run that has ended whether it was there before."""
    repeat = plan.spec.repeat
    with locks.held(directory.path), ExitStack() as running:
        files.require_room(directory.path)
        directory.open()
        running.enter_context(watch.serving(folder, watched.address(), stay=True, trust=True))
        live = running.enter_context(LiveFile(directory.path, plan))
        shown = screen()
        with RunProgress(plan, shown, live.observe) as progress:
            for advice in plan.advice():  # before the runs: there may never be a result
                shown.warn(advice)

            def work(numbers: Sequence[int]) -> api.Outcomes:
                observers = {"on_join": progress.joined, "observe": progress.observe}
                runs = running.enter_context(opened(plan, on_hub=live.follow, **observers))
                return running.enter_context(contextlib.closing(runs(numbers)))

            def ended(record: RunRecord, before: bool) -> None:
                kept.append(before)
                progress.done(before=before)
                if call.current().verbose and not before:
                    shown.say(f"run {record.run + 1} of {repeat}: {words.line(record)}")

            try:
                records = api.make_series(plan, directory, work, ended)
            except (PosseError, KeyboardInterrupt) as error:
                if kept:
                    remark(
                        f"{len(kept)} of {repeat} runs are kept in {directory.path}; the same "
                        f"command with --out {directory.path} resumes from them"
                    )
                interrupted = isinstance(error, KeyboardInterrupt)
                if interrupted and (directory.path / journal).is_file() and is_resumable(resumable):
                    remark(
                        f"interrupted; the same command with --out {directory.path} resumes, and "
                        f"posse abandon {directory.path} gives the run up"
                    )
                raise
            result = plan.result(records, links)
        code = _close(directory, result, sum(kept), json=json)
        waited_for = journal and (is_resumable(resumable) or (directory.path / journal).exists())
        if all(kept) and waited_for:
            with opened(plan, over=True) as runs:
                list(runs(()))
        return code


def _close(directory: RunDirectory, result: Result, kept: int, *, json: bool) -> int:
    """Write and show the result; print it if it cannot be written."""
    failed = None
    try:
        directory.complete(result)
        call.current().written = directory.path
    except OSError as error:
        failed = error.strerror or str(error)
        complain(
            f"the result cannot be written to {directory.path} ({failed}); it is printed instead"
        )
    if json or failed:
        print_json(result.document())
        sys.stdout.flush()
    else:
        show(result, directory.path, console(), kept)
    if failed:
        return 1
    without = [run for run in result.runs if not run.answered]
    for run in without:
        number = f"{run.run + 1} of {len(result.runs)}"
        complain(f"run {number} ended without an answer: {why_no_answer(run)}")
    return RunFailed.exit_code if without else 0


def show(result: Result, directory: Path, to: Console, kept: int = 0) -> None:
    """Print what was found, what it cost, what it disclosed, and where it was written.

    `kept`: how many of the runs were there before.
    """
    rows = list(words.rows(result.runs, result.verdict))
    if kept:
        rows.append(
            ("from before", f"{kept} of {len(result.runs)} runs were kept and not repeated")
        )
    where = shlex.quote(str(directory))
    rows.append(("written to", f"{directory}; posse report {where} draws it"))
    to.print(table(rows))


def table(rows: Iterable[tuple[str, str]]) -> Table:
    """A table of labels and sentences."""
    grid = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, sentence in rows:
        grid.add_row(label, sentence)
    return grid
