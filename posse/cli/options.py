"""Options that several commands share, and the plan that they make."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posse.errors import InputError, SpecError
from posse.log import remark

if TYPE_CHECKING:
    from posse.engines.on_dask import Placement
    from posse.plan import Plan
    from posse.spec.runfile import Override

_LONGEST = 2_000_000
"""Seconds; in milliseconds they fit 31 bits."""


def number(text: str, least: int = 0) -> int:
    """Parse a number that counts from 0, such as a rank, or from `least`."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"is {text}; it must be a whole number, {least} or more")
    return int(text)


def count(text: str) -> int:
    """Parse a number of at least 1."""
    return number(text, 1)


def seconds(text: str) -> float:
    """Parse a number of seconds to wait."""
    try:
        said = float(text)
    except ValueError:
        said = math.nan
    if not 0 <= said <= _LONGEST:
        raise argparse.ArgumentTypeError(f"is {text}; it must be from 0 to {_LONGEST} seconds")
    return said


def place(text: str) -> Path:
    """Parse a file or folder to write; an empty text would mean the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("is empty; name a file or folder, or . for this one")
    return Path(text)


def add_run_file(parser: argparse.ArgumentParser, **more: Any) -> None:
    """Add the run file and `--set`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="run file (TOML)", **more)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="override a key of the run file, e.g. parameters.epsilon=0.5; PATH= removes the key",
    )


def add_changes(parser: argparse.ArgumentParser, engine: str | None = None) -> None:
    """Add the options for the keys changed most often; `engine` says the default engine."""
    engines = ("processes", "memory")
    own = engine or "the run file's"
    where = f"run agents as processes or in memory (default: {own})"
    parser.add_argument("--engine", choices=engines, help=where)
    for option, what in (("--seed", "seed of all randomness"), ("--repeat", "number of runs")):
        said = f"{what} (default: the run file's)"
        parser.add_argument(option, type=int, metavar="N", help=said)


def changes(options: argparse.Namespace) -> list[str]:
    """The values of these options as overrides."""
    given = {"engine.kind": options.engine, "seed": options.seed, "repeat": options.repeat}
    given = {path: value for path, value in given.items() if value is not None}
    for option in ("set", "over"):
        said = [said for said in vars(options).get(option, ()) if isinstance(said, str)]
        for path in {one.partition("=")[0].strip() for one in said} & given.keys():
            own = path.partition(".")[0]
            raise SpecError(path, f"is given by --{own} and by --{option}; leave one of them out")
    return [f"{path}={value}" for path, value in given.items()]


def add_runs(parser: argparse.ArgumentParser, engine: str | None = None) -> None:
    """Add the options for what to run, how and where, and for the result."""
    add_run_file(parser)
    add_changes(parser, engine)
    add_jobs(parser)
    parser.add_argument(
        "--on",
        metavar="dask://HOST:PORT",
        help="place agents, or whole runs in memory, on the workers of this Dask scheduler",
    )
    parser.add_argument(
        "--per-worker",
        type=count,
        metavar="N",
        help="largest number of agents on one worker (default: no limit; workers share all "
        "agents by their threads)",
    )
    parser.add_argument(
        "--bind",
        default="",
        metavar="ADDRESS",
        help="tcp://HOST:PORT at which workers reach the coordinator (default: a free port)",
    )
    parser.add_argument(
        "--coordinator",
        choices=("here", "worker"),
        default="here",
        help="run the coordinator here or on a worker (default: here)",
    )
    add_result(parser)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the number of processes that share the work."""
    parser.add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="number of processes that share work in memory (default: all cores)",
    )


def placement(options: argparse.Namespace) -> Placement | None:
    """Where agents are placed; None on this machine."""
    from posse.engines.on_dask import Placement
    from posse.security import address

    if options.bind:
        address.check("--bind", options.bind, bind=True)
    if options.on:
        return Placement(options.on, options.per_worker, options.bind, options.coordinator)
    if options.per_worker or options.bind or options.coordinator != "here":
        raise InputError("--per-worker, --bind and --coordinator need --on dask://HOST:PORT")
    return None


def add_capture(parser: argparse.ArgumentParser) -> None:
    """Add the file for frames that a process of a run on several machines sends."""
    parser.add_argument(
        "--capture",
        type=Path,
        metavar="FRAMES",
        help="file for every frame that this process sends; posse frames shows it",
    )


def add_result(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the result, and `--json`."""
    parser.add_argument(
        "--out",
        type=place,
        metavar="DIR",
        help="directory for the result (default: a new one in runs/)",
    )
    add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document and nothing else"
    )


def print_json(result: Any) -> None:
    """Print the result as one document."""
    import msgspec

    print(json.dumps(msgspec.to_builtins(result)))


def plan(options: argparse.Namespace, *overrides: Override) -> Plan:
    """The plan of the run file with its overrides; later overrides win.

    If they name another system, keys of the file that it does not know are left out, with a remark.
    """
    from posse.plan import no_place_for, prepare
    from posse.spec.runfile import overridden, put, read

    if "given" not in options:
        options.given = read(options.file)  # once, because a pipe can be read only once
    given = options.given
    raw = overridden(given, [*options.set, *overrides])
    if raw.get("system") not in (None, given.get("system")):
        for path in no_place_for(raw, given):
            put(raw, path, None)
            said = vars(options).setdefault("left_out", set())
            if (line := f"{path} is left out: {raw['system']} does not use it") not in said:
                remark(line)
            said.add(line)
    return prepare(raw)
