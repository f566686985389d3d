"""`posse arena`: all systems by the same rules, and a user's own among them."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from posse import SpecError
from posse.experiments import DaskPlacement, InputError, Progress, connect_to_dask
from posse.verbs import (
    FolderToWrite,
    Jobs,
    held,
    remark,
    require_report,
    require_room,
    screen,
    shared,
    writable_folder,
    write_whole,
)
from posse_arena.problems import PROBLEMS, TASKS, Task

LIGHT = Path(__file__).parent / "results" / "light.json"
"""Our own entrants' light form, with which a user's entrant is compared without running ours."""


@shared
class Contest:
    """Who takes part, in what."""

    full: bool = False
    """run the full form, which takes many hours; default: ten minutes"""
    task: Task | None = None
    """only this task"""
    problem: Annotated[str | None, Parameter(choices=tuple(PROBLEMS))] = None
    """only this problem"""
    tune: Annotated[tuple[str, ...], Parameter(metavar="NAME=A,B,C", n_tokens=1)] = ()
    """a parameter of the entrants, and values to try; repeat it for several"""
    among: Annotated[str, Parameter(metavar="A,B,C")] = ""
    """of ours only these"""
    all: bool = False
    """run all of ours too, beside the entrants"""
    so_far: bool = False
    """run nothing: the result of what was run until now into --out"""

    def command(self, entrants: tuple[str, ...]) -> str:
        """The command that makes the same result."""
        words = ["posse arena", *entrants]
        words += ["--full"] * self.full + ["--all"] * self.all
        words += ["--so-far"] * self.so_far
        words += [f"--among {self.among}"] if self.among else []
        words += [f"--task {self.task}"] if self.task else []
        words += [f"--problem {self.problem}"] if self.problem else []
        return " ".join([*words, *(f"--tune {one}" for one in self.tune)])


def hold(
    *entrants: str,
    contest: Contest = Contest(),
    on: Annotated[str, Parameter(metavar="dask://HOST:PORT")] = "",
    jobs: Jobs = Jobs(),
    out: FolderToWrite = Path("runs/arena"),
    schema: bool = False,
    draw: Annotated[Path | None, Parameter(metavar="FILE")] = None,
) -> int:
    """Compare all systems, and your own, by one set of rules.

    It runs what is missing, and writes result.json and report.html.

    Args:
        entrants: a run file (TOML) of your own system, or the name of an installed one; it is
            compared with the kept results of ours (default: run all of ours)
        on: make the runs on the workers of this Dask scheduler
        out: folder for the result, and for runs
        schema: print the JSON schema of a result, and run nothing
        draw: draw the page of a result again, beside it
    """
    from posse_arena import result  # noqa: PLC0415

    if schema:
        print(json.dumps(result.schema(), indent=1))
        return 0
    require_report()
    if draw:
        return _draw(result.read(draw), draw.with_suffix(".html"))
    writable_folder(out)
    require_room(out)
    found = _found(entrants, contest, on, jobs, out)
    write_whole(
        out / "result.json", msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    )
    print(out / "result.json")
    return _draw(found, out / "report.html")


def _draw(found: Any, path: Path) -> int:
    from posse_arena.page import arena_page, verdict  # noqa: PLC0415

    arena_page(found).write(path)
    print(verdict(found).line)
    print(path)
    return 0


def _found(entrants: tuple[str, ...], contest: Contest, on: str, jobs: Jobs, out: Path) -> Any:
    from posse_arena import arena  # noqa: PLC0415
    from posse_arena.entrants import entered, ours  # noqa: PLC0415

    tune = _tune(contest.tune)
    form: Any = "full" if contest.full else "light"
    own = [entered(name, contest.task, tune) for name in entrants]
    if len({entrant.name for entrant in own}) < len(own):
        raise InputError("two entrants have the same name; rename one of the files")
    beside = bool(own) and not contest.all and form == "light" and LIGHT.is_file()
    tasks = (contest.task,) if contest.task else tuple(TASKS)
    among = [*filter(None, contest.among.split(","))]
    field = own if beside else [*own, *ours(contest.full, tasks, among)]
    client: Any = None
    with held(out), ExitStack() as opened:
        if on:
            client = opened.enter_context(connect_to_dask(DaskPlacement(on)))
        try:
            return arena.hold(
                field,
                form=form,
                tasks=tasks,
                problem=contest.problem,
                folder=out / "runs",
                kept=LIGHT if beside else None,
                command=contest.command(entrants),
                progress=lambda total: Progress("the arena", total, screen(), "runs"),
                jobs=jobs.jobs,
                workers=client,
                only_kept=contest.so_far,
            )
        except KeyboardInterrupt:
            remark(f"finished runs are kept in {out / 'runs'}; the same command resumes from them")
            raise


def _tune(said: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    """Values to try by parameter."""
    tune = {}
    for one in said:
        name, _, text = one.partition("=")
        if not name or not text:
            raise SpecError("--tune", f"'{one}' must have the form NAME=A,B,C")
        tune[name.strip()] = tuple(map(_value, text.split(",")))
    return tune


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return float(text) if text.replace(".", "", 1).isdigit() else text.strip()
