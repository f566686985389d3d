"""The cells of the arena: who is run on what, by which run file; and who is left out, and why."""

import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import msgspec

from posse import SpecError
from posse.experiments import Plan, prepare
from posse.extend import FloatArray
from posse_arena import rewards
from posse_arena.entrants import Entrant
from posse_arena.problems import (
    ADVERSARIES,
    BASE,
    DELTA,
    LINKS,
    LYING,
    NETWORKS,
    PROBLEMS,
    TASKS,
    Adversary,
    Form,
    Links,
    Problem,
    Size,
    Task,
    budgets,
    is_first,
    liars,
    network_table,
    topology,
)


@dataclass(frozen=True)
class Setting:
    """What is asked, and on which network; that of a system without neighbours is its own."""

    task: Task
    problem: Problem
    network: str
    adversary: Adversary
    links: Links = "near"

    @property
    def where(self) -> str:
        """It in words, by which entrants are told where they are left out."""
        said = [self.task, self.problem.name, self.network]
        said += [part for part in (self.adversary, self.links) if part not in ("none", "near")]
        return ", ".join(said)

    @property
    def first(self) -> bool:
        """Whether it is its task's first place."""
        return is_first(self.task, self.problem.name, self.network, self.adversary, self.links)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An entrant in a setting; `budget` is None if it adds no noise that a budget could set."""

    entrant: Entrant
    setting: Setting
    budget: float | None
    tuned: dict[str, Any] | None = None

    @property
    def form(self) -> str:
        """Whether its parameters are the defaults."""
        return "default" if self.tuned is None else "tuned"


TWO_FACED = "posse_arena.equivocators:of."
"""Before a system's name: the same system with equivocators."""

_HALVED = 12
"""How often a budget is halved in search of the parameter that keeps to it."""


class LeftOut(msgspec.Struct, frozen=True):
    """An entrant that is not run in a place, and why."""

    entrant: str
    where: str
    why: str


def settings(entrant: Entrant, form: Form, tasks: Collection[Task]) -> Iterator[Setting | LeftOut]:
    """Where an entrant takes part, and where not."""
    for task in entrant.tasks:
        if task not in tasks:
            continue
        for problem in PROBLEMS.values():
            if task in problem.tasks:
                yield from _of_problem(entrant, task, problem, form)


def _of_problem(
    entrant: Entrant, task: Task, problem: Problem, form: Form
) -> Iterator[Setting | LeftOut]:
    where = f"{task}, {problem.name}"
    if not (problem.shared or entrant.differ or task == "own-arm"):
        yield LeftOut(entrant.name, where, "its claim is for agents that have the same arms")
        return
    if form == "light" and task in problem.only_full:
        yield LeftOut(entrant.name, where, "too large for the light form")
        return
    is_base = problem.name == BASE[task]
    networks = list(NETWORKS) if is_base else [next(iter(NETWORKS))]
    if entrant.place:
        networks = [entrant.place]
    elif entrant.in_parts:
        networks = ["components"]
    elif "components" in networks:
        networks.remove("components")
    for network in networks:
        yield Setting(task, problem, network, "none")
    if is_base:
        for links in list(LINKS)[1:]:
            yield Setting(task, problem, networks[0], "none", links)
        for adversary in list(ADVERSARIES)[1:]:
            if why := _spared(entrant, task, adversary):
                yield LeftOut(entrant.name, f"{where}, {adversary}", why)
            else:
                yield Setting(task, problem, networks[0], adversary)


def _spared(entrant: Entrant, task: Task, adversary: Adversary) -> str:
    """Why this adversary does not meet this entrant; "" if it does."""
    if task not in ("best-arm", "regret"):
        return "its adversaries are defined for arms that are the same for all"
    if adversary == "equivocators" and entrant.place:
        return "its agents have no neighbours to whom they might tell different things"
    if adversary == "equivocators" and entrant.path:
        return "it is asked of installed systems only, not of code beside a run file"
    return ""


def run_file(cell: Cell, size: Size, instance: int) -> dict[str, Any]:
    """The run file of one instance, as plain data; `SpecError` if its ε cannot be set."""
    raw = _raw(cell, size, instance)
    if cell.budget is not None:
        means = _arms(cell.setting, _table(cell.setting.problem, size.agents, 0))
        first = {**raw, "arms": means, "seed": 0}
        raw["parameters"]["epsilon"] = _epsilon(json.dumps(first, sort_keys=True), cell.budget)
    return raw


@lru_cache(maxsize=64)
def _table(problem: Problem, agents: int, instance: int) -> FloatArray:
    return problem.table(agents, instance)


