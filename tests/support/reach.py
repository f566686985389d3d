"""Which errors seeds reach: each `raise` of the rooms that carry a run is a target.

`python -m tests.support.reach --minutes 5` searches: trials that reached something new are kept and
mutated; `reached.json` has them, and what each was the first to reach. The test replays them and
compares, so that the number only grows.
"""

import argparse
import ast
import functools
import importlib
import inspect
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import msgspec

from posse.testing.simulator.check import attempt, own_plan
from posse.testing.simulator.faults import InjectedFault
from tests.support import trials, unreached

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "reached.json"
ROOMS = ("agent", "coordinator", "posse/wire", "posse/durable", "posse/hosts", "posse/engines")
_NOT = ("posse/engines/simulated", "posse/engines/start")
"""The simulator's own errors, and what starts real processes."""


LEAST = 120
"""This many targets are reached by what is kept; it only grows."""

_MAKERS = frozenset({"init", "__init__", "from_reason"})
"""Functions that make an exception for the statement that raises it."""

FOR_EVER = -1
"""As many draws as a trial makes."""


class Target(NamedTuple):
    """A `raise`: its name stays the same while other lines move."""

    name: str
    file: str
    first: int
    last: int


class KeptTrial(msgspec.Struct, frozen=True, omit_defaults=True):
    """A trial, and the targets that it reached first.

    Of kind "faults" it is a seed with its faults (None: those that it draws) in the simulator; of
    another, of `tests.support.trials`, what its chance follows: a seed for some draws, then the
    next.
    """

    reached: list[str]
    kind: str = "faults"
    seed: int = 0
    faults: list[InjectedFault] | None = None
    turns: list[tuple[int, int]] = []


@functools.cache
def targets() -> tuple[Target, ...]:
    """Every `raise` of a new exception in the rooms."""
    return tuple(found for path in _files() for found in _raises(path))


def _files() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if not str(path.relative_to(ROOT)).startswith(_NOT):
                yield path


def _raises(path: Path) -> Iterator[Target]:
    tree = ast.parse(path.read_text())
    counts: dict[str, int] = {}

    def visit(node: ast.AST, place: str) -> Iterator[Target]:
        for child in ast.iter_child_nodes(node):
            within = place
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                within = f"{place}.{child.name}"
            if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
                counts[within] = number = counts.get(within, 0) + 1
                name = f"{path.relative_to(ROOT).with_suffix('')}{within}:{number}"
                yield Target(name, str(path), child.lineno, child.end_lineno or child.lineno)
            yield from visit(child, within)

    return visit(tree, "")


def _classes() -> set[type[BaseException]]:
    """The exceptions of posse and of others that a module of the rooms knows by name."""
    found: set[type[BaseException]] = set()
    for path in _files():
        place = path.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__")
        name = place.replace("/", ".")
        module: ModuleType = importlib.import_module(
            name if name.startswith("posse") else f"posse.{name}"
        )
        found |= {
            value
            for value in vars(module).values()
            if inspect.isclass(value)
            and issubclass(value, Exception)
            and value.__module__ != "builtins"
        }
    return found


