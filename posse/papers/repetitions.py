"""The repetitions of an experiment's points, on all cores, each kept on disk as soon as it is done.

A repetition is found again by what it is made from: its specification, its number, and the code
that runs it. So an interrupted experiment goes on where it was, and changed code never passes off
old numbers as its own.
"""

import functools
import hashlib
import importlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from posse import api
from posse.engines import memory
from posse.engines.pool import on_all_cores
from posse.errors import PosseError
from posse.papers import sample
from posse.papers.experiment import SEED, Computation
from posse.papers.sample import Sample
from posse.plan import prepare

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("agent", "coordinator", "protocol", "topologies", "posse")
_NOT_RUN = ("papers", "report", "cli")
"""Parts of `posse` that no run in the lab depends on."""


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """Run `number` of a specification, or of a computation; `folder`: where it is kept."""

    run: dict[str, Any] | Computation
    variant: str
    engine: str
    number: int
    keep_log: bool
    folder: Path | None

    @property
    def specification(self) -> dict[str, Any]:
        """What is run, without how often."""
        assert isinstance(self.run, dict)
        return {
            **self.run,
            "seed": SEED,
            "variant": self.variant,
            "engine": {"kind": self.engine},
        }

    @property
    def identity(self) -> str:
        """What is run, in which variant."""
        what = self.run.identity() if isinstance(self.run, Computation) else self.run
        return json.dumps([what, self.variant], sort_keys=True)

    @functools.cached_property
    def path(self) -> Path | None:
        """The file of this repetition."""
        if self.folder is None:
            return None
        if isinstance(self.run, Computation):
            made_from: Any = [self.run.identity(), _digest(self.run.module), self.variant]
        else:
            made_from = [self.specification, self.keep_log]
        text = json.dumps([made_from, self.number, _code()], sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.msgpack"


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a repetition gave, and the processor seconds it took."""

    sample: Sample
    seconds: float


@functools.cache
def _code() -> str:
    """A digest of all code that runs depend on."""
    found = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((_ROOT / room).rglob("*.py")):
            part = path.relative_to(_ROOT / room).parts[0]
            if room == "posse" and part in _NOT_RUN:
                continue
            found.update(path.read_bytes())
    return found.hexdigest()


@functools.cache
def _digest(module: str) -> str:
    """A digest of a module's text, and of what it takes from other modules of the papers."""
    loaded = importlib.import_module(module)
    taken = {str(getattr(thing, "__module__", "")) for thing in vars(loaded).values()}
    found = hashlib.sha256()
    for name in sorted({module} | {name for name in taken if name.startswith("posse.papers")}):
        path = importlib.import_module(name).__file__
        assert path is not None
        found.update(Path(path).read_bytes())
    return found.hexdigest()


def kept(task: Repetition) -> Done | None:
    """The repetition from disk; None if it is not there, or only half of it."""
    if task.path is None or not task.path.is_file():
        return None
    try:
        return msgspec.msgpack.decode(task.path.read_bytes(), type=Done)
    except msgspec.DecodeError:
        return None


def _keep(task: Repetition, done: Done) -> Done:
    if task.path is not None:
        task.path.parent.mkdir(parents=True, exist_ok=True)
        half = task.path.with_suffix(f".{task.number}.half")
        half.write_bytes(msgspec.msgpack.encode(done))
        half.replace(task.path)
    return done


def one(task: Repetition) -> Done:
    """Run one repetition in memory and keep it."""
    began = time.process_time()
    if isinstance(task.run, Computation):
        found = Sample(status="computed", numbers=task.run(task.variant, task.number))
    else:
        record = memory.run(prepare(task.specification), task.number)
        found = sample.of_run(record, task.keep_log)
    return _keep(task, Done(sample=found, seconds=time.process_time() - began))


def run(
    tasks: list[Repetition], observe: Callable[[int, int], None], jobs: int | None = None
) -> list[Done]:
    """All of them, in order; `observe(done, of)` is told as they end."""
    found: dict[int, Done] = {}
    for index, task in enumerate(tasks):
        if (done := kept(task)) is not None:
            found[index] = done
    observe(len(found), len(tasks))
    missing = [index for index in range(len(tasks)) if index not in found]
    wires = [i for i in missing if tasks[i].engine == "processes" and _is_run(tasks[i])]
    cores = [i for i in missing if i not in set(wires)]
    for place, outcome in on_all_cores(one, [tasks[i] for i in cores], jobs):
        if isinstance(outcome, PosseError):
            raise outcome
        found[cores[place]] = outcome
        observe(len(found), len(tasks))
    for index, done in _over_wires(tasks, wires):
        found[index] = done
        observe(len(found), len(tasks))
    return [found[index] for index in range(len(tasks))]


def _is_run(task: Repetition) -> bool:
    return not isinstance(task.run, Computation)


def _over_wires(tasks: list[Repetition], wanted: list[int]) -> Iterator[tuple[int, Done]]:
    """Those of one specification by the same agents' processes, one specification after another."""
    by_run: dict[str, list[int]] = {}
    for index in wanted:
        by_run.setdefault(json.dumps(tasks[index].specification, sort_keys=True), []).append(index)
    for indices in by_run.values():
        last = max(tasks[i].number for i in indices)
        spec = prepare({**tasks[indices[0]].specification, "repeat": last + 1})
        records = api.run(spec).runs
        for index in indices:
            task, record = tasks[index], records[tasks[index].number]
            seconds = record.elapsed_seconds or 0.0
            found = sample.of_run(record, task.keep_log)
            yield index, _keep(task, Done(sample=found, seconds=seconds))
