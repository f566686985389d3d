"""`posse simulate`: the real coordinator and agents under drawn faults, in virtual time."""

import math
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from posse import testing
from posse.cli import paths
from posse.cli.options import (
    Duration,
    Jobs,
    RunFile,
    SetOptions,
    WholeNumber,
    file_to_write,
    parsed,
)
from posse.errors import InputError, RunFailed
from posse.gates import files
from posse.gates.decode import Undecodable, from_json
from posse.testing.simulator.check import SimulatedTrial, space_time
from posse.testing.simulator.faults import KINDS, InjectedFault


def simulate(
    file: Path | None = None,
    /,
    *,
    settings: SetOptions = SetOptions(),
    seeds: WholeNumber = 100,
    first: WholeNumber = 0,
    within: Duration | None = None,
    seed: WholeNumber | None = None,
    faults: Annotated[str, Parameter(metavar="JSON")] = "",
    kinds: Annotated[str, Parameter(metavar="KIND,…")] = "",
    picture: Annotated[Path | None, parsed(file_to_write, "SVG")] = None,
    jobs: Jobs = Jobs(),
) -> None:
    """Try a run file under thousands of drawn faults.

    Args:
        file: run file (TOML); without one posse's own systems take turns
        seeds: how many seeds to try
        first: the first of them
        within: how long to go on trying further seeds
        seed: try this seed alone
        faults: with --seed: these faults, not those that the seed draws
        kinds: draw only faults of these kinds, such as cut or kill
        picture: file for a space-time picture of the first failure, or of --seed
    """
    source = RunFile(file, settings).plan() if file is not None else None
    chosen = tuple(filter(None, kinds.split(","))) or KINDS
    if unknown := sorted(set(chosen) - set(KINDS)):
        raise InputError(f"--kinds {', '.join(unknown)}: unknown; known are {', '.join(KINDS)}")
    drawing = paths.file(picture) if picture else None
    tries, given = range(first, first + seeds), None
    if seed is not None:
        tries = range(seed, seed + 1)
    if faults:
        if seed is None:
            raise InputError("--faults needs --seed, the seed whose run they disturb")
        try:
            given = from_json(faults, list[InjectedFault])
        except Undecodable as error:
            raise InputError(f"--faults cannot be read: {error}") from None
    failed = tried = 0
    over = math.inf if within is None else time.monotonic() + within
    for trial in testing.simulate(source, seeds=tries, kinds=chosen, faults=given, jobs=jobs.jobs):
        failed, tried = failed + bool(trial.violations), tried + 1
        if drawing is not None and (trial.violations or seed is not None):
            files.write(drawing, space_time(trial))
            drawing = None
        if trial.violations or seed is not None:
            print(describe(trial, file))
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
