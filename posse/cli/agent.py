"""`posse agent`: join a coordinator as one agent."""

import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from posse.arms import LiveArms
from posse.arms.csv import CsvArms
from posse.cli.options import (
    Duration,
    LogOptions,
    Probability,
    SetOptions,
    number,
    parsed,
    real,
    shared,
)
from posse.cli.security import KeyOptions
from posse.cli.web import Served
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
from posse.security import keys as key_files
from posse.security import noise
from posse.security.address import FORWARDED, inbox_trouble
from posse.spec.privacy import ALONE, MOST, MOST_OF_PERSON, PrivacySpec
from posse.spec.runfile import read

_OTHER_STEPS = 0xFFFF_FFF0
"""Slurm's numbers of what is no step of srun (batch script, interactive shell) begin here."""


_Epsilon = Annotated[
    float,
    parsed(real(f"above 0 and at most {MOST:g}", lambda value: 0 < value <= MOST), "EPSILON"),
]
_Rows = Annotated[int, parsed(lambda text: number(text, 1, MOST_OF_PERSON), "M")]


@shared
class RewardOptions:
    """The rewards this agent has, and what they may cost."""

    run: Annotated[Path | None, Parameter(metavar="FILE")] = None
    """run file of this machine; the coordinator's must agree with it"""
    data: Annotated[Path | None, Parameter(metavar="FILE")] = None
    """reward log of this machine; without --run, for any run that protects each reward"""
    budget: _Epsilon = ALONE.budget
    """with --data but not --run: largest ε that one reward may cost in all runs together"""
    delta: Probability = ALONE.delta
    """with --data but not --run: largest probability δ with which noise may fail to protect one
    reward in all runs together"""
    person: Annotated[str, Parameter(metavar="COLUMN")] = ""
    """with --data but not --run: column of the log that names the person of each reward; --budget
    and --delta are then a person's"""
    rewards_per_person: _Rows = 1
    """with --person: the most rewards of one person that are ever used"""
    live: Annotated[str, Parameter(metavar="ADDRESS")] = ""
    """with live arms: where the application asks, unix:PATH or http://127.0.0.1:PORT (default:
    POSSE_LIVE, or arms.listen of --run); the agent then serves, and joins each next run, until it
    is stopped"""
    live_token: Annotated[str, Parameter(metavar="FILE")] = ""
    """with --live over HTTP: file with the token to ask for"""
    lab: bool = False
    """allow real rewards in a lab run, whose seeded noise does not protect them"""


@shared
class LinkOptions:
    """Where this agent finds the others, and they find it."""

    join: Annotated[str, Parameter(metavar="ADDRESS")]
    """address of the coordinator: tcp://HOST:PORT, or ipc://PATH on this machine"""
    inbox: Annotated[str, Parameter(metavar="ADDRESS")] = ""
    """address at which this agent listens to its neighbours (default: a free port); coordinator:
    it accepts no connections, and the coordinator forwards what neighbours seal for it"""
    advertise: Annotated[str, Parameter(metavar="ADDRESS")] = ""
    """address by which neighbours reach the inbox, if it is another: of a published port, a NAT"""
    wait: Duration = 300.0
    """longest wait for a coordinator"""
    capture: Annotated[Path | None, Parameter(metavar="FRAMES")] = None
    """file for every frame that this process sends; posse frames shows it"""

    def check(self, keys: KeyOptions) -> None:
        """`InputError` for an address that is invalid, or open to others without keys."""
        keys.check("--join", self.join)
        if self.inbox == FORWARDED and keys.keys is None:
            raise InputError(
                "--inbox coordinator needs keys, by which neighbours seal what the coordinator "
                "forwards; make them with posse keys, and add --keys DIR"
            )
        if self.inbox and self.inbox != FORWARDED:
            keys.check("--inbox", self.inbox)
        if not self.advertise:
            return
        if trouble := inbox_trouble(self.advertise, "", ()):
            raise InputError(f"--advertise {self.advertise}: {trouble.removeprefix('its inbox ')}")
        if not self.inbox.startswith("tcp://") or self.inbox.endswith(":*"):
            raise InputError(
                f"--advertise {self.advertise} needs --inbox tcp://ADDRESS:PORT, the address on "
                "this machine to which that one leads"
            )


def agent(
    *,
    links: LinkOptions,
    rank: Annotated[str, Parameter(metavar="RANK")] = "auto",
    rewards: RewardOptions = RewardOptions(),
    settings: SetOptions = SetOptions(),
    served: Served = Served(),
    log: LogOptions = LogOptions(),
    keys: KeyOptions = KeyOptions(),
) -> int:
    """Join a coordinator as one agent, take part in every run, leave.

    Args:
        rank: rank of this agent: a number, or auto to take the first of JOB_COMPLETION_INDEX,
            SLURM_PROCID, the rank of its key, and a free rank
    """
    log.begin("agent", insecure=keys.keys is None)
    own, variable = find_rank(rank)
    part = _Part(links, rewards, settings, served, log, keys)
    if not variable:
        return part.take(own)
    LOG.info("rank %d is from the variable %s", own, variable)
    try:
        return part.take(own)
    except PosseError as error:
        if not re.search(rf"\brank\b|\bagent[ -]{own}\b", str(error)):
            raise
        because = PosseError(
            f"{error} (rank {own} is from the variable {variable}; give --rank for another)"
        )
        because.exit_code = error.exit_code
        raise because from error


