"""`posse audit`: a lower bound on what messages reveal of one reward."""

import dataclasses
import json as json_module
import math
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from posse.audit.bounds import ERROR, fewest
from posse.audit.captured import checks
from posse.audit.search import BUDGET
from posse.audit.whole import AUDIT, RUNS, Audit, Document
from posse.cli import call, paths
from posse.cli.options import (
    Duration,
    Jobs,
    Out,
    Probability,
    RunFile,
    SetOptions,
    WholeNumber,
    console,
    parsed,
    print_json,
    real,
    shared,
)
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


_Error = Annotated[float, parsed(real("between 0 and .5", lambda value: 0 < value < 0.5), "P")]
_Epsilon = Annotated[
    float, parsed(real("a number, 0 or more", lambda value: 0 <= value < math.inf), "E")
]


@shared
class AuditOptions:
    """What is asked of a system."""

    runs: WholeNumber | None = None
    """runs on each data set (default: 4000, or none if coupled runs, which take seconds, refute the
    claim or guessing canaries takes fewer); 0: coupled runs alone"""
    search: Duration | None = None
    """draw data sets, losses and lies for this long (default: 20, none with --runs 0)"""
    error: _Error = ERROR
    """probability that the bound found is too large"""
    epsilon: _Epsilon | None = None
    """ε to test (default: the claim's)"""
    delta: Probability | None = None
    """δ to test (default: the claim's)"""
    sees: Literal["messages", "agent", "coordinator", "pulls"] | None = None
    """what the adversary sees (default: what the claim says)"""
    watched: WholeNumber = 1
    """agents whose messages --sees agent reads together"""
    rest: Annotated[str | None, Parameter(metavar="X,Y,…")] = None
    """value of every other reward, one for each arm; or data, for rewards drawn once from the run
    file's arms (default: chosen by the audit)"""
    values: Annotated[str | None, Parameter(metavar="X,Y")] = None
    """two values of the reward that differs (default: 1,0)"""
    agent: WholeNumber = 0
    """agent whose reward differs"""
    arm: WholeNumber = 0
    """arm of the reward that differs"""
    place: WholeNumber = 0
    """place of that reward among the rewards of its arm, from 0"""


def audit(
    file: Path | None = None,
    /,
    *,
    question: AuditOptions = AuditOptions(),
    captured: Annotated[Path | None, Parameter(metavar="FRAMES")] = None,
    strict: bool = False,
    settings: SetOptions = SetOptions(),
    jobs: Jobs = Jobs(),
    result: Out = Out(),
) -> int:
    """Find a lower bound on what messages reveal about one reward.

    Args:
        file: run file (TOML)
        captured: check this capture instead of auditing runs
        strict: exit with code 3 if a claim is refuted or overspent, or a capture fails a check
    """
    end = partial(_end, json=result.json, strict=strict)
    if captured is not None:
        checked = RunFile(file, settings).plan() if file is not None else None
        results = checks(frames.read(captured), checked)
        found = any(check.violations for check in results)
        return end(results, [(check.name, check.says) for check in results], found=found)
    if file is None:
        raise InputError("posse audit needs a run file, or --captured FRAMES")
    asked = dataclasses.replace(_asked(RunFile(file, settings), question), jobs=jobs.jobs)
    folder = paths.result(result.out, f"audit-{file.stem}")
    if asked.hopeless:
        remark(asked.hopeless)
    if not call.current().quiet:
        remark(asked.forecast)
    document = _carry_out(asked, folder)
    files.write(folder / AUDIT, json_module.dumps(msgspec.to_builtins(document), indent=1))
    rows = [*document.rows, ("written to", str(folder / AUDIT))]
    return end(document, rows, found=document.finding)


def _carry_out(audit: Audit, folder: Path) -> Document:
    """Audit, with each finished piece kept in the folder."""
    name = f"audit of {audit.plan.spec.system}"
    try:
        with (
            locks.held(folder),
            Progress(name, audit.pieces, screen(), "pieces") as progress,
        ):
            files.require_room(folder)
            return dataclasses.replace(
                audit,
                folder=folder / _KEPT,
                done=lambda before: progress.done(before=before),
            ).document()
    except KeyboardInterrupt:
        remark(
            f"finished pieces are kept in {folder}; the same command with --out {folder} resumes "
            "from them"
        )
        raise


def _end(
    document: Any, rows: list[tuple[str, str]], *, found: bool, json: bool, strict: bool
) -> int:
    """Print what was found, and return the exit code: it is an error only with --strict."""
    if json:
        print_json(document)
    else:
        console().print(table(rows))
    return RunFailed.exit_code if strict and found else 0


def _asked(file: RunFile, question: AuditOptions) -> Audit:
    """The audit that the options ask for."""
    whole_plan = file.plan("engine.kind=memory")
    # what promises nothing may have a form that the field refuses
    protects = whole_plan.claim.mechanism != "none"
    asked = Audit(
        plan=whole_plan,
        runs=RUNS if question.runs is None else question.runs,
        if_refuted=question.runs is not None,
        budget=BUDGET * (question.runs != 0) if question.search is None else question.search,
        error=question.error,
        epsilon=question.epsilon,
        delta=question.delta,
        sees=question.sees,
        watched=question.watched,
        cases=_cases(question),
        noise=noise.names() if noise.is_here() and protects else "",
    )
    if 0 < asked.runs < (least := fewest(question.error)):
        raise SpecError(
            "--runs", f"is {asked.runs}, but so few runs can refute nothing; use at least {least}"
        )
    asked.require()
    if asked.guesses:
        for option, given in (("--rest", question.rest), ("--delta", question.delta)):
            if given is not None:
                raise SpecError(
                    option,
                    f"does not apply to {asked.plan.spec.system}, which claims how often its best "
                    "arm is named on the run file's rewards; leave it out, or add --epsilon",
                )
    for case in asked.cases:
        _require_possible(case, asked)
    return asked


def _cases(question: AuditOptions) -> list[Neighbours]:
    """The data sets named by options; none if the audit is to propose them."""
    if question.rest is None:
        if question.values is not None or question.agent or question.arm or question.place:
            raise SpecError("--rest", "is required with --values, --agent, --arm or --place")
        return []
    levels = () if question.rest == "data" else _numbers("--rest", question.rest)
    values = _numbers("--values", question.values or "1,0")
    if len(values) != 2 or values[0] == values[1]:
        raise SpecError(
            "--values", f"is {question.values}; it must be two numbers that differ, as in 1,0"
        )
    return [
        Neighbours(
            levels=levels,
            values=(values[0], values[1]),
            agent=question.agent,
            arm=question.arm,
            place=question.place,
        )
    ]


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