@contextmanager
def reaching(*, tracing: bool = False) -> Iterator[set[str]]:
    """The names of the targets that are reached within.

    Seen are exceptions of posse's and others' classes; with `tracing`, which a simulated cluster
    does not bear, of Python's own too.
    """
    lines = {(t.file, line): t.name for t in targets() for line in range(t.first, t.last + 1)}
    real = {name: Path(name).resolve() for name in {t.file for t in targets()}}
    at = {(str(real[file]), line): name for (file, line), name in lines.items()}
    reached: set[str] = set()
    before: dict[type, Any] = {}
    within: dict[CodeType, str] = {}
    """By code that was called, its file if there is a target in it."""

    def watched(kind: type) -> None:
        original = kind.__init__  # type: ignore[misc]
        before[kind] = vars(kind).get("__init__")

        def init(self: Any, *args: Any, **named: Any) -> None:
            frame = sys._getframe(1)
            while frame.f_code.co_name in _MAKERS and frame.f_back is not None:
                frame = frame.f_back
            file = frame.f_code.co_filename
            name = at.get((file, frame.f_lineno))
            if name is None and "posse/" in file:
                name = at.get((str(Path(file).resolve()), frame.f_lineno))
            if name is not None:
                reached.add(name)
            original(self, *args, **named)

        kind.__init__ = init  # type: ignore[misc]

    def traced(frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if code not in within:
            file = str(Path(code.co_filename).resolve()) if "posse" in code.co_filename else ""
            lines = [line for _, _, line in code.co_lines() if (file, line) in at]
            within[code] = file if lines else ""
        file = within[code]
        if event == "exception" and (name := at.get((file, frame.f_lineno))) is not None:
            reached.add(name)
        return traced if file else None

    for kind in _classes():
        watched(kind)
    if tracing:
        sys.settrace(traced)
    try:
        yield reached
    finally:
        sys.settrace(None)
        for kind, own in before.items():
            del kind.__init__
            if own is not None:
                kind.__init__ = own  # type: ignore[method-assign]


def kept() -> list[KeptTrial]:
    """The trials that reached something first."""
    return msgspec.json.decode(KEPT.read_bytes(), type=list[KeptTrial]) if KEPT.exists() else []


def run(trial: KeptTrial) -> set[str]:
    """What a trial reaches."""
    if trial.kind == "faults":
        with reaching() as reached:
            attempt(own_plan(trial.seed), trial.seed, trial.faults)
        return reached
    with (
        tempfile.TemporaryDirectory(prefix="posse-reach-") as folder,
        reaching(tracing=True) as reached,
    ):
        trials.play(trial.kind, trial.turns, Path(folder))
    return reached


def _mutated(faults: Sequence[InjectedFault], chance: random.Random) -> list[InjectedFault]:
    """Some faults earlier or later, longer, of other ends' kinds, twice, or left out."""
    changed = list(faults)
    for _ in range(chance.randint(1, 3)):
        if not changed:
            break
        place = chance.randrange(len(changed))
        fault = changed[place]
        match chance.randrange(4):
            case 0:
                after = max(0, fault.after + chance.randint(-40, 40))
                changed[place] = msgspec.structs.replace(fault, after=after)
            case 1:
                lasts = round(fault.lasts * 10 ** chance.uniform(-1, 1) + 0.001, 3)
                changed[place] = msgspec.structs.replace(fault, lasts=min(lasts, 100.0))
            case 2:
                later = round(chance.expovariate(0.5), 3)
                changed.append(msgspec.structs.replace(fault, later=later))
            case _:
                del changed[place]
    return sorted(changed, key=lambda fault: fault.after)


def garbles(seed: int, chance: random.Random) -> list[InjectedFault]:
    """A peer of the coordinator or of an agent that sends what no honest one would."""
    agents = own_plan(seed).spec.agents.count
    ends = chance.sample(range(-1, agents), 2) if chance.random() < 0.4 else [-1, 0]
    chance.shuffle(ends)
    return [
        InjectedFault(
            what="garbled",
            after=chance.randrange(60),
            ends=tuple(ends),
            lasts=30.0,
            amount=10 ** chance.uniform(-2, 0),
        )
    ]


def _fresh(seed: int, chance: random.Random) -> KeptTrial:
    """A trial that has nothing of others."""
    kind = chance.choice(["faults", *trials.KINDS])
    if kind != "faults":
        return KeptTrial([], kind, turns=[(seed, FOR_EVER)])
    faults = None if chance.random() < 0.5 else garbles(seed, chance)
    return KeptTrial([], seed=seed, faults=faults)


def _like(corpus: Sequence[KeptTrial], seed: int, chance: random.Random) -> KeptTrial:
    """A trial that begins as one that reached something."""
    if not corpus:
        return _fresh(seed, chance)
    parent = chance.choice(corpus)
    if parent.kind == "faults":
        faults = parent.faults
        if faults is None:
            faults = attempt(own_plan(parent.seed), parent.seed).faults
        return msgspec.structs.replace(parent, reached=[], faults=_mutated(faults, chance))
    *begun, (last, _) = parent.turns
    until = int(3 ** chance.uniform(1, 7))
    return msgspec.structs.replace(
        parent, reached=[], turns=[*begun, (last, until), (seed, FOR_EVER)]
    )


def search(minutes: float, first: int, into: Path) -> None:
    """Try fresh seeds and mutants of what reached something; write down what is new."""
    chance, corpus, tried = random.Random(first), kept(), 0
    known = {name for trial in corpus for name in trial.reached}
    until, seed = time.monotonic() + 60 * minutes, first
    while time.monotonic() < until:
        tried += 1
        seed += 1
        trial = _fresh(seed, chance) if tried % 2 else _like(corpus, seed, chance)
        try:
            new = run(trial) - known
            if new and trial.kind != "faults":  # what the same chance does not reach is no finding
                new &= run(trial)
        except Exception as error:  # a mistake of ours, or a mutant that cannot happen
            print(f"FOUND {trial}: {error!r:.300}", flush=True)
            continue
        if new:
            known |= new
            corpus.append(msgspec.structs.replace(trial, reached=sorted(new)))
            print(f"{len(known)} of {len(targets())}: {sorted(new)}", flush=True)
            into.write_bytes(msgspec.json.format(msgspec.json.encode(corpus), indent=1) + b"\n")
    print(f"{tried} trials; {said(known)}")


def said(reached: set[str]) -> str:
    """The number, for people."""
    return f"{len(reached)} of {len(targets())} raise statements are reached by some seed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--first", type=int, default=random.randrange(10**6, 10**9))
    parser.add_argument("--into", type=Path, default=KEPT)
    parser.add_argument(
        "--unreached", action="store_true", help="name what is neither reached nor has a reason"
    )
    options = parser.parse_args()
    if options.unreached:
        known = {name for trial in kept() for name in trial.reached}
        told = {*known, *unreached.names()}
        print(json.dumps([t.name for t in targets() if t.name not in told], indent=1))
        print(said(known))
    else:
        search(options.minutes, options.first, options.into)


if __name__ == "__main__":
    main()