def _warn(plan: Plan | None, folder: Path) -> None:
    """Log what this machine lacks, and the disk of an agent's journal."""
    for sentence in (*(of_machine(plan) if plan is not None else ()), *of_disk(folder)):
        LOG.warning("%s", sentence)


@dataclass(frozen=True)
class _Part:
    """What an agent takes part with."""

    links: LinkOptions
    rewards: RewardOptions
    settings: SetOptions
    served: Served
    log: LogOptions
    keys: KeyOptions

    def take(self, rank: int) -> int:
        """Join, take part in every run, leave."""
        require_processes()
        from posse.agent.process import AgentProcess
        from posse.agent.remote import journal_of, remote_agent

        links, keys, given = self.links, self.keys, self.rewards
        links.check(keys)
        self.served.check()
        keys.wait()
        pair = key_files.for_agent(keys.keys, rank) if keys.keys else None
        rank = pair.rank if pair is not None and pair.rank is not None else rank
        if rank >= 0:
            self.log.begin(f"agent {rank}", insecure=pair is None)
        keys.warn()
        plan = prepare(read(given.run, self.settings.set)) if given.run else None
        if given.data is not None and not given.data.is_file():
            fault = "is a folder; name a file" if given.data.is_dir() else "the file does not exist"
            raise InputError(f"--data {given.data}: {fault}")
        alone = _privacy(given)
        if plan is not None and given.data is not None and not isinstance(plan.spec.arms, CsvArms):
            raise InputError(
                f"--data needs arms of kind csv, but those of {given.run} are of another kind"
            )
        if plan is not None and given.data is None and rank >= 0:
            arms = plan.spec.arms
            if not plan.system.shares_arms and (lack := arms.missing(plan.spec.base, (rank,))):
                raise InputError(f"arms.{lack}")
        journal = journal_of(links.join, rank, plan, given.data, pair)
        if plan is not None and rank >= 0 and not journal.exists():
            _check_log(plan, given.data, rank)
        if plan.field if plan is not None else given.data is not None and not given.lab:
            noise.require()  # without it this agent would leave the others when the run begins
        _warn(plan, journal.absolute().parent)
        served = _serve_live(given, plan, rank)
        with writing(links.capture, goes_on=journal.exists()) as tap:

            def join() -> AgentProcess:
                return remote_agent(
                    links.join,
                    rank,
                    keys=pair,
                    inbox=links.inbox,
                    advertise=links.advertise,
                    wait=links.wait,
                    plan=plan,
                    data=given.data,
                    privacy=alone,
                    lab=given.lab,
                    tap=tap,
                    journal=journal,
                )

            agent = join()

            def status() -> AgentStatus:
                live = served.status() if served is not None else None
                ill = served.health() if served is not None else ""
                return msgspec.structs.replace(agent.status(), live=live, ill=ill)

            self.served.serve(partial(health.of_agent, status))
            while not (code := agent.serve()) and served is not None:
                LOG.info("the run is over; its answer is served, and the next run awaited")
                agent = join()
            return code


def _serve_live(given: RewardOptions, plan: Plan | None, rank: int) -> Service | None:
    """Open the door of live arms before the agent joins: the application may be there first."""
    if plan is None or not isinstance(plan.spec.arms, LiveArms):
        if given.live or given.live_token:
            raise InputError("--live is for live arms: give --run FILE whose arms are of kind live")
        return None
    arms, spec = plan.spec.arms, plan.spec
    where = given.live
    token = str(Path(given.live_token).absolute()) if given.live_token else ""
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


def _privacy(given: RewardOptions) -> PrivacySpec:
    """What the options allow rewards to cost; a run file says that itself, in `[privacy]`."""
    if given.run is not None or given.data is None:
        if given.person:
            raise InputError(
                "--person is for --data without --run; with a run file set [privacy] person there"
            )
        return ALONE
    kept = given.data.resolve().with_name(persons.NAME)
    if not given.person and not given.lab and kept.exists():
        raise InputError(
            f"{kept} counts what each person gave, and this agent would use rewards whose persons "
            "it does not know; name their column by --person, or in [privacy] of a --run file"
        )
    try:
        return PrivacySpec(
            budget=given.budget,
            delta=given.delta,
            person=given.person,
            rewards_per_person=given.rewards_per_person,
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
