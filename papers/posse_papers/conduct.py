"""Run an experiment and check what the paper says about it."""

import functools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import posse
from posse import RunRecord
from posse.experiments import SMALL, TOTALS, Progress, Screen, get_system
from posse_papers.experiment import SEED, Experiment
from posse_papers.outcome import Cost, Judged, PointMean, Told, Tried
from posse_papers.repetitions import Repetition, keep, run, store
from posse_papers.statements import Check, Choice, Measured, Mutant, Place, Statement

_COPIED = ("name", "paper", "figure", "title", "assumed")

_NOWHERE = Screen()

Agreement = list[tuple[str, Any, Any]]
"""(quantity, memory, processes) of one small run of a system."""


@dataclass
class Outcome:
    """What an experiment's runs gave: by variant the measured points, and what they say.

    `agreement` has one small run on both engines for each system that the experiment runs.
    """

    experiment: Experiment
    measured: dict[str, Measured]
    agreement: Agreement
    told: Told


def repetitions(
    experiment: Experiment, *, quick: bool, engine: str
) -> list[tuple[Repetition, str, Place]]:
    """(repetition, variant, place) for every number, variant and point.

    A system whose print needs no correction is run once, for both variants. The quick form leaves
    out a variant that judges no statement.
    """
    judging = {of.by for of in experiment.statements}
    repeat, points = experiment.repeat[0 if quick else 1], experiment.points(quick)
    return [
        (
            Repetition(
                run=of.run,
                variant=experiment.variants[0]
                if isinstance(of.run, dict) and get_system(of.run["system"]).one_form
                else variant,
                engine=engine,
                number=number,
                keep_log=experiment.keep_log,
            ),
            variant,
            place,
        )
        for number in range(repeat * max(of.times for of in points.values()))
        for variant in experiment.variants
        if not quick or not judging or {"both", variant} & judging
        for place, of in points.items()
        if number < repeat * of.times and variant in of.variants
    ]


def make_ahead(
    experiments: Iterable[Experiment],
    *,
    quick: bool,
    folder: Path,
    screen: Screen = _NOWHERE,
    jobs: int | None = None,
) -> None:
    """Run in memory all that experiments need, in one pool of processes; `conduct` finds it kept.

    The last ones, whose audits are the longest pieces of work, are begun first, so that no core
    waits at the end. What fails is said by the experiment that needs it.
    """
    tasks = {
        task.name: task
        for experiment in reversed(list(experiments))
        for task, _, _ in repetitions(experiment, quick=quick, engine="memory")
    }
    with Progress("all", len(tasks), screen, "repetitions", after=0.1) as progress:
        keep(
            list(tasks.values()),
            folder,
            lambda before, failed: progress.done(before=before, failed=failed),
            jobs,
        )


def conduct(
    experiment: Experiment,
    *,
    quick: bool,
    engine: str = "memory",
    folder: Path | None = None,
    screen: Screen = _NOWHERE,
    jobs: int | None = None,
) -> Outcome:
    """Run every point in its variants, and each system of theirs once on both engines.

    `folder`: where repetitions are kept, and found if they were made before by the same code.
    """
    began = time.monotonic()
    wanted = repetitions(experiment, quick=quick, engine=engine)
    # a repetition that both variants share is run once
    tasks = {task.name: task for task, _, _ in wanted}
    with Progress(experiment.name, len(tasks), screen, "repetitions") as progress:
        found = run(list(tasks.values()), folder, lambda before: progress.done(before=before), jobs)
        agreement: Agreement = []
        for system in experiment.systems(quick):
            progress.inside(f"{system} on both engines")
            agreement += both_engines(system, experiment.variants[0])
    done = dict(zip(tasks, found, strict=True))
    measured: dict[str, Measured] = {
        variant: Measured(variant, experiment.metric) for variant in experiment.variants
    }
    for task, variant, place in wanted:
        measured[variant].runs.setdefault(place, []).append(done[task.name])
        measured[variant].settings[place] = task.run
    axes = experiment.axes
    told = Told(
        **{field: getattr(experiment, field) for field in _COPIED},
        x_label=axes.x,
        y_label=axes.y,
        shape=axes.shape,
        form="quick" if quick else "full",
        repeat=experiment.repeat[0 if quick else 1],
        engine=engine,
        engines_agree=all(one == other for _, one, other in agreement) if agreement else None,
        seconds=round(time.monotonic() - began, 1),
        processor_seconds=round(sum(one.seconds for one in found), 1),
        statements=[judged(statement, measured) for statement in experiment.statements],
        numbers={
            variant: [
                PointMean(line, x, *runs.mean(line, x))
                for line, x in runs.runs
                if runs.values(line, x)
            ]
            for variant, runs in measured.items()
        },
    )
    return Outcome(experiment, measured, agreement, told)


