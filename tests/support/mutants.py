"""Small faults planted in posse's own code, and how many of them seeds of the simulator find.

`make mutants` draws them, and runs fresh seeds once to know which of them run which place. Then it
tries each fault in a copy of the code, with the seeds that run it, until one violates what must
hold; others cannot. It says of each whether it was found, was run and not found, or was never run.
"""

import argparse
import ast
import builtins
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from posse.testing.simulator.check import attempt, own_plan
from tests.support.reach import ROOMS, ROOT

_NOT = (
    *("posse/engines/simulated", "posse/engines/start", "posse/engines/inquiry"),
    *("posse/engines/arrays", "posse/wire/relay", "posse/wire/door", "posse/wire/syn_filter"),
    *("posse/wire/inbox_door", "posse/wire/uplink_door", "posse/wire/admission"),
    *("posse/wire/world", "posse/wire/lookup", "posse/wire/resources", "posse/durable/sweep"),
    *("posse/durable/shown", "posse/durable/batch", "posse/durable/directory"),
    *("posse/durable/frames", "posse/durable/lab", "posse/durable/programme", "agent/own_run"),
    *("coordinator/report", "agent/__init__", "coordinator/__init__"),
)
"""The simulator, what it has its own in the place of, and what only writes results."""

_COPIED = ("posse", "agent", "coordinator", "protocol", "topologies", "systems", "tests", "docs")
_ENDLESS = 60
"""Seconds of processor that one seed may take."""
_RAN = "posse_mutants_ran"
"""A set in `builtins` of what ran: the places of mutants in the list that was given."""
_NOTED = f"{_RAN} = __import__('builtins').__dict__.setdefault('{_RAN}', set())"
_AT_ONCE = 50
"""Seeds that a process runs before it is asked for more."""
_PAIRS = (
    *((ast.Eq, ast.NotEq), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)),
    *((ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
)
_OTHER: dict[type, Callable[[], ast.cmpop]] = dict((*_PAIRS, *((b, a) for a, b in _PAIRS)))


class Mutant(NamedTuple):
    """A fault by its place: the file, which of the file's candidates it is, and what it changes."""

    file: str
    number: int
    says: str


class Outcome(NamedTuple):
    """What became of some seeds: how many were tried, and how the last one found it, if it did."""

    tried: int
    found: str


class _Planter(ast.NodeTransformer):
    """Counts the candidates within a module's functions, plants the one that is wanted, and has
    those of `marks` say that they ran, each by its number there."""

    def __init__(self, wanted: int = -1, marks: Mapping[int, int] | None = None) -> None:
        self.found: list[str] = []
        self._wanted, self._marks = wanted, marks or {}

    def _candidate(
        self, node: ast.AST, instead: ast.expr | None = None
    ) -> ast.AST | list[ast.AST] | None:
        number = len(self.found)
        self.found.append(f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)}")
        if number == self._wanted:
            return ast.Pass() if instead is None else instead
        if number not in self._marks:
            return None
        mark = ast.parse(f"{_RAN}.add({self._marks[number]})", mode="eval").body
        if isinstance(node, ast.expr):
            both = ast.Tuple([mark, node], ast.Load())
            return ast.Subscript(both, ast.Constant(1), ast.Load())
        return [ast.Expr(mark), node]

    def visit(self, node: ast.AST) -> Any:
        """Conditions turned, sums cut, and acts left out; never in a raise or an assert."""
        if isinstance(node, ast.Module | ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.ClassDef | ast.FunctionDef):
                    self.visit(part)  # in place
            return node
        made = isinstance(node, ast.FunctionDef) and node.name in {"__init__", "close", "__str__"}
        if made or isinstance(node, ast.Raise | ast.Assert | ast.expr_context | ast.JoinedStr):
            return node
        self.generic_visit(node)
        changed: Any = None
        match node:
            case ast.Compare(left, [op], right) if type(op) in _OTHER:
                changed = self._candidate(node, ast.Compare(left, [_OTHER[type(op)]()], right))
            case ast.BoolOp(op, values):
                other = ast.Or() if isinstance(op, ast.And) else ast.And()
                changed = self._candidate(node, ast.BoolOp(other, values))
            case ast.UnaryOp(ast.Not(), operand):
                changed = self._candidate(node, operand)
            case ast.BinOp(left, ast.Add() | ast.Sub(), _):
                changed = self._candidate(node, left)
            case ast.Expr(ast.Call()) if "LOG." not in ast.unparse(node):
                changed = self._candidate(node)
            case ast.Assign([ast.Attribute()]) | ast.AugAssign():
                changed = self._candidate(node)
        return node if changed is None else changed


def drawn(count: int | None = None, seed: int = 0) -> list[Mutant]:
    """Some of all that could be planted, or (None) every one."""
    every = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if not file.startswith(_NOT):
                planter = _Planter()
                planter.visit(ast.parse(path.read_text()))
                every += [Mutant(file, at, says) for at, says in enumerate(planter.found)]
    return every if count is None else random.Random(seed).sample(every, count)


def plant(mutant: Mutant, root: Path) -> None:
    """Change the file below `root`."""
    _rewrite(root / mutant.file, _Planter(mutant.number), "")


