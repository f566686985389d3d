"""Options that several commands share, and the plan that they make."""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posse import log
from posse.cli.parser import Parser
from posse.errors import InputError, SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from posse.engines.start.dask import DaskPlacement
    from posse.plan import Plan
    from posse.spec.runfile import Override

FOREIGN = "import the code that the run file names from any folder, whoever owns it"

_RESUMING = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "KUBERNETES_SERVICE_HOST"}

_LONGEST = 2_000_000
"""Seconds; in milliseconds they fit 31 bits."""


def number(text: str, least: int = 0, most: int | None = None) -> int:
    """Parse a number that counts from 0, such as a place, or from `least`, up to `most`."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"is {text}; it must be a whole number, {least} or more")
    if most is not None and int(text) > most:
        raise argparse.ArgumentTypeError(f"is {text}; it must be from {least} to {most}")
    return int(text)


def count(text: str) -> int:
    """Parse a number of at least 1."""
    return number(text, 1)


def real(must: str, holds: Callable[[float], bool]) -> Callable[[str], float]:
    """What parses a number for which `holds`; it `must` be so."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not holds(value):
            raise argparse.ArgumentTypeError(f"is {text}; it must be {must}")
        return value

    return parse


seconds = real(f"from 0 to {_LONGEST} seconds", lambda value: 0 <= value <= _LONGEST)
probability = real("at least 0 and below 1", lambda value: 0 <= value < 1)


def place(text: str) -> Path:
    """Parse a file or folder to write; an empty text would mean the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("is empty; name a file or folder, or . for this one")
    return Path(text)


def add_run_file(parser: Parser, **more: Any) -> None:
    parser.option("file FILE", "run file (TOML)", type=Path, **more)
    add_set(
        parser,
        "override a key of the run file, e.g. parameters.epsilon=0.5; PATH= removes the key",
    )
    add_trust(parser, FOREIGN)


def add_trust(parser: Parser, text: str) -> None:
    """Add the option without which others' code is not imported; see `posse.gates.code`."""
    parser.option("--trust", text)


def add_set(parser: Parser, text: str) -> None:
    parser.option("--set PATH=VALUE", text, action="append", default=[])


def add_changes(parser: Parser, engine: str = "the run file's") -> None:
    """Add the options for the keys changed most often; `engine` says the default engine."""
    add_engine(parser, f" (default: {engine})")
    parser.option("--seed N", "seed of all randomness (default: the run file's)", type=int)
    parser.option("--repeat N", "number of runs (default: the run file's)", type=int)


def add_engine(parser: Parser, where: str = "", **more: Any) -> None:
    text = f"run agents as processes or in memory{where}"
    parser.option("--engine", text, choices=("processes", "memory"), **more)


def add_join(parser: Parser) -> None:
    parser.option(
        "--join ADDRESS",
        "address of the coordinator: tcp://HOST:PORT, or ipc://PATH on this machine",
        required=True,
    )


def changes(options: argparse.Namespace) -> list[str]:
    options_given = {"engine.kind": options.engine, "seed": options.seed, "repeat": options.repeat}
    options_given = {path: value for path, value in options_given.items() if value is not None}
    for option in ("set", "over"):
        changed = [changed for changed in vars(options).get(option, ()) if isinstance(changed, str)]
        for path in {
            setting.partition("=")[0].strip() for setting in changed
        } & options_given.keys():
            own = path.partition(".")[0]
            raise SpecError(path, f"is given by --{own} and by --{option}; leave one of them out")
    return [f"{path}={value}" for path, value in options_given.items()]


def add_runs(parser: Parser, engine: str = "the run file's") -> None:
    """Add the options for what to run, how and where, and for the result."""
    add_run_file(parser)
    add_changes(parser, engine)
    add_jobs(parser)
    parser.option(
        "--on dask://HOST:PORT",
        "place agents, or whole runs in memory, on the workers of this Dask scheduler",
    )
    parser.option(
        "--per-worker N",
        "largest number of agents on one worker (default: no limit; workers share all agents by "
        "their threads)",
        type=count,
    )
    parser.option(
        "--bind ADDRESS",
        "tcp://HOST:PORT at which workers reach the coordinator (default: a free port)",
        default="",
    )
    parser.option(
        "--coordinator",
        "run the coordinator here or on a worker",
        choices=("here", "worker"),
        default="here",
    )
    add_result(parser)


