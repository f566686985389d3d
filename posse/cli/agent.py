"""`posse agent`: join a coordinator as one agent."""

import argparse
import os
import re
from functools import partial
from pathlib import Path

import msgspec

from posse.arms import LiveArms
from posse.arms.csv import CsvArms
from posse.cli import security, web
from posse.cli.options import (
    FOREIGN,
    add_capture,
    add_join,
    add_log,
    add_set,
    add_trust,
    begin_log,
    number,
    probability,
    real,
    seconds,
)
from posse.cli.parser import Parser
from posse.durable import persons
from posse.durable.capture import writing
from posse.engines.start.room import require_processes
from posse.errors import InputError, PosseError
from posse.hosts.status import AgentStatus
from posse.live import address
from posse.live.service import Service
from posse.log import LOG
from posse.operate import health
from posse.operate.doctor import of_disk, of_machine
from posse.plan import Plan, prepare
from posse.protocol.bounds import MOST_AGENTS
from posse.security import keys, noise
from posse.security.address import inbox_trouble
from posse.spec.privacy import ALONE, MOST, MOST_OF_PERSON, PrivacySpec
from posse.spec.runfile import read

_OTHER_STEPS = 0xFFFF_FFF0
"""Slurm's numbers of what is no step of srun (batch script, interactive shell) begin here."""


def add(parser: Parser) -> None:
    add_join(parser)
    parser.option(
        "--rank RANK",
        "rank of this agent: a number, or auto to take the first of JOB_COMPLETION_INDEX, "
        "SLURM_PROCID, the rank of its key, and a free rank",
        default="auto",
    )
    parser.option(
        "--inbox ADDRESS",
        "address at which this agent listens to its neighbours (default: a free port)",
        default="",
    )
    parser.option(
        "--advertise ADDRESS",
        "address by which neighbours reach the inbox, if it is another: of a published port, a NAT",
        default="",
    )
    parser.option(
        "--run FILE", "run file of this machine; the coordinator's must agree with it", type=Path
    )
    parser.option(
        "--data FILE",
        "reward log of this machine; without --run, for any run that protects each reward",
        type=Path,
    )
    parser.option(
        "--budget EPSILON",
        "with --data but not --run: largest ε that one reward may cost in all runs together",
        type=real(f"above 0 and at most {MOST:g}", lambda value: 0 < value <= MOST),
        default=ALONE.budget,
    )
    parser.option(
        "--delta DELTA",
        "with --data but not --run: largest probability δ with which noise may fail to protect one "
        "reward in all runs together",
        type=probability,
        default=ALONE.delta,
    )
    parser.option(
        "--person COLUMN",
        "with --data but not --run: column of the log that names the person of each reward; "
        "--budget and --delta are then a person's",
        default="",
    )
    parser.option(
        "--rewards-per-person M",
        "with --person: the most rewards of one person that are ever used",
        type=partial(number, least=1, most=MOST_OF_PERSON),
        default=1,
    )
    parser.option(
        "--live ADDRESS",
        "with live arms: where the application asks, unix:PATH or http://127.0.0.1:PORT (default: "
        "POSSE_LIVE, or arms.listen of --run); the agent then serves, and joins each next run, "
        "until it is stopped",
        default="",
    )
    parser.option("--live-token FILE", "with --live over HTTP: file with the token to ask for")
    add_set(parser, "override a key of the run file; see posse run")
    add_trust(parser, FOREIGN)
    parser.option("--wait SECONDS", "longest wait for a coordinator", type=seconds, default=300.0)
    parser.option(
        "--lab", "allow real rewards in a lab run, whose seeded noise does not protect them"
    )
    add_capture(parser)
    web.add(parser)
    add_log(parser)
    security.add(parser)


def run(options: argparse.Namespace) -> int:
    """Join, take part in every run, leave."""
    begin_log(options, "agent", insecure=options.keys is None)
    rank, variable = find_rank(options.rank)
    if not variable:
        return _take_part(options, rank)
    LOG.info("rank %d is from the variable %s", rank, variable)
    try:
        return _take_part(options, rank)
    except PosseError as error:
        if not re.search(rf"\brank\b|\bagent[ -]{rank}\b", str(error)):
            raise
        because = PosseError(
            f"{error} (rank {rank} is from the variable {variable}; give --rank for another)"
        )
        because.exit_code = error.exit_code
        raise because from error


def _check_advertised(inbox: str, advertised: str) -> None:
    """`InputError` if neighbours could not be told this address."""
    if trouble := inbox_trouble(advertised, "", ()):
        raise InputError(f"--advertise {advertised}: {trouble.removeprefix('its inbox ')}")
    if not inbox or inbox.endswith(":*"):
        raise InputError(
            f"--advertise {advertised} needs --inbox tcp://ADDRESS:PORT, the address on this "
            "machine to which that one leads"
        )


def _warn(plan: Plan | None, folder: Path) -> None:
    """Log what this machine lacks, and the disk of an agent's journal."""
    for sentence in (*(of_machine(plan) if plan is not None else ()), *of_disk(folder)):
        LOG.warning("%s", sentence)


