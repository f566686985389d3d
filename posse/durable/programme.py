"""Programmes: runs that are declared before the first of them, and what they cost together.

What a run costs is known before any run of a programme was seen, so their exact total is a bound
(an adaptive filter, which `accounting.admits` is, must allow for runs that were chosen by what the
earlier ones showed). The ledger of a log keeps the declaration in its chain, and while the runs
over the log are those that were declared, in their order, the total alone decides. From the first
run that is not, the filter does. A programme may be over several logs of a folder: then each log's
ledger keeps what is declared of all, as one person may have given rewards in each.
"""

import math
import sqlite3
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from posse.durable import chain
from posse.errors import InputError
from posse.gates import files
from posse.gates.decode import Packed
from posse.plan import Plan, prepare
from posse.protocol.accounting import Losses, together
from posse.protocol.privacy import format_cost
from posse.spec import runfile
from posse.spec.explain import convert

ENTRY = "declare"


class Declared(NamedTuple):
    """Runs so far, by number, and what each of all that were declared costs a reward.

    `beside`: the same of other logs, by the names of their ledgers.
    """

    runs: frozenset[int]
    costs: list[Losses]
    beside: dict[str, list[Losses]]


_MOST = 10_000
"""Runs of a programme."""

_losses = Packed[Losses](Losses).read


class DeclaredRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs of a run file, `times` times; `lab`: one with known means, for a forecast of regret.

    `log`: the name of the log whose rewards they use, in one folder with the others.
    """

    file: str
    log: Annotated[str, Meta(pattern=r"\A[^/\\]*\Z")] = ""
    times: Annotated[int, Meta(ge=1, le=_MOST)] = 1
    lab: str = ""


class ProgrammeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of declared runs, in their order."""

    run: Annotated[list[DeclaredRun], Meta(min_length=1, max_length=1_000)]


class Programme(msgspec.Struct, frozen=True, kw_only=True):
    """Declared runs: by run its task, what a reward costs, the log or "", the lab's run file or "".

    `rewards`: by run, how many a person may be behind; `persons`: whether any run names persons.
    """

    tasks: list[str]
    costs: list[Losses]
    logs: list[str]
    labs: list[str]
    rewards: list[int]
    persons: bool

    @property
    def of_persons(self) -> list[Losses]:
        """By run, what it costs a person, or a reward where none is named."""
        return [cost.of_rewards(m) for cost, m in zip(self.costs, self.rewards, strict=True)]

    def by_log(self, log: str) -> dict[str, list[Losses]]:
        """By log what each of its runs costs a reward; `log` is that of runs that name none."""
        costs: dict[str, list[Losses]] = {}
        for name, cost in zip(self.logs, self.costs, strict=True):
            costs.setdefault(name or log, []).append(cost)
        return costs

    def total(self, delta: float, count: int | None = None) -> float:
        """ε at δ of the first `count` runs together, exactly; infinite where δ is too small."""
        return together(self.of_persons[:count]).epsilon(delta)


def read(path: Path) -> Programme:
    """The programme of a file; `SpecError` or `InputError` where it has a mistake."""
    raw = runfile.read(path)
    asked = convert({"run": raw.get("run", [])}, ProgrammeFile, "")
    tasks, costs, logs, labs, rewards, persons = [], [], [], [], [], False
    for declared in asked.run:
        plan = prepare(path.parent / declared.file)
        for _ in range(declared.times):
            tasks.append(_task(declared.file, plan))
            costs.append(plan.reward_claim.cost)
            logs.append(declared.log)
            labs.append(str(path.parent / declared.lab) if declared.lab else "")
            named = bool(plan.spec.privacy.person)
            rewards.append(plan.spec.privacy.rewards_per_person if named else 1)
            persons |= named
    if len(tasks) > _MOST:
        raise InputError(f"{path} declares {len(tasks):,} runs; there may be {_MOST:,}")
    return Programme(
        tasks=tasks, costs=costs, logs=logs, labs=labs, rewards=rewards, persons=persons
    )


def _task(file: str, plan: Plan) -> str:
    claim = plan.claim
    if claim.epsilon is None or not claim.holds:
        raise InputError(
            f"{file} cannot be declared: {plan.spec.system} has no ε that could be added up"
        )
    return f"{file}: {plan.spec.system}, {format_cost(claim.epsilon, claim.delta)}"


def events(losses: Losses) -> Any:
    """The same as a `DpEvent` of Google's dp-accounting; `InputError` where there is none.

    Where only ε is known, randomized response of two answers is the worst.
    """
    try:
        import dp_accounting as dp  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "events need dp-accounting; install it with: python -m pip install dp-accounting"
        ) from None
    parts = [
        dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1 / cost), times)
        for cost, times in losses.laplace
        if cost
    ]
    parts += [
        dp.RandomizedResponseDpEvent(2 / (1 + math.exp(cost)), 2)
        for cost, times in losses.pure
        for _ in range(times)  # of these its accountant ignores how often
    ]
    if losses.gaussian:
        parts.append(dp.GaussianDpEvent(losses.gaussian**-0.5))
    if losses.delta:
        raise InputError(f"dp-accounting has no event for a δ by itself, here {losses.delta:.2g}")
    return dp.ComposedDpEvent(parts)


def declare(
    db: sqlite3.Connection, at: str, costs: list[Losses], beside: dict[str, list[Losses]]
) -> None:
    """Enter a declaration, within the caller's transaction."""
    others = {name: list(map(msgspec.msgpack.encode, some)) for name, some in beside.items()}
    chain.add(db, ENTRY, at, list(map(msgspec.msgpack.encode, costs)), others)


def on_plan(db: sqlite3.Connection, run: int, cost: Losses) -> Declared | None:
    """The declared runs so far, and what each declared costs a reward, if the next is one of them.

    None if nothing is declared, or a run since then is not as declared. `run`: the next run's own
    number, if it began before.
    """
    declared: list[Losses] = []
    beside: dict[str, list[Losses]] = {}
    begun: dict[int, Losses | None] = {}
    for kind, first, *rest in chain.entries(db):
        if kind == ENTRY:
            declared, begun = [_losses(packed) for packed in rest[0]], {}
            others = rest[1] if len(rest) > 1 else {}
            beside = {name: list(map(_losses, some)) for name, some in others.items()}
        elif kind == "begin" and first != run:
            begun[first] = _losses(rest[-2]) if rest[-2] else None
    so_far = [*begun.values(), cost]
    if not declared or so_far != declared[: len(so_far)]:
        return None
    return Declared(frozenset(begun), declared, beside)


def write_events(path: Path, programme: Programme) -> None:
    """Write each run's `DpEvent`, as Python reads it, a line for each."""
    lines = [repr(events(cost)) for cost in programme.of_persons]
    files.write(path, "\n".join([*lines, ""]))
