"""`posse audit`: how much what crosses the wire tells of one reward, at least."""

import argparse
import dataclasses
import json
from pathlib import Path

import msgspec

from posse.audit.bounds import ERROR
from posse.audit.captured import checks
from posse.audit.whole import RUNS, Audit
from posse.cli import paths, volume
from posse.cli.options import add_jobs, add_result, count, number, plan, print_json
from posse.cli.progress import screen
from posse.cli.series import table
from posse.durable import frames, lock, whole
from posse.errors import InputError, SpecError
from posse.progress import Progress
from protocol.privacy import Neighbours

_AUDIT = "audit.json"
_KEPT = "audited"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="the run file (TOML)")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE",
                        help="override a key of the run file")  # fmt: skip
    parser.add_argument("--runs", type=count, metavar="N", help="on each data set (default: 4000)")
    parser.add_argument(
        "--error", type=float, metavar="P", help="probability of finding too much (default: .01)"
    )
    parser.add_argument("--epsilon", type=float, metavar="E", help="in the place of the claim's ε")
    parser.add_argument("--delta", type=float, metavar="D", help="in the place of the claim's δ")
    parser.add_argument(
        "--sees",
        choices=("messages", "agent", "coordinator", "pulls"),
        help="what the adversary sees, if not what the claim says",
    )
    parser.add_argument(
        "--rest",
        metavar="X,Y,…",
        help="every other reward, by arm; 'data': the run file's own, drawn once",
    )
    parser.add_argument("--values", metavar="X,Y", help="the reward that differs (default: 1,0)")
    for name, meaning in (("agent", "whose reward"), ("arm", "of which arm"),
                          ("place", "which of its rewards, from 0")):  # fmt: skip
        parser.add_argument(f"--{name}", type=number, default=0, metavar="N", help=meaning)
    parser.add_argument("--captured", type=Path, metavar="FRAMES", help="look at a capture instead")
    add_jobs(parser)
    add_result(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Audit a run file, or look at a capture."""
    if options.captured is not None:
        return _captured(options)
    if options.file is None:
        raise InputError("posse audit needs a run file, or --captured FRAMES")
    audit = _asked(options)
    folder = paths.result(options.out, f"audit-{options.file.stem}")
    name = f"audit of {audit.plan.spec.system}"
    with lock.held(folder), Progress(name, audit.pieces, screen(options), "pieces") as progress:
        whole.require_room(folder)
        document = dataclasses.replace(
            audit,
            folder=folder / _KEPT,
            jobs=options.jobs,
            done=lambda before: progress.done(before=before),
        ).document()
    whole.write(folder / _AUDIT, json.dumps(msgspec.to_builtins(document), indent=1))
    if options.json:
        print_json(document)
    else:
        _show([*document.rows, ("written to", str(folder / _AUDIT))], options)
    return 0


def _show(rows: list[tuple[str, str]], options: argparse.Namespace) -> None:
    volume.closing(options).print(table(rows))


def _asked(options: argparse.Namespace) -> Audit:
    """The audit that the options ask for."""
    error = ERROR if options.error is None else options.error
    if not 0 < error < 0.5:
        raise SpecError("--error", f"is {error}; it must lie between 0 and .5")
    return Audit(
        plan=plan(options, "engine.kind=memory"),
        runs=options.runs or RUNS,
        error=error,
        epsilon=options.epsilon,
        delta=options.delta,
        sees=options.sees,
        cases=_cases(options),
    )


def _cases(options: argparse.Namespace) -> list[Neighbours]:
    """The data sets that are named; none if they are to be proposed."""
    if options.rest is None:
        if options.values is not None or options.agent or options.arm or options.place:
            raise SpecError("--rest", "is needed where the reward that differs is named")
        return []
    levels = () if options.rest == "data" else _numbers("--rest", options.rest)
    values = _numbers("--values", options.values or "1,0")
    if len(values) != 2:
        raise SpecError("--values", f"is {options.values}; it must be two numbers, as in 1,0")
    place = {"agent": options.agent, "arm": options.arm, "place": options.place}
    return [Neighbours(levels=levels, values=(values[0], values[1]), **place)]


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SpecError(option, f"is {text}; it must be numbers, as in 0.5,0") from None


def _captured(options: argparse.Namespace) -> int:
    """What can be said of a capture without the truth."""
    checked = plan(options) if options.file is not None else None
    found = checks(frames.read(options.captured), checked)
    if options.json:
        print_json(found)
        return 0
    rows = [
        (check.name, "; ".join(check.violations) or f"yes, in {check.looked_at:,}")
        for check in found
    ]
    _show(rows, options)
    return 0
