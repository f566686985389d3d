"""`posse audit`: a lower bound on what messages reveal of one reward."""

import argparse
import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Any

import msgspec

from posse.audit.bounds import ERROR, fewest
from posse.audit.captured import checks
from posse.audit.search import BUDGET
from posse.audit.whole import AUDIT, RUNS, Audit, Document
from posse.cli import paths
from posse.cli.options import (
    add_jobs,
    add_result,
    add_run_file,
    console_of,
    number,
    plan,
    print_json,
    probability,
    real,
)
from posse.cli.parser import Parser
from posse.cli.progress import screen
from posse.cli.series import table
from posse.durable import frames
from posse.errors import InputError, RunFailed, SpecError
from posse.gates import files, locks
from posse.log import remark
from posse.progress import Progress
from posse.protocol.privacy import Neighbours
from posse.security import noise

_KEPT = "audited"


def add(parser: Parser) -> None:
    add_run_file(parser, nargs="?")
    parser.option(
        "--runs N",
        f"runs on each data set (default: {RUNS}, or none if coupled runs, which take seconds, "
        "refute the claim or guessing canaries takes fewer); 0: coupled runs alone",
        type=number,
    )
    parser.option(
        "--search SECONDS",
        f"draw data sets, losses and lies for so long (default: {BUDGET:g}, none with --runs 0)",
        type=real("0 or more", lambda value: 0 <= value < math.inf),
    )
    parser.option(
        "--error P",
        "probability that the bound found is too large (default: .01)",
        type=real("between 0 and .5", lambda value: 0 < value < 0.5),
    )
    parser.option(
        "--epsilon E",
        "ε to test (default: the claim's)",
        type=real("a number, 0 or more", lambda value: 0 <= value < math.inf),
    )
    parser.option("--delta D", "δ to test (default: the claim's)", type=probability)
    parser.option(
        "--sees",
        "what the adversary sees (default: what the claim says)",
        choices=("messages", "agent", "coordinator", "pulls"),
    )
    parser.option(
        "--watched N",
        "agents whose messages --sees agent reads together (default: 1)",
        type=number,
        default=1,
    )
    parser.option(
        "--rest X,Y,…",
        "value of every other reward, one for each arm; or data, for rewards drawn once from the "
        "run file's arms (default: chosen by the audit)",
    )
    parser.option("--values X,Y", "two values of the reward that differs (default: 1,0)")
    for name, meaning in (
        ("agent", "agent whose reward differs"),
        ("arm", "arm of the reward that differs"),
        ("place", "place of that reward among the rewards of its arm, from 0"),
    ):
        parser.option(f"--{name} N", meaning, type=number, default=0)
    parser.option("--captured FRAMES", "check this capture instead of auditing runs", type=Path)
    parser.option(
        "--strict",
        "exit with code 3 if a claim is refuted or overspent, or a capture fails a check",
    )
    add_jobs(parser)
    add_result(parser)


def run(options: argparse.Namespace) -> int:
    if options.captured is not None:
        return _captured(options)
    if options.file is None:
        raise InputError("posse audit needs a run file, or --captured FRAMES")
    audit = _asked(options)
    if audit.hopeless:
        remark(audit.hopeless)
    if not options.quiet:
        remark(audit.forecast)
    folder = paths.result(options.out, f"audit-{options.file.stem}")
    document = _carry_out(audit, folder, options)
    files.write(folder / AUDIT, json.dumps(msgspec.to_builtins(document), indent=1))
    rows = [*document.rows, ("written to", str(folder / AUDIT))]
    return _end(options, document, rows, found=document.finding)


def _carry_out(audit: Audit, folder: Path, options: argparse.Namespace) -> Document:
    """Audit, with each finished piece kept in the folder."""
    name = f"audit of {audit.plan.spec.system}"
    try:
        with (
            locks.held(folder),
            Progress(name, audit.pieces, screen(options), "pieces") as progress,
        ):
            files.require_room(folder)
            return dataclasses.replace(
                audit,
                folder=folder / _KEPT,
                jobs=options.jobs,
                done=lambda before: progress.done(before=before),
            ).document()
    except KeyboardInterrupt:
        remark(
            f"finished pieces are kept in {folder}; the same command with --out {folder} resumes "
            "from them"
        )
        raise


