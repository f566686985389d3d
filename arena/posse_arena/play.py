"""Runs: tuning first, then scores, each run kept on disk as soon as it has ended."""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from posse import PosseError, RunRecord, SpecError
from posse.experiments import (
    Piece,
    Plan,
    Store,
    digest,
    made_by,
    on_all_cores,
    on_workers,
    outcomes,
    prepare,
    run_in_memory,
)
from posse_arena.cells import Cell, LeftOut, Setting, candidates, run_file
from posse_arena.entrants import Entrant
from posse_arena.problems import (
    FIRST_TUNED,
    LYING,
    NETWORKS,
    TASKS,
    TUNING,
    Form,
    Size,
    Task,
    liars,
)

NOT_RUN = "not run yet"

Each = Callable[[bool], None]
"""Hears of each run as it ends, and whether it was kept before."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A run without a score, and why: what was not measured is no number."""

    why: str


class Scored(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What was measured of one run.

    - `score`: the task's, the smaller the better
    - `wrong`: whether the answer was not the best arm, or there was none; only for "best-arm"
    - `pulls`: of each agent. `bytes`: each agent's share of all data frames, as given to ZeroMQ
    - `seconds`: of one processor, for all agents together
    - `time`: virtual seconds until the answer; None if links have no delay
    """

    score: float
    pulls: float
    bytes: float
    seconds: float
    wrong: bool | None = None
    time: float | None = None


Score = Scored | Failed


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run: its run file as JSON, the task that it is scored by, and how many agents lie."""

    text: str
    task: Task
    lying: int
    horizon: int | None

    @property
    def name(self) -> str:
        """Under which its score is kept."""
        content = json.dumps([self.text, self.task, self.lying])
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    @property
    def code(self) -> str:
        """Which code runs it, besides posse's: two trials of the same names share it."""
        raw = json.loads(self.text)
        return str((raw["system"], raw["base"], raw["path"], raw["arms"].get("target")))

    @property
    def plan(self) -> Plan:
        """The plan of its run file."""
        return prepare(json.loads(self.text))


def trial(cell: Cell, size: Size, instance: int) -> Trial:
    """The run of a cell on one instance; `SpecError` if its run file is refused."""
    return Trial(
        text=json.dumps(run_file(cell, size, instance), sort_keys=True),
        task=cell.setting.task,
        lying=liars(size.agents) if cell.setting.adversary in LYING else 0,
        horizon=size.horizon,
    )


def play(task: Trial) -> Score:
    """Run it in memory; a run that fails has a score that says why."""
    began = time.process_time()
    try:
        plan = task.plan
        record = run_in_memory(plan, 0)
        return _score(task, plan, record, time.process_time() - began)
    except PosseError as error:
        return Failed(str(error))


def _score(task: Trial, plan: Plan, record: RunRecord, seconds: float) -> Score:
    agents, sent = plan.spec.agents.count, record.communication.data.frame_bytes
    if record.pulls is None or sent is None:
        return Failed("its run did not measure its pulls and bytes")
    pulls = record.pulls / agents
    wrong = None
    if task.task == "best-arm":
        table = np.atleast_2d(json.loads(task.text)["arms"]["means"])
        wrong = record.best_arm != int(table.mean(axis=0).argmax())
        score = pulls
    else:
        if pulls != task.horizon:
            why = f"made {pulls:g} pulls per agent, where the task has {task.horizon}"
            return Failed(f"{why}; give the system a parameter horizon, or --task best-arm")
        regret = _regret(task, plan, record)
        if regret is None:
            of_whom = "of each agent, which share their arms" if task.lying else "of its agents"
            return Failed(f"its run does not measure the regret {of_whom}")
        score = regret / (agents - task.lying)
    return Scored(
        score=score,
        wrong=wrong,
        pulls=pulls,
        bytes=sent / agents,
        seconds=seconds,
        time=None if plan.spec.network is None else record.elapsed_seconds,
    )


def _regret(task: Trial, plan: Plan, record: RunRecord) -> float | None:
    """The regret of all agents that do not lie; None if it was not measured."""
    own = getattr(plan.system.shape, "regret_against", "") == "own"
    if task.task == "own-arm" and not own and record.regret_local is not None:
        return record.regret_local
    if task.lying:
        each = record.regret_per_agent
        return None if each is None else sum(each[: -task.lying])
    return record.regret


def run(
    trials: list[Trial], folder: Path | None, each: Each, jobs: int | None, workers: Any = None
) -> list[Score]:
    """The score of each; what is in `folder`, made by the same code, is not run again.

    `workers`: a client of Dask, on whose workers runs are made, else `jobs` processes.
    """
    pieces = _pieces(trials, folder)

    def work(missing: list[Trial]) -> Iterator[tuple[int, Score | PosseError]]:
        if workers is None:
            yield from on_all_cores(play, missing, jobs)
        else:
            yield from on_workers(workers, play, missing)

    return outcomes(pieces, work, each)


def so_far(trials: list[Trial], folder: Path | None) -> list[Score]:
    """The score of each that is in `folder`; the others have failed with `NOT_RUN`."""
    missing = Failed(NOT_RUN)
    return [
        (piece.store and piece.store.kept(piece.name)) or missing
        for piece in _pieces(trials, folder)
    ]


def _pieces(trials: list[Trial], folder: Path | None) -> list[Piece[Trial, Score]]:
    """Each with where it is kept."""
    decode = msgspec.msgpack.Decoder[Score](Score).decode
    stores: dict[str, Store[Score]] = {}
    for one in trials:
        if folder is not None and one.code not in stores:
            by = made_by(one.plan) + digest([Path(__file__)])
            stores[one.code] = Store(folder, by, msgspec.msgpack.encode, decode)
    return [Piece(one, one.name if stores else "", stores.get(one.code)) for one in trials]


def tuning(cell: Cell) -> Cell:
    """The cell on which the parameters of `cell` are tuned: same task, budget and shape."""
    task, network = cell.setting.task, cell.setting.network
    if network in NETWORKS and network != "components":
        network = next(iter(NETWORKS))
    return replace(cell, setting=Setting(task, TUNING[task], network, "none"))


def tried(cells: list[Cell], form: Form) -> dict[tuple[Entrant, Task, float | None], list[Cell]]:
    """By entrant, task and budget everything that is tried to tune it."""
    found: dict[Any, list[Cell]] = {}
    for cell in cells:
        key = key_of(cell)
        if key in found or not cell.entrant.tune:
            continue
        found[key] = []
        for parameters in candidates(cell):
            candidate = replace(tuning(cell), tuned=parameters)
            try:
                prepare(run_file(candidate, TASKS[cell.setting.task].size(form), FIRST_TUNED))
            except SpecError:
                continue  # a value that does not suit these sizes is not tried
            found[key].append(candidate)
    return found


def key_of(cell: Cell) -> tuple[str, Task, float | None]:
    """What the parameters of a cell are tuned for."""
    return cell.entrant.name, cell.setting.task, cell.budget


def tune(cells: list[Cell], form: Form, runs: Callable[[list[Trial]], list[Score]]) -> list[Cell]:
    """The tuned cells: of each that can be tuned, with what did best on the tuning instances."""
    attempts = tried(cells, form)
    trials = {
        key: [_tuning_trials(candidate, form) for candidate in tries]
        for key, tries in attempts.items()
    }
    scores = iter(runs([one for each in trials.values() for some in each for one in some]))
    best: dict[Any, dict[str, Any]] = {}
    for key, tries in attempts.items():
        by_place = [[next(scores) for _ in some] for some in trials[key]]
        unknown = any(one == Failed(NOT_RUN) for own in by_place for one in own)
        ranked = [(_rank(own), place) for place, own in enumerate(by_place)]
        if ranked and not unknown:
            best[key] = tries[min(ranked)[1]].tuned or {}
    return [
        replace(cell, tuned=best[key_of(cell)])
        for cell in cells
        if key_of(cell) in best
        and (form == "full" or cell.setting.first or cell.entrant.origin == "entered")
    ]


def _tuning_trials(candidate: Cell, form: Form) -> list[Trial]:
    size = TASKS[candidate.setting.task].size(form)
    return [trial(candidate, size, FIRST_TUNED + n) for n in range(size.tuned)]


def _rank(scores: list[Score]) -> tuple[int, float, float]:
    """By failures, then wrong answers, then the mean score; without any score last."""
    measured = [one for one in scores if isinstance(one, Scored)]
    return (
        len(scores) - len(measured),
        sum(bool(one.wrong) for one in measured),
        float(np.mean([one.score for one in measured])) if measured else math.inf,
    )


def score(
    cells: list[Cell], form: Form, runs: Callable[[list[Trial]], list[Score]]
) -> tuple[list[tuple[Cell, Trial, list[Scored]]], list[LeftOut]]:
    """The scores of each cell, with its first run; a cell with a failed run is left out."""
    done: list[tuple[Cell, Trial, list[Scored]]] = []
    out, asked = [], []
    for cell in cells:
        size = TASKS[cell.setting.task].size(form)
        try:
            asked.append((cell, [trial(cell, size, number) for number in range(size.scored)]))
        except SpecError as error:
            out.append(_failed(cell, str(error)))
    scores = iter(runs([one for _, trials in asked for one in trials]))
    for cell, trials in asked:
        own = [next(scores) for _ in trials]
        measured = [one for one in own if isinstance(one, Scored)]
        if failed := next((one.why for one in own if isinstance(one, Failed)), ""):
            out.append(_failed(cell, failed))
        else:
            done.append((cell, trials[0], measured))
    return done, out


def _failed(cell: Cell, why: str) -> LeftOut:
    setting = cell.setting
    return LeftOut(cell.entrant.name, f"{setting.where}, {cell.form}", why)