def mark(mutants: Sequence[Mutant], root: Path) -> None:
    """Have the files below `root` say which of these places they run; nothing else changes."""
    for file in {mutant.file for mutant in mutants}:
        marks = {m.number: place for place, m in enumerate(mutants) if m.file == file}
        _rewrite(root / file, _Planter(marks=marks), _NOTED)


def _rewrite(path: Path, planter: _Planter, end: str) -> None:
    tree: ast.Module = planter.visit(ast.parse(path.read_text()))
    tree.body += ast.parse(end).body
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)))


@contextmanager
def _copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="posse-mutant-") as folder:
        for name in _COPIED:  # with the bytecode of what stays as it is
            shutil.copytree(ROOT / name, Path(folder, name), symlinks=True)
        yield Path(folder)


_HERE = "tests.support.mutants"


def _asked(root: Path, what: str, seeds: Sequence[int]) -> Any:
    """What this module says of seeds in a copy of the code; if it says nothing, how it ended."""
    made = subprocess.run(
        [sys.executable, "-P", "-m", _HERE, "--of", what],
        env={**os.environ, "PYTHONPATH": f"{root}:{root / 'systems'}"},
        input=json.dumps([*seeds]),
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return json.loads(made.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return (made.stderr.splitlines() or [f"ended: {made.returncode}"])[-1]


def tried(mutant: Mutant, seeds: Sequence[int]) -> Outcome:
    """Try seeds on a copy of the code with this fault, until one finds it."""
    with _copy() as root:
        plant(mutant, root)
        said = _asked(root, "found", seeds)
    return Outcome(1, said) if isinstance(said, str) else Outcome(*said)


def running(mutants: Sequence[Mutant], seeds: Sequence[int], jobs: int) -> dict[int, list[int]]:
    """Of each seed, which of these places it runs in code without a fault."""
    parts = [seeds[at : at + _AT_ONCE] for at in range(0, len(seeds), _AT_ONCE)]
    with _copy() as root, ThreadPoolExecutor(jobs) as pool:
        mark(mutants, root)
        ran = [part for said in pool.map(partial(_asked, root, "ran"), parts) for part in said]
    return dict(zip(seeds, ran, strict=True))


def _found(seeds: Sequence[int]) -> Outcome:
    """In a copy with a fault: what these seeds find."""

    def late(*_: object) -> None:
        raise TimeoutError(f"a seed took longer than {_ENDLESS} s")

    signal.signal(signal.SIGVTALRM, late)
    for number, seed in enumerate(seeds, 1):
        signal.setitimer(signal.ITIMER_VIRTUAL, _ENDLESS)
        try:
            violations = attempt(own_plan(seed), seed).violations
            found = "; ".join(f"{v.invariant}: {v.how.splitlines()[-1]}" for v in violations)
        except Exception as error:  # no run without faults has any
            found = f"no undisturbed run: {error!r}"
        if found:
            return Outcome(number, f"seed {seed}: {found:.150}")
    return Outcome(len(seeds), "")


def _ran(seeds: Sequence[int]) -> list[list[int]]:
    """In a copy with marks: of each seed, which of them it runs."""
    ran: set[int] = vars(builtins).setdefault(_RAN, set())
    each = []
    for seed in seeds:
        ran.clear()
        attempt(own_plan(seed), seed)
        each.append(sorted(ran))
    return each


def measure(mutants: Sequence[Mutant], seeds: Sequence[int], jobs: int, kept: Path | None) -> None:
    """Try each with the seeds that run it; say what came of it. `kept` has which run which."""
    if kept is not None and kept.exists():
        ran = {int(seed): places for seed, places in json.loads(kept.read_text()).items()}
    else:
        ran = running(mutants, seeds, jobs)
        if kept is not None:
            kept.write_text(json.dumps(ran))

    def of(place: int) -> tuple[list[int], Outcome]:
        of_it = [seed for seed in seeds if place in ran[seed]]
        outcome = tried(mutants[place], of_it) if of_it else Outcome(0, "")
        mutant = mutants[place]
        said = outcome.found or ("not found" if of_it else "never run")
        how = f"{outcome.tried} of {len(of_it)} seeds that run it"
        print(f"{mutant.file} {mutant.says[:90]!r}: {how}: {said}", flush=True)
        return of_it, outcome

    with ThreadPoolExecutor(jobs) as pool:
        outcomes = [*pool.map(of, range(len(mutants)))]
    found = sum(bool(outcome.found) for _, outcome in outcomes)
    run = sum(bool(of_it) for of_it, _ in outcomes)
    print(f"{found} of {len(mutants)} found ({run} run) within {len(seeds)} seeds each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=random.randrange(10**6, 10**9))
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="file that has which seeds run which mutant")
    parser.add_argument("--of", choices=("found", "ran"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of:
        seeds = json.load(sys.stdin)
        print(json.dumps(_found(seeds) if options.of == "found" else _ran(seeds)))
    else:
        drew = drawn(options.count, options.first)
        seeds = range(options.first, options.first + options.seeds)
        measure(drew, seeds, options.jobs, options.kept)


if __name__ == "__main__":
    main()
