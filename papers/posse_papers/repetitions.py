"""The repetitions of an experiment's points, on all cores, each kept on disk as soon as it is done.

A repetition is found again by what it is made from: its specification, its number, and the code
that runs it. So an interrupted experiment goes on where it was, and experiments share what they
have in common.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from posse import PosseError
from posse.experiments import (
    Piece,
    Store,
    carry_out,
    digest,
    get_system,
    make_runs,
    on_all_cores,
    on_workers,
    our_code,
    outcomes,
    prepare,
)
from posse_papers import sample
from posse_papers.experiment import SEED, Computation
from posse_papers.sample import Sample

MOST_TOGETHER = 16
"""The most repetitions that are lost when their process is killed."""


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """Run `number` of a specification, or of a computation."""

    run: dict[str, Any] | Computation
    variant: str
    engine: str
    number: int
    keep_log: bool
    seed: int = SEED

    @property
    def specification(self) -> dict[str, Any]:
        """What is run, without how often."""
        assert isinstance(self.run, dict)
        return {
            **self.run,
            "seed": self.seed,
            "variant": self.variant,
            "engine": {"kind": self.engine},
        }

    @property
    def name(self) -> str:
        """Which one it is among all, and under which it is kept."""
        if isinstance(self.run, Computation):
            made_from: Any = [self.run.identity(), _text_of(self.run.of.__module__), self.variant]
            made_from += [self.seed]
        else:
            made_from = [self.specification, self.keep_log]
        text = json.dumps([made_from, self.number], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def store(folder: Path) -> Store[Sample]:
    """The repetitions in a folder; those that other code made do not count."""
    decode = msgspec.msgpack.Decoder(Sample).decode
    return Store(folder, our_code(), msgspec.msgpack.encode, decode)


@cache
def _text_of(module: str) -> str:
    """A digest of a module's text, and of what it takes from other modules of the papers."""
    members = vars(sys.modules[module]).values()
    taken = {str(getattr(thing, "__module__", "")) for thing in members}
    names = sorted({module} | {name for name in taken if name.startswith("posse_papers.")})
    return digest(Path(str(sys.modules[name].__file__)) for name in names)


def one(task: Repetition) -> Sample:
    """One repetition in memory."""
    return some([task])[0]


def some(tasks: Sequence[Repetition]) -> list[Sample]:
    """Repetitions of one specification in memory; those that can move together do."""
    began = time.process_time()
    task = tasks[0]
    if isinstance(task.run, Computation):
        numbers = task.run(task.variant, task.number, task.seed)
        seconds, curve = time.process_time() - began, numbers.pop("curve", None)
        return [Sample(status="computed", curve=curve, numbers=numbers, seconds=seconds)]
    records = []
    for _, record in make_runs(prepare(task.specification), [task.number for task in tasks]):
        if isinstance(record, PosseError):
            raise record
        records.append(record)
    seconds = (time.process_time() - began) / len(tasks)
    return [sample.of_run(record, task.keep_log, seconds) for record in records]


def run(
    tasks: list[Repetition],
    folder: Path | None,
    done: Callable[[bool], None],
    jobs: int | None = None,
    workers: Any = None,
) -> list[Sample]:
    """All of them, in order; `done` hears of each as it ends, and whether it was kept before.

    `folder`: where they are kept, and found. `workers`: a client of Dask that makes those in
    memory, else `jobs` processes.
    """
    kept = store(folder) if folder is not None else None
    pieces = [Piece(task, task.name if kept else "", kept) for task in tasks]
    return outcomes(pieces, lambda missing: _work(missing, jobs, workers), done)


def keep(
    tasks: list[Repetition],
    folder: Path,
    done: Callable[[bool, bool], None],
    jobs: int | None,
    workers: Any = None,
) -> None:
    """Make those that are not in a folder yet, and leave out what fails.

    `done` hears of each whether it was there, and whether it failed.
    """
    pieces = [Piece(task, task.name, store(folder)) for task in tasks]
    for end in carry_out(pieces, lambda missing: _work(missing, jobs, workers)):
        done(end.before, isinstance(end.outcome, PosseError))


def _work(
    tasks: list[Repetition], jobs: int | None, workers: Any
) -> Iterator[tuple[int, Sample | PosseError]]:
    """In memory on all cores, or on workers; over wires those of one file by the same agents."""
    parts = _together(tasks)
    items = [[tasks[i] for i in places] for places in parts]
    share = on_all_cores(some, items, jobs) if workers is None else on_workers(workers, some, items)
    for part, done in share:
        for i, place in enumerate(parts[part]):
            yield place, done if isinstance(done, PosseError) else done[i]
    wired: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        if _is_wired(task):
            wired.setdefault(json.dumps(task.specification), []).append(place)
    for places in wired.values():
        plan = prepare(tasks[places[0]].specification)
        for index, record in make_runs(plan, [tasks[place].number for place in places]):
            if isinstance(record, PosseError):
                raise record
            keep, seconds = tasks[places[index]].keep_log, record.elapsed_seconds or 0.0
            yield places[index], sample.of_run(record, keep, seconds)


def _together(tasks: list[Repetition]) -> list[list[int]]:
    """The places of those in memory, a few of one specification together if they move together."""
    parts: list[list[int]] = []
    open_parts: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        if _is_wired(task):
            continue
        key = ""
        if isinstance(task.run, dict) and get_system(task.run["system"]).steps is not None:
            key = json.dumps([task.specification, task.keep_log])
        part = open_parts.get(key, [])
        if not key or not part or len(part) == MOST_TOGETHER:
            part = open_parts[key] = []
            parts.append(part)
        part.append(place)
    return parts


def _is_wired(task: Repetition) -> bool:
    return task.engine == "processes" and not isinstance(task.run, Computation)
