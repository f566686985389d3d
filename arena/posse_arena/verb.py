"""`posse arena`: all systems by the same rules, and a user's own among them."""

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from posse import SpecError
from posse.experiments import DaskPlacement, InputError, Progress, connect_to_dask
from posse.verbs import (
    Parser,
    add_jobs,
    held,
    place,
    remark,
    require_report,
    require_room,
    screen,
    writable_folder,
    write_whole,
)

LIGHT = Path(__file__).parent / "results" / "light.json"
"""Our own entrants' light form, with which a user's entrant is compared without running ours."""


def add(parser: Parser) -> None:
    """Add the options of `posse arena`."""
    from posse_arena.problems import PROBLEMS, TASKS  # noqa: PLC0415

    parser.option(
        "entrants ENTRANT",
        "a run file (TOML) of your own system, or the name of an installed one; it is compared "
        "with the kept results of ours (default: run all of ours)",
        nargs="*",
    )
    parser.option("--full", "run the full form, which takes many hours; default: ten minutes")
    parser.option("--task", "only this task", choices=tuple(TASKS))
    parser.option("--problem", "only this problem", choices=tuple(PROBLEMS))
    parser.option(
        "--tune NAME=A,B,C",
        "a parameter of the entrants, and values to try; repeat it for several",
        action="append",
        default=[],
    )
    parser.option("--among A,B,C", "of ours only these", default="")
    parser.option("--all", "run all of ours too, beside the entrants")
    parser.option("--so-far", "run nothing: the result of what was run until now into --out")
    parser.option("--on dask://HOST:PORT", "make the runs on the workers of this Dask scheduler")
    add_jobs(parser)
    parser.option(
        "--out DIR", "folder for the result, and for runs", type=place, default=Path("runs/arena")
    )
    parser.option("--schema", "print the JSON schema of a result, and run nothing")
    parser.option("--draw FILE", "draw the page of a result again, beside it", type=Path)


def run(options: argparse.Namespace) -> int:
    """Run what is missing, and write result.json and report.html."""
    from posse_arena import result  # noqa: PLC0415

    if options.schema:
        print(json.dumps(result.schema(), indent=1))
        return 0
    require_report()
    if options.draw:
        return _draw(result.read(options.draw), options.draw.with_suffix(".html"))
    out = writable_folder(options.out)
    require_room(out)
    found = _found(options, out)
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


def _found(options: argparse.Namespace, out: Path) -> Any:
    from posse_arena import arena  # noqa: PLC0415
    from posse_arena.entrants import entered, ours  # noqa: PLC0415
    from posse_arena.problems import TASKS  # noqa: PLC0415

    tune = _tune(options.tune)
    form: Any = "full" if options.full else "light"
    own = [entered(name, options.task, tune) for name in options.entrants]
    if len({entrant.name for entrant in own}) < len(own):
        raise InputError("two entrants have the same name; rename one of the files")
    beside = bool(own) and not options.all and form == "light" and LIGHT.is_file()
    tasks = (options.task,) if options.task else tuple(TASKS)
    among = [*filter(None, options.among.split(","))]
    field = own if beside else [*own, *ours(options.full, tasks, among)]
    client: Any = None
    with held(out), ExitStack() as opened:
        if options.on:
            client = opened.enter_context(connect_to_dask(DaskPlacement(options.on)))
        try:
            return arena.hold(
                field,
                form=form,
                tasks=tasks,
                problem=options.problem,
                folder=out / "runs",
                kept=LIGHT if beside else None,
                command=_command(options),
                progress=lambda total: Progress("the arena", total, screen(options), "runs"),
                jobs=options.jobs,
                workers=client,
                only_kept=options.so_far,
            )
        except KeyboardInterrupt:
            remark(f"finished runs are kept in {out / 'runs'}; the same command resumes from them")
            raise


def _tune(said: list[str]) -> dict[str, tuple[Any, ...]]:
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


def _command(options: argparse.Namespace) -> str:
    """The command that makes the same result."""
    words = ["posse arena", *options.entrants]
    words += ["--full"] * options.full + ["--all"] * options.all
    words += ["--so-far"] * options.so_far
    words += [f"--among {options.among}"] if options.among else []
    words += [f"--task {options.task}"] if options.task else []
    words += [f"--problem {options.problem}"] if options.problem else []
    return " ".join([*words, *(f"--tune {one}" for one in options.tune)])