def judged(statement: Statement, measured: dict[str, Measured]) -> Judged:
    """What the variants that judge a statement say to it, under every choice."""
    forms = [
        [tried({**choice, "form": form}, check, statement.wrong, runs)
         for choice, check in statement.tests]
        for form, runs in measured.items() if statement.by in ("both", form)
    ]  # fmt: skip
    for found in forms:
        if statement.by != "both" or len(forms) == 1 or all(_alike(found, f) for f in forms):
            for one in found:
                del one.choice["form"]
            return Judged(text=statement.text, place=statement.place, by=statement.by, found=found)
    found = [one for of_form in forms for one in of_form]
    return Judged(text=statement.text, place=statement.place, by=statement.by, found=found)


def _alike(one: list[Tried], other: list[Tried]) -> bool:
    """Whether two forms of an algorithm gave the same, to the figure."""
    return all(
        (a.held, a.said, a.refuted, a.passed) == (b.held, b.said, b.refuted, b.passed)
        for a, b in zip(one, other, strict=True)
    )


def tried(choice: Choice, check: Check, wrong: tuple[Mutant, ...], measured: Measured) -> Tried:
    """What a check says to one variant's runs, and to the wrong worlds if it holds."""
    found = check(measured)
    told = Tried(choice=choice, held=found.held, said=found.said, refuted=[], passed=[])
    for mutant in (*check.wrong, *wrong) if found.held == "holds" else ():
        others = [check(other) for other in mutant.worlds(measured)]
        held = sum(other.held == "holds" for other in others)
        refuted = held <= len(others) / 20 if mutant.null else others[0].held == "fails"
        said = f"holds in {held} of {len(others)}" if mutant.null else others[0].said
        (told.refuted if refuted else told.passed).append(f"{mutant.text}: {said}")
    return told


def estimate(
    experiment: Experiment,
    *,
    quick: bool,
    engine: str = "memory",
    folder: Path | None = None,
    screen: Screen = _NOWHERE,
    jobs: int | None = None,
) -> Cost:
    """Run the first repetition of every point, and multiply; it is kept like any other."""
    of_point: dict[tuple[str, Place], list[Repetition]] = {}
    for task, _, place in repetitions(experiment, quick=quick, engine=engine):
        same = of_point.setdefault((task.variant, place), [])
        if task not in same[-1:]:
            same.append(task)
    firsts = [tasks[0] for tasks in of_point.values()]
    with Progress(experiment.name, len(firsts), screen, "repetitions") as progress:
        done = run(firsts, folder, lambda before: progress.done(before=before), jobs)
    there = store(folder) if folder is not None else None
    wanted = [task for tasks in of_point.values() for task in tasks]
    times = map(len, of_point.values())
    return Cost(
        repetitions=len(wanted),
        processor_seconds=sum(one.seconds * n for one, n in zip(done, times, strict=True)),
        kept=sum(there is not None and there.kept(task.name) is not None for task in wanted),
    )


@functools.cache
def both_engines(system: str, variant: str) -> Agreement:
    """A small run of a system on both engines; a system that was compared before is not again."""
    raw = {**SMALL[system], "system": system, "seed": SEED, "variant": variant}
    runs = [
        posse.run({**raw, "engine": {"kind": kind}}).runs[0] for kind in ("memory", "processes")
    ]
    told: list[tuple[str, Callable[[RunRecord], Any]]] = [
        ("status", lambda r: r.status),
        ("answer", lambda r: r.best_arm),
        *((measure.name.replace("_", " "), measure.read) for measure in TOTALS),
    ]
    return [(f"{system}: {name}", of(runs[0]), of(runs[1])) for name, of in told]
