"""The result of the arena: one JSON document, its schema, and what follows from its numbers."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

import posse
from posse.experiments import InputError, mean_interval, wilson
from posse.verbs import read_whole
from posse_arena.cells import Cell, LeftOut, reader_epsilon
from posse_arena.entrants import Entrant
from posse_arena.play import Scored, Trial
from posse_arena.problems import ADVERSARIES, DELTA, LINKS, NETWORKS, PROBLEMS, TASKS, Form, Links


class Measured(msgspec.Struct, frozen=True):
    """A mean over a cell's runs, the ends of its 95 % interval (null below five), the values."""

    mean: float
    low: float | None
    high: float | None
    values: list[float] = []


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """An entrant in a setting, over `n` instances.

    Above 20 fields: one for each key of a cell in the document.
    """

    task: str
    problem: str
    network: Annotated[str, Meta(description="alone, server and shared arms are the system's own")]
    adversary: str
    links: Links
    budget: Annotated[float | None, Meta(description="the ε that it was asked to keep to")]
    entrant: str
    form: Literal["default", "tuned"]
    parameters: dict[str, Any]
    n: int
    score: Annotated[Measured, Meta(description="the task's; smaller is better")]
    wrong: Annotated[Measured | None, Meta(description="share of wrong or missing answers")]
    per_reward: Annotated[float, Meta(description="the score divided by the pulls of an agent")]
    pulls: Annotated[Measured, Meta(description="pulls of an agent")]
    bytes: Annotated[Measured, Meta(description="data frames, bytes per agent")]
    seconds: Annotated[Measured, Meta(description="processor seconds of a run, all agents")]
    time: Annotated[
        Measured | None, Meta(description="virtual seconds until the answer; null for near links")
    ]
    epsilon: Annotated[
        float | None,
        Meta(description="of one reward, for whoever reads all messages; null: no bound"),
    ]
    delta: Annotated[float, Meta(description="that goes with epsilon")]
    epsilon_person: Annotated[
        float | None,
        Meta(description="of all rewards of an agent, as many as its pulls, at the same δ"),
    ]
    claimed: Annotated[str, Meta(description="what the system itself says")]
    sees: Annotated[str, Meta(description="what the adversary of that claim sees")]
    holds: Annotated[bool, Meta(description="false if the claim is refuted")]
    front: Annotated[
        bool,
        Meta(
            description="none of its group is clearly better in one of score, errors, bytes, ε "
            "and seconds, and not clearly worse in any"
        ),
    ] = True


class EntrantResult(msgspec.Struct, frozen=True, kw_only=True):
    """Who took part."""

    name: str
    system: str
    variant: str
    origin: str
    network: Annotated[str, Meta(description="that its shape brings along; empty: the arena's")]
    parameters: list[str]
    tunes: dict[str, list[Any]]


class Apart(msgspec.Struct, frozen=True):
    """An entrant, others of a task that it may not be compared with in a respect, and why."""

    task: str
    entrant: str
    others: list[str]
    respect: str
    why: str


class ArenaResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run of the arena gave."""

    version: Literal[1]
    posse: str
    form: Form
    command: str
    delta: float
    conditions: Annotated[
        dict[str, dict[str, str]],
        Meta(description="tasks, problems, networks, adversaries and links, in words"),
    ]
    entrants: list[EntrantResult]
    cells: list[CellResult]
    left_out: list[LeftOut]
    apart: list[Apart]


def schema() -> dict[str, Any]:
    """The JSON schema of a result."""
    return msgspec.json.schema(ArenaResult)


def read(path: Path) -> ArenaResult:
    """A result from disk, checked against the schema; `InputError` if it is none."""
    try:
        return msgspec.json.decode(read_whole(path), type=ArenaResult)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is no result of the arena: {error}") from None


def conditions() -> dict[str, dict[str, str]]:
    """What was asked, in words."""
    return {
        "tasks": {name: f"{task.title}: {task.score}" for name, task in TASKS.items()},
        "problems": {problem.name: problem.source for problem in PROBLEMS.values()},
        "networks": {name: str(table) for name, table in NETWORKS.items()},
        "adversaries": {str(name): text for name, text in ADVERSARIES.items()},
        "links": {str(name): text for name, text in LINKS.items()},
    }


def _measured(values: Sequence[float]) -> Measured:
    mean, low, high = mean_interval(values)
    kept = [float(f"{value:.6g}") for value in values]
    known = not math.isnan(low)
    return Measured(mean, low if known else None, high if known else None, kept)


def _share(values: Sequence[bool]) -> Measured:
    hits, n = sum(values), len(values)
    return Measured(hits / n, *wilson(hits, n), [float(value) for value in values])


def cell_result(cell: Cell, first: Trial, scores: list[Scored]) -> CellResult:
    """What the runs of a cell gave; `first` is one of them."""
    plan, entrant = first.plan, cell.entrant
    epsilon, delta = reader_epsilon(entrant, plan), plan.claim.delta or 0.0
    pulls = _measured([one.pulls for one in scores])
    score = _measured([one.score for one in scores])
    times = [one.time for one in scores if one.time is not None]
    errors = [bool(one.wrong) for one in scores if one.wrong is not None]
    return CellResult(
        task=cell.setting.task,
        problem=cell.setting.problem.name,
        network=cell.setting.network,
        adversary=cell.setting.adversary,
        links=cell.setting.links,
        budget=cell.budget,
        entrant=entrant.name,
        form="default" if cell.tuned is None else "tuned",
        parameters=plan.spec.parameters,
        n=len(scores),
        score=score,
        wrong=_share(errors) if errors else None,
        per_reward=score.mean / pulls.mean if pulls.mean else 0.0,
        pulls=pulls,
        bytes=_measured([one.bytes for one in scores]),
        seconds=_measured([one.seconds for one in scores]),
        time=_measured(times) if times else None,
        epsilon=epsilon,
        delta=delta if epsilon else 0.0,
        epsilon_person=epsilon and plan.claim.of_person(math.ceil(pulls.mean)).epsilon,
        claimed=plan.claim.says,
        sees=plan.claim.sees,
        holds=plan.claim.holds,
    )


def result(
    entrants: list[EntrantResult],
    cells: list[CellResult],
    left_out: list[LeftOut],
    apart: list[Apart],
    form: Form,
    command: str,
) -> ArenaResult:
    """The whole, with fronts."""
    return ArenaResult(
        version=1,
        posse=posse.__version__,
        form=form,
        command=command,
        delta=DELTA,
        conditions=conditions(),
        entrants=entrants,
        cells=with_fronts(cells),
        left_out=left_out,
        apart=apart,
    )


def of_entrant(entrant: Entrant) -> EntrantResult:
    """An entrant, as results have it."""
    return EntrantResult(
        name=entrant.name,
        system=entrant.system,
        variant=entrant.variant,
        origin=entrant.origin,
        network=entrant.place,
        parameters=list(entrant.record.parameters.__struct_fields__),
        tunes={name: list(values) for name, values in entrant.tune.items()},
    )


Axis = Callable[[CellResult], Measured]


def _epsilon(cell: CellResult) -> Measured:
    epsilon = float("inf") if cell.epsilon is None else cell.epsilon
    return Measured(epsilon, epsilon, epsilon)


AXES: tuple[Axis, ...] = (
    lambda cell: cell.score,
    lambda cell: cell.wrong or Measured(0, 0, 0),
    lambda cell: cell.bytes,
    _epsilon,
    lambda cell: cell.time or cell.seconds,
)


def clearly_less(one: Measured, other: Measured) -> bool:
    """Whether the intervals are apart; means count where there are none."""
    high = one.mean if one.high is None else one.high
    return high < (other.mean if other.low is None else other.low)


def dominates(one: CellResult, other: CellResult) -> bool:
    """Whether `one` is clearly better on an axis of `AXES` and clearly worse on none."""
    pairs = [(axis(one), axis(other)) for axis in AXES]
    return any(clearly_less(a, b) for a, b in pairs) and not any(
        clearly_less(b, a) for a, b in pairs
    )


class GroupKey(NamedTuple):
    """What cells that stand side by side have in common."""

    task: str
    problem: str
    adversary: str
    links: str
    network: str


def groups(cells: Sequence[CellResult]) -> dict[GroupKey, list[CellResult]]:
    """Cells that stand side by side, by task, problem, adversary, links and network.

    Systems that bring their own network stand on each of the arena's.
    """
    found: dict[GroupKey, list[CellResult]] = {}
    for cell in cells:
        key = GroupKey(cell.task, cell.problem, cell.adversary, cell.links, cell.network)
        found.setdefault(key, []).append(cell)
    joined: dict[GroupKey, list[CellResult]] = {}
    for key, own in found.items():
        if key.network in NETWORKS:
            joined[key] = own + [
                cell
                for other, more in found.items()
                if other[:-1] == key[:-1] and other.network not in NETWORKS
                for cell in more
            ]
    without = {key[:-1] for key in joined}
    for key, own in found.items():
        if key[:-1] not in without:
            joined.setdefault(key._replace(network="their own"), []).extend(own)
    return joined


def with_fronts(cells: Sequence[CellResult]) -> list[CellResult]:
    """The same cells; `front` is true where a cell is undominated in a group that it is in."""
    best = {
        id(cell)
        for group in groups(cells).values()
        for cell in group
        if not any(dominates(other, cell) for other in group)
    }
    return [msgspec.structs.replace(cell, front=id(cell) in best) for cell in cells]
