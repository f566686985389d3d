"""`posse simulate`: the real coordinator and agents under drawn faults, in virtual time."""

import argparse
import math
import time
from pathlib import Path

from posse import testing
from posse.cli import paths
from posse.cli.options import FOREIGN, add_jobs, add_set, add_trust, number, plan, seconds
from posse.cli.parser import Parser
from posse.errors import InputError, RunFailed
from posse.gates import files
from posse.gates.decode import Undecodable, from_json
from posse.plan import Plan
from posse.testing.simulator.check import SimulatedTrial, space_time
from posse.testing.simulator.faults import KINDS, InjectedFault


def add(parser: Parser) -> None:
    text = "run file (TOML); without one posse's own systems take turns"
    parser.option("file FILE", text, nargs="?", type=Path)
    add_set(parser, "override a key of the run file")
    add_trust(parser, FOREIGN)
    parser.option("--seeds N", "how many seeds to try", type=number, default=100)
    parser.option("--first SEED", "the first of them", type=number, default=0)
    parser.option("--within SECONDS", "try no more seeds after so long", type=seconds)
    parser.option("--seed SEED", "try this seed alone", type=number)
    parser.option("--faults JSON", "with --seed: these faults, not those that the seed draws")
    text = f"draw only faults of these kinds: {', '.join(KINDS)}"
    parser.option("--kinds KIND,…", text, default="")
    text = "file for a space-time picture of the first failure, or of --seed"
    parser.option("--picture SVG", text, type=Path)
    add_jobs(parser)


def run(options: argparse.Namespace) -> None:
    source: Plan | None = plan(options) if options.file is not None else None
    kinds = tuple(filter(None, options.kinds.split(","))) or KINDS
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise InputError(f"--kinds {', '.join(unknown)}: unknown; known are {', '.join(KINDS)}")
    file = paths.file(options.picture) if options.picture else None
    seeds, faults = range(options.first, options.first + options.seeds), None
    if options.seed is not None:
        seeds = range(options.seed, options.seed + 1)
    if options.faults:
        if options.seed is None:
            raise InputError("--faults needs --seed, the seed whose run they disturb")
        try:
            faults = from_json(options.faults, list[InjectedFault])
        except Undecodable as error:
            raise InputError(f"--faults cannot be read: {error}") from None
    failed = tried = 0
    over = math.inf if options.within is None else time.monotonic() + options.within
    drawn = {"kinds": kinds, "faults": faults, "jobs": options.jobs}
    for trial in testing.simulate(source, seeds=seeds, **drawn):
        failed, tried = failed + bool(trial.violations), tried + 1
        if file is not None and (trial.violations or options.seed is not None):
            files.write(file, space_time(trial))
            file = None
        if trial.violations or options.seed is not None:
            print(describe(trial, options.file))
        if time.monotonic() > over:
            break
    if failed:
        raise RunFailed(f"{failed} of {tried} seeds violate something that must hold")
    print(f"{tried} seeds, and nothing that must hold was violated")


def describe(trial: SimulatedTrial, file: Path | None) -> str:
    """A trial in a few lines, the last of which replays it."""
    lines = [f"seed {trial.seed}: {trial.system}{', with journals' * trial.durable}"]
    lines += [f"  {violation.invariant}: {violation.how}" for violation in trial.violations]
    lines += [f"  {fault}" for fault in trial.faults]
    run_file = f" {file}" if file is not None else ""
    lines.append(f"  posse simulate{run_file} {trial.command} --picture seed-{trial.seed}.svg")
    return "\n".join(lines)