def _arms(setting: Setting, table: FloatArray) -> dict[str, Any]:
    """`[arms]` of a table of means."""
    means = (table[0] if (table == table[0]).all() else table).tolist()
    if setting.adversary in ("none", "equivocators"):
        return {"kind": "bernoulli", "means": means}
    target = f"posse_arena.rewards:{rewards.target(setting.adversary, setting.problem.name)}"
    count = table.shape[1]
    # no folder is searched: the arms are in this package
    return {"kind": "python", "target": target, "path": [], "count": count, "means": means}


def _raw(cell: Cell, size: Size, instance: int) -> dict[str, Any]:
    entrant, setting = cell.entrant, cell.setting
    given = {
        "horizon": size.horizon,
        "delta_prime": DELTA,
        "assumed_contamination": liars(size.agents) / size.agents
        if setting.adversary in LYING
        else None,
        "epsilon": cell.budget,
    }
    known = {name: v for name, v in given.items() if v is not None and entrant.has(name)}
    raw: dict[str, Any] = {
        "system": f"{TWO_FACED}{entrant.system}"
        if setting.adversary == "equivocators"
        else entrant.system,
        "variant": entrant.variant,
        "base": entrant.base,
        "path": list(entrant.path),
        "agents": {"count": size.agents},
        "arms": _arms(setting, _table(setting.problem, size.agents, instance)),
        "parameters": {**entrant.parameters, **known, **(cell.tuned or {})},
        "seed": instance,
        "engine": {"kind": "memory"},
    }
    if not entrant.place:
        raw["topology"] = topology(setting.network, size.agents)
    if links := network_table(setting.links, size.agents):
        raw["network"] = links
    return raw


@cache
def _epsilon(text: str, budget: float) -> float:
    """The largest parameter ε, to 1 %, at which a run file claims at most this ε of a reward."""
    raw = json.loads(text)
    least, refused = math.inf, ""

    def fits(epsilon: float) -> bool:
        nonlocal least, refused
        raw["parameters"]["epsilon"] = epsilon
        try:
            claim = prepare(raw).claim
        except SpecError as error:
            refused = str(error)
            return False
        claimed = math.inf if claim.epsilon is None else claim.epsilon
        least = min(least, claimed)
        return claimed <= budget and (claim.delta or 0) <= DELTA * 1.001

    if fits(budget):
        return budget
    halved = next((n for n in range(1, _HALVED) if fits(budget / 2**n)), None)
    if halved is None:
        why = f"the least ε that it claims is {least:.3g}" if least < math.inf else refused
        raise SpecError("parameters.epsilon", f"cannot be set for ε = {budget:g}: {why}")
    low: float = budget / 2**halved
    high = 2 * low
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def cells(
    entrants: list[Entrant], form: Form, tasks: Collection[Task], problem: str | None = None
) -> tuple[list[Cell], list[LeftOut]]:
    """Every cell of these tasks with default parameters, and who is left out of what.

    `problem`: only this one.
    """
    taken: list[Cell] = []
    out: list[LeftOut] = []
    for entrant in entrants:
        for setting in settings(entrant, form, tasks):
            if isinstance(setting, LeftOut):
                if problem is None or problem in setting.where.split(", "):
                    out.append(setting)
                continue
            if problem is not None and setting.problem.name != problem:
                continue
            size = TASKS[setting.task].size(form)
            private = entrant.has("epsilon")
            for budget in budgets(form, setting.first) if private else (None,):
                cell = Cell(entrant=entrant, setting=setting, budget=budget)
                try:
                    prepare(run_file(cell, size, 0))
                except SpecError as error:
                    where = setting.where
                    at = f"{where}, ε = {budget:g}" if private else where
                    out.append(LeftOut(entrant.name, at, str(error)))
                else:
                    taken.append(cell)
    return taken, out


def candidates(cell: Cell) -> list[dict[str, Any]]:
    """What is tried to tune: the defaults, and each value of each parameter by itself."""
    tune = cell.entrant.tune
    return [{}, *({name: value} for name, values in tune.items() for value in values)]


def reader_epsilon(entrant: Entrant, plan: Plan) -> float | None:
    """ε of one reward for whoever reads all messages; None if no ε bounds what they tell.

    0 if nothing is sent. A claim against who sees more, all pulls or the server's sums, holds
    against them too; one that is refuted, or is of a single agent's messages, does not count.
    """
    if entrant.place == "alone":
        return 0.0
    claim = plan.claim
    if not claim.holds or claim.sees == "agent":
        return None
    return claim.epsilon
