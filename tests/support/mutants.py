"""Small faults planted in posse's own code, and how many of them seeds of the simulator find.

`make mutants` draws them, each for a copy of the code, and tries fresh seeds until one violates
what must hold. It says of each whether it was found, was run and not found, or was never run.
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
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

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
_STAGES = (30, 200)
"""Seeds for each before any has more: most are found soon."""
_ENDLESS = 120
"""Seconds that one seed may take."""
_RAN = "posse_mutant_ran"
_MARK = f"__import__('builtins').__dict__.setdefault('{_RAN}', True)"
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
    ran: bool
    found: str


class _Planter(ast.NodeTransformer):
    """Counts the candidates within a module's functions, and plants the one that is wanted."""

    def __init__(self, wanted: int = -1) -> None:
        self.found: list[str] = []
        self._wanted = wanted

    def _candidate(self, node: ast.AST, instead: ast.expr | None = None) -> ast.AST | None:
        self.found.append(f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)}")
        if len(self.found) - 1 != self._wanted:
            return None
        mark = ast.parse(_MARK, mode="eval").body
        if instead is None:
            return ast.Expr(mark)
        return ast.Subscript(ast.Tuple([mark, instead], ast.Load()), ast.Constant(1), ast.Load())

    def visit(self, node: ast.AST) -> ast.AST:
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
        changed: ast.AST | None = None
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
    path = root / mutant.file
    tree = _Planter(mutant.number).visit(ast.parse(path.read_text()))
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)))


def _copy(root: Path) -> None:
    for name in _COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignored)


def tried(mutant: Mutant, seeds: range) -> Outcome:
    """Try seeds on a copy of the code with this fault, until one finds it."""
    with tempfile.TemporaryDirectory(prefix="posse-mutant-") as folder:
        root = Path(folder)
        _copy(root)
        plant(mutant, root)
        command = [sys.executable, "-P", "-m", _HERE]
        made = subprocess.run(
            [*command, "--try", str(seeds.start), str(len(seeds))],
            env={**os.environ, "PYTHONPATH": f"{root}:{root / 'systems'}"},
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        return Outcome(*json.loads(made.stdout.splitlines()[-1]))
    except (IndexError, ValueError):
        return Outcome(1, True, (made.stderr.splitlines() or [f"ended: {made.returncode}"])[-1])


_HERE = "tests.support.mutants"


def _try(seeds: range) -> Outcome:
    """In the copy: what these seeds find."""

    def late(*_: object) -> None:
        raise TimeoutError(f"a seed took longer than {_ENDLESS} s")

    signal.signal(signal.SIGALRM, late)
    for seed in seeds:
        signal.alarm(_ENDLESS)
        try:
            violations = attempt(own_plan(seed), seed).violations
            found = "; ".join(f"{v.invariant}: {v.how.splitlines()[-1]}" for v in violations)
        except Exception as error:  # no run without faults has any
            found = f"no undisturbed run: {error!r}"
        if found:
            return Outcome(seed - seeds.start + 1, True, f"seed {seed}: {found:.150}")
    return Outcome(len(seeds), hasattr(builtins, _RAN), "")


def measure(mutants: Sequence[Mutant], first: int, most: int, jobs: int) -> None:
    """Try each until it is found or had its number of seeds; say what came of it."""
    done: dict[Mutant, Outcome] = {}
    left, begun = list(mutants), 0
    for stage in [*(s for s in _STAGES if s < most), most]:
        seeds = range(first + begun, first + stage)
        with ThreadPoolExecutor(jobs) as pool:
            outcomes = pool.map(lambda mutant: tried(mutant, seeds), left)  # noqa: B023
            for mutant, new in zip(left, outcomes, strict=True):
                ran = new.ran or (mutant in done and done[mutant].ran)
                done[mutant] = outcome = Outcome(begun + new.tried, ran, new.found)
                said = outcome.found or ("not found" if ran else "never run")
                print(
                    f"{mutant.file} {mutant.says[:90]!r}: {outcome.tried} seeds: {said}", flush=True
                )
        left, begun = [mutant for mutant in left if not done[mutant].found], stage
        ever = sum(outcome.ran for outcome in done.values())
        print(
            f"{len(done) - len(left)} of {len(done)} found ({ever} run) within {stage} seeds each"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=random.randrange(10**6, 10**9))
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--try", dest="tries", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tries:
        first, count = options.tries
        print(json.dumps(_try(range(first, first + count))))
    else:
        drew = drawn(options.count, options.first)
        measure(drew, options.first, options.seeds, options.jobs)


if __name__ == "__main__":
    main()
