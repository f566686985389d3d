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
from posse_papers.looks import ERROR, LOOKS, every_test, summed_up
from posse_papers.outcome import Cost, PointMean, Told
from posse_papers.repetitions import Repetition, keep, run, store
from posse_papers.sample import Sample
from posse_papers.statements import Measured, Place

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
    experiment: Experiment,
    *,
    quick: bool,
    engine: str,
    seed: int = SEED,
    times: int = 1,
    asked: set[tuple[str, Place]] | None = None,
) -> list[tuple[Repetition, str, Place]]:
    """(repetition, variant, place) for every number, variant and point.

    `times` as many as the experiment has; of the `asked` variants and points only, if any are.

    A system whose print needs no correction is run once, for both variants. A variant that judges
    no statement is left out.
    """
    judging = {statement.by for statement in experiment.statements}
    repeat, points = times * experiment.repeat[0 if quick else 1], experiment.points(quick)
    return [
        (
            Repetition(
                run=point.run,
                variant=experiment.variants[0]
                if isinstance(point.run, dict) and get_system(point.run["system"]).one_form
                else variant,
                engine=engine,
                number=number,
                keep_log=experiment.keep_log,
                seed=seed,
            ),
            variant,
            place,
        )
        for number in range(repeat * max(point.times for point in points.values()))
        for variant in experiment.variants
        if not judging or {"both", variant} & judging
        for place, point in points.items()
        if number < repeat * point.times and variant in point.variants
        if asked is None or (variant, place) in asked
    ]


def make_ahead(
    experiments: Iterable[Experiment],
    *,
    quick: bool,
    seed: int = SEED,
    folder: Path,
    screen: Screen = _NOWHERE,
    jobs: int | None = None,
    workers: Any = None,
) -> None:
    """Run in memory all that experiments need, in one pool of processes; `conduct` finds it kept.

    The last ones, whose audits are the longest pieces of work, are begun first, so that no core
    waits at the end. What fails is said by the experiment that needs it.
    """
    tasks = {
        task.name: task
        for experiment in reversed(list(experiments))
        for task, _, _ in repetitions(experiment, quick=quick, engine="memory", seed=seed)
    }
    with Progress("all", len(tasks), screen, "repetitions", after=0.1) as progress:
        keep(
            list(tasks.values()),
            folder,
            lambda before, failed: progress.done(before=before, failed=failed),
            jobs,
            workers,
        )


def conduct(
    experiment: Experiment,
    *,
    quick: bool,
    engine: str = "memory",
    seed: int = SEED,
    folder: Path | None = None,
    screen: Screen = _NOWHERE,
    jobs: int | None = None,
    workers: Any = None,
) -> Outcome:
    """Run every point in its variants, and each system of theirs once on both engines.

    What an open test looked at is run again as often, `LOOKS` times at most.
    `folder`: where repetitions are kept, and found if they were made before by the same code.
    `workers`: a client of Dask, on whose workers those in memory are made, else `jobs` processes.
    """
    began = time.monotonic()
    repeat, points = experiment.repeat[0 if quick else 1], experiment.points(quick)
    measured: dict[str, Measured] = {
        variant: Measured(variant, experiment.metric, seed=seed) for variant in experiment.variants
    }
    tests = [
        test for statement in experiment.statements for test in every_test(statement, measured)
    ]
    agreement: Agreement = []
    done: dict[str, Sample] = {}
    for look in range(LOOKS[quick] if repeat > 1 else 1):
        going = [test for test in tests if not test.decided]
        asked = {(test.form, place) for test in going for place in test.read} if look else None
        if not going and look:
            break
        wanted = repetitions(
            experiment, quick=quick, engine=engine, seed=seed, times=2**look, asked=asked
        )
        # a repetition that both variants share is run once
        tasks = {task.name: task for task, _, _ in wanted if task.name not in done}
        name = f"{experiment.name}, look {look + 1}" if look else experiment.name
        with Progress(name, len(tasks), screen, "repetitions") as progress:
            found = run(
                list(tasks.values()),
                folder,
                lambda before: progress.done(before=before),
                jobs,
                workers,
            )
            for system in () if look else experiment.systems(quick):
                progress.inside(f"{system} on both engines")
                agreement += both_engines(system, experiment.variants[0])
        done |= zip(tasks, found, strict=True)
        for task, variant, place in wanted:
            samples = measured[variant].runs.setdefault(place, [])
            if task.number == len(samples):
                samples.append(done[task.name])
            measured[variant].settings[place] = task.run
        counts = {place: repeat * point.times * 2**look for place, point in points.items()}
        for test in going:
            test.look(
                measured[test.form].first(counts, ERROR / 2**look), look + 1, repeat * 2**look
            )
    axes = experiment.axes
    told = Told(
        **{field: getattr(experiment, field) for field in _COPIED},
        x_label=axes.x,
        y_label=axes.y,
        shape=axes.shape,
        form="second" if seed != SEED else "quick" if quick else "full",
        repeat=repeat,
        engine=engine,
        engines_agree=all(one == other for _, one, other in agreement) if agreement else None,
        seconds=round(time.monotonic() - began, 1),
        processor_seconds=round(sum(one.seconds for one in done.values()), 1),
        statements=[
            summed_up(statement, [test for test in tests if test.statement is statement])
            for statement in experiment.statements
        ],
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


def estimate(
    experiment: Experiment,
    counted: set[str],
    *,
    quick: bool,
    engine: str = "memory",
    seed: int = SEED,
    folder: Path | None = None,
    screen: Screen = _NOWHERE,
    jobs: int | None = None,
    workers: Any = None,
) -> Cost:
    """Run the first repetition of every point, and multiply; it is kept like any other.

    `counted` has the repetitions of experiments before, which these share, and is added to.
    """
    of_point: dict[tuple[str, Place], list[Repetition]] = {}
    for task, _, place in repetitions(experiment, quick=quick, engine=engine, seed=seed):
        same = of_point.setdefault((task.variant, place), [])
        if task not in same[-1:]:
            same.append(task)
    firsts = [tasks[0] for tasks in of_point.values()]
    with Progress(experiment.name, len(firsts), screen, "repetitions") as progress:
        done = run(firsts, folder, lambda before: progress.done(before=before), jobs, workers)
    there = store(folder) if folder is not None else None
    wanted = [task for tasks in of_point.values() for task in tasks]
    seconds = more = 0.0
    for first, tasks in zip(done, of_point.values(), strict=True):
        new = {task.name for task in tasks} - counted
        counted |= new
        seconds += first.seconds * len(tasks)
        more += first.seconds * len(new)
    return Cost(
        repetitions=len(wanted),
        processor_seconds=seconds,
        more_seconds=more,
        kept=sum(there is not None and there.kept(task.name) is not None for task in wanted),
    )


@functools.cache
def both_engines(system: str, variant: str) -> Agreement:
    """A small run of a system on both engines; a system that was compared before is not again."""
    raw = {**SMALL[system], "system": system, "seed": SEED, "variant": variant}
    runs = [
        posse.run({**raw, "engine": {"kind": kind}}).runs[0] for kind in ("memory", "processes")
    ]
    compared: list[tuple[str, Callable[[RunRecord], Any]]] = [
        ("status", lambda r: r.status),
        ("answer", lambda r: r.best_arm),
        *((measure.name.replace("_", " "), measure.read) for measure in TOTALS),
    ]
    return [(f"{system}: {name}", read(runs[0]), read(runs[1])) for name, read in compared]