def _end(
    options: argparse.Namespace, document: Any, rows: list[tuple[str, str]], *, found: bool
) -> int:
    """Print what was found, and return the exit code: it is an error only with --strict."""
    if options.json:
        print_json(document)
    else:
        console_of(options).print(table(rows))
    return RunFailed.exit_code if options.strict and found else 0


def _asked(options: argparse.Namespace) -> Audit:
    """The audit that the options ask for."""
    error = ERROR if options.error is None else options.error
    whole_plan = plan(options, "engine.kind=memory")
    # what promises nothing may have a form that the field refuses
    protects = whole_plan.claim.mechanism != "none"
    asked = Audit(
        plan=whole_plan,
        runs=RUNS if options.runs is None else options.runs,
        if_refuted=options.runs is not None,
        budget=options.search if options.search is not None else BUDGET * (options.runs != 0),
        error=error,
        epsilon=options.epsilon,
        delta=options.delta,
        sees=options.sees,
        watched=options.watched,
        cases=_cases(options),
        noise=noise.names() if noise.is_here() and protects else "",
    )
    if 0 < asked.runs < (least := fewest(error)):
        raise SpecError(
            "--runs", f"is {asked.runs}, but so few runs can refute nothing; use at least {least}"
        )
    asked.require()
    if asked.guesses:
        for option, given in (("--rest", options.rest), ("--delta", options.delta)):
            if given is not None:
                raise SpecError(
                    option,
                    f"does not apply to {asked.plan.spec.system}, which claims how often its best "
                    "arm is named on the run file's rewards; leave it out, or add --epsilon",
                )
    for case in asked.cases:
        _require_possible(case, asked)
    return asked


def _cases(options: argparse.Namespace) -> list[Neighbours]:
    """The data sets named by options; none if the audit is to propose them."""
    if options.rest is None:
        if options.values is not None or options.agent or options.arm or options.place:
            raise SpecError("--rest", "is required with --values, --agent, --arm or --place")
        return []
    levels = () if options.rest == "data" else _numbers("--rest", options.rest)
    values = _numbers("--values", options.values or "1,0")
    if len(values) != 2 or values[0] == values[1]:
        raise SpecError(
            "--values", f"is {options.values}; it must be two numbers that differ, as in 1,0"
        )
    place = {"agent": options.agent, "arm": options.arm, "place": options.place}
    return [Neighbours(levels=levels, values=(values[0], values[1]), **place)]


def _require_possible(case: Neighbours, audit: Audit) -> None:
    """`SpecError` if no run can have such rewards, because a verdict would say nothing."""
    spec = audit.plan.spec
    agents, arms = spec.agents.count, spec.arms.arm_count()
    if case.agent >= agents:
        raise SpecError("--agent", f"is {case.agent}; the agents are 0 to {agents - 1}")
    if audit.exchanges and audit.plan.system.reader.grouped and (case.arm or case.place):
        raise SpecError(
            "--arm",
            f"and --place do not apply to {spec.system}: its two data sets exchange the rewards of "
            "two users, in the first round of the first group of --agent; leave them out",
        )
    if case.arm >= arms:
        raise SpecError("--arm", f"is {case.arm}; the arms are 0 to {arms - 1}")
    if case.levels and len(case.levels) != arms:
        raise SpecError(
            "--rest", f"names {len(case.levels)} rewards for {arms} arms; name one for each"
        )
    most = getattr(audit.plan.parameters, "horizon", math.inf)
    most *= agents if audit.plan.system.shares_arms else 1
    if case.place >= most:
        raise SpecError(
            "--place",
            f"is {case.place}; it must be below {most}, as an arm gives at most {most} rewards",
        )
    unit = spec.arms.unit_interval
    low, high = (0.0, 1.0) if unit else (-sys.float_info.max, sys.float_info.max)
    for option, values in (("--rest", case.levels), ("--values", case.values)):
        for value in values:
            if not low <= value <= high:
                must = "lie in [0, 1], as these arms' rewards do" if unit else "be a finite number"
                raise SpecError(option, f"has {value:g}; it must {must}")


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SpecError(option, f"is {text}; it must be numbers, as in 0.5,0") from None


def _captured(options: argparse.Namespace) -> int:
    """Check a capture, without knowing the truth."""
    checked = plan(options) if options.file is not None else None
    results = checks(frames.read(options.captured), checked)
    rows = [(check.name, check.says) for check in results]
    return _end(options, results, rows, found=any(check.violations for check in results))