def add_jobs(parser: Parser) -> None:
    parser.option(
        "--jobs N",
        "number of processes that share work in memory (default: all cores)",
        type=count,
    )


def placement(options: argparse.Namespace) -> DaskPlacement | None:
    """Where agents are placed; None on this machine."""
    from posse.engines.start.dask import DaskPlacement
    from posse.security import address

    if options.bind:
        address.check("--bind", options.bind, bind=True)
    if options.on:
        return DaskPlacement(options.on, options.per_worker, options.bind, options.coordinator)
    if options.per_worker or options.bind or options.coordinator != "here":
        raise InputError("--per-worker, --bind and --coordinator need --on dask://HOST:PORT")
    return None


def add_capture(parser: Parser) -> None:
    """Add the file for frames that a process of a run on several machines sends."""
    parser.option(
        "--capture FRAMES",
        "file for every frame that this process sends; posse frames shows it",
        type=Path,
    )


def add_result(parser: Parser) -> None:
    parser.option("--out DIR", "directory for the result (default: a new one in runs/)", type=place)
    add_json(parser)


def add_resumable(parser: Parser) -> None:
    parser.option(
        "--resumable",
        "Ctrl-C and SIGTERM interrupt the run, and the same command resumes it; the default in "
        "containers and batch systems. Else they end it",
        action=argparse.BooleanOptionalAction,
        default=None,
    )


def is_resumable(options: argparse.Namespace) -> bool:
    """Whether an interrupted run is to resume; the image of containers says so by POSSE_RESUMABLE.

    Batch systems and Kubernetes end processes that they start again elsewhere or later.
    """
    if options.resumable is not None:
        return bool(options.resumable)
    return not _RESUMING.isdisjoint(os.environ)


def add_json(parser: Parser) -> None:
    parser.option("--json", "print one JSON document and nothing else")


def add_volume(parser: argparse.ArgumentParser, default: object = argparse.SUPPRESS) -> None:
    """Add how much is printed; a command keeps what is given before its name."""
    either = parser.add_mutually_exclusive_group()
    for short, long, meaning in (
        ("-q", "--quiet", "print no progress and no closing table"),
        ("-v", "--verbose", "print each run as it ends, and tracebacks of defects"),
    ):
        either.add_argument(short, long, action="store_true", default=default, help=meaning)


def add_log(parser: Parser) -> None:
    """Add the format of the log of a process, on standard error."""
    parser.option(
        "--log",
        "format of the log: text, or one JSON object per line",
        choices=("text", "json"),
        default="text",
    )


def begin_log(options: argparse.Namespace, who: str, *, insecure: bool) -> None:
    log.begin(who, insecure, logging.WARNING if options.quiet else logging.INFO, options.log)


def console_of(options: argparse.Namespace) -> Console:
    """The console for the outcome: standard output."""
    from rich.console import Console

    return Console(quiet=options.quiet, markup=False, emoji=False)


def print_json(document: Any) -> None:
    import msgspec

    print(json.dumps(msgspec.to_builtins(document)))


def plan(options: argparse.Namespace, *overrides: Override) -> Plan:
    """The plan of the run file with its overrides; later overrides win.

    If they name another system, keys of the file that it does not know are left out, with a remark.
    """
    from posse.plan import no_place_for, prepare
    from posse.spec.runfile import override, put, read

    if "given" not in options:
        options.given = read(options.file)  # once, because a pipe can be read only once
    original = options.given
    raw = override(original, [*options.set, *overrides])
    if raw.get("system") not in (None, original.get("system")):
        for path in no_place_for(raw, original):
            put(raw, path, None)
            notes = vars(options).setdefault("left_out", set())
            if (line := f"{path} is left out: {raw['system']} does not use it") not in notes:
                log.remark(line)
            notes.add(line)
    return prepare(raw)