def _take_part(options: argparse.Namespace, rank: int) -> int:
    require_processes()
    from posse.agent.process import AgentProcess
    from posse.agent.remote import journal_of, remote_agent

    security.check("--join", options.join, options)
    web.check(options)
    if options.inbox:
        security.check("--inbox", options.inbox, options)
    if options.advertise:
        _check_advertised(options.inbox, options.advertise)
    if options.keys:
        keys.wait_for(options.keys, options.wait_for_keys)
    pair = keys.for_agent(options.keys, rank) if options.keys else None
    rank = pair.rank if pair is not None and pair.rank is not None else rank
    if rank >= 0:
        begin_log(options, f"agent {rank}", insecure=pair is None)
    security.warn(options)
    plan = prepare(read(options.run, options.set)) if options.run else None
    if options.data is not None and not options.data.is_file():
        fault = "is a folder; name a file" if options.data.is_dir() else "the file does not exist"
        raise InputError(f"--data {options.data}: {fault}")
    alone = _privacy(options)
    if plan is not None and options.data is not None and not isinstance(plan.spec.arms, CsvArms):
        raise InputError(
            f"--data needs arms of kind csv, but those of {options.run} are of another kind"
        )
    if plan is not None and options.data is None and rank >= 0:
        arms = plan.spec.arms
        if not plan.system.shares_arms and (lack := arms.missing(plan.spec.base, (rank,))):
            raise InputError(f"arms.{lack}")
    journal = journal_of(options.join, rank, plan, options.data, pair)
    if plan is not None and rank >= 0 and not journal.exists():
        _check_log(plan, options.data, rank)
    if plan.field if plan is not None else options.data is not None and not options.lab:
        noise.require()  # without it this agent would leave the others when the run begins
    _warn(plan, journal.absolute().parent)
    served = _serve_live(options, plan, rank)
    with writing(options.capture, goes_on=journal.exists()) as tap:

        def join() -> AgentProcess:
            return remote_agent(
                options.join,
                rank,
                keys=pair,
                inbox=options.inbox,
                advertise=options.advertise,
                wait=options.wait,
                plan=plan,
                data=options.data,
                privacy=alone,
                lab=options.lab,
                tap=tap,
                journal=journal,
            )

        agent = join()

        def status() -> AgentStatus:
            live = served.status() if served is not None else None
            ill = served.health() if served is not None else ""
            return msgspec.structs.replace(agent.status(), live=live, ill=ill)

        if options.http:
            web.serve(options, health.of_agent(status))
        while not (code := agent.serve()) and served is not None:
            LOG.info("the run is over; its answer is served, and the next run awaited")
            agent = join()
        return code


def _serve_live(options: argparse.Namespace, plan: Plan | None, rank: int) -> Service | None:
    """Open the door of live arms before the agent joins: the application may be there first."""
    if plan is None or not isinstance(plan.spec.arms, LiveArms):
        if options.live or options.live_token:
            raise InputError("--live is for live arms: give --run FILE whose arms are of kind live")
        return None
    arms, spec = plan.spec.arms, plan.spec
    where = options.live
    token = str(Path(options.live_token).absolute()) if options.live_token else ""
    if where and (problem := address.fault(where, token=bool(token or arms.token))):
        raise InputError(f"--live {where}: {problem}")
    if not (where or arms.listen):
        raise InputError("--live is missing: the application needs an address to ask at")
    if rank < 0:
        raise InputError("--rank is missing, and live arms keep their decisions by it; give it")
    if where.startswith("unix:"):
        where = f"unix:{Path(where[5:]).absolute()}"
    if (where or arms.listen).startswith("http:") and (lack := address.lacks_http()):
        raise InputError(f"--live: {lack}")
    service = arms.service(spec.base, rank, spec.privacy.persons, (where, token))
    for door in service.doors:
        LOG.info("the application asks at %s", door.address)
    return service


def _privacy(options: argparse.Namespace) -> PrivacySpec:
    """What the options allow rewards to cost; a run file says that itself, in `[privacy]`."""
    if options.run is not None or options.data is None:
        if options.person:
            raise InputError(
                "--person is for --data without --run; with a run file set [privacy] person there"
            )
        return ALONE
    kept = options.data.resolve().with_name(persons.NAME)
    if not options.person and not options.lab and kept.exists():
        raise InputError(
            f"{kept} counts what each person gave, and this agent would use rewards whose persons "
            "it does not know; name their column by --person, or in [privacy] of a --run file"
        )
    try:
        return PrivacySpec(
            budget=options.budget,
            delta=options.delta,
            person=options.person,
            rewards_per_person=options.rewards_per_person,
        )
    except ValueError as error:
        raise InputError(f"--person: {error}") from None


def _check_log(plan: Plan, data: Path | None, rank: int) -> None:
    """Find a mistake in this agent's log before it joins: later it would end the run of all."""
    arms = plan.spec.arms
    if isinstance(arms, CsvArms) and not plan.system.shares_arms:
        own = arms if data is None else msgspec.structs.replace(arms, path=str(data.resolve()))
        own.check(plan.spec.base, (rank,), plan.spec.privacy.persons)


def find_rank(asked: str) -> tuple[int, str]:
    """The rank of the option or of a launcher's variable, whose name is the second.

    Rank -1 lets others choose it.
    """
    if asked != "auto":
        return _parse_rank("--rank", asked), ""
    for variable in ("JOB_COMPLETION_INDEX", "SLURM_PROCID"):
        if variable == "SLURM_PROCID" and not _in_job_step():
            continue  # a shell on a node has one too
        if text := os.environ.get(variable, ""):
            return _parse_rank(variable, text), variable
    return -1, ""


def _in_job_step() -> bool:
    """Whether srun started this process as one of several, not in a terminal or a batch script."""
    step = os.environ.get("SLURM_STEP_ID", "")
    return step.isdecimal() and int(step) < _OTHER_STEPS and "SLURM_PTY_PORT" not in os.environ


def _parse_rank(name: str, text: str) -> int:
    # Python refuses to convert very long digit strings
    if not text.isdecimal() or len(text) > 20 or int(text) >= MOST_AGENTS:
        must = f"must be a number from 0 to {MOST_AGENTS - 1}, or auto"
        raise InputError(f"{name} {text:.60}: {must}")
    return int(text)
