"""Wrong worlds, made by code from what was measured or run beside it.

A statement is borne out only if its test refutes a wrong world that the statement excludes: a worse
rate, a missing factor, a broken variant, play by chance. Each kind of check brings such worlds
along (checks.py), and a statement names its own (`wrong`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy

import msgspec
import numpy as np

from posse.experiments import Plan, prepare
from posse_papers.experiment import SEED
from posse_papers.sample import Sample
from posse_papers.statements import Lines, Measured, Mutant, Place, each
from posse_systems.algorithms import mean_gaps

_DEALS = 200
"""Draws of a world without a difference."""


def plan_of(measured: Measured, line: str, x: float = 0.0) -> Plan:
    """The plan of the runs of a point."""
    return prepare(
        {**measured.settings[line, x], "seed": measured.seed, "variant": measured.variant}
    )


def world(text: str, made: Callable[[Measured], Measured]) -> Mutant:
    """A wrong world that is made from what was measured."""
    return Mutant(text, lambda measured: [made(measured)])


def with_runs(measured: Measured, runs: Mapping[Place, list[Sample]]) -> Measured:
    """What was measured, with other samples at some points."""
    other = copy(measured)
    other.runs = {**measured.runs, **runs}
    return other


def beside(text: str, lines: Mapping[str, str]) -> Mutant:
    """As if each line had given what another one did, which was run beside it."""
    return world(text, lambda measured: with_runs(measured, {
        (line, x): measured.runs[broken, x]
        for line, broken in lines.items()
        for x in measured.places(line)
        if (broken, x) in measured.runs
    }))  # fmt: skip


def same(text: str, lines: Lines, other: str) -> Mutant:
    """As if lines had given what another one did, where a test has nothing to contradict."""
    return Mutant(text, beside(text, dict.fromkeys(each(lines), other)).worlds, null=True)


def changed(
    text: str, lines: Lines, change: Callable[[Measured, Place], tuple[float, float]]
) -> Mutant:
    """As if each number of a point were a multiple of what it is, and something more."""

    def made(measured: Measured) -> Measured:
        other = copy(measured)
        other.changed = {**measured.changed}
        other.runs = {**measured.runs}
        for point in measured.reached(lines):
            times, more = change(measured, point)
            old = measured.changed.get(point, (1.0, 0.0))
            other.changed[point] = (times * old[0], times * old[1] + more)
            other.runs[point] = [
                msgspec.structs.replace(
                    sample, curve=sample.curve and [[t, times * r + more] for t, r in sample.curve]
                )
                for sample in measured.runs[point]
            ]
        return other

    return world(text, made)


def multiplied(text: str, lines: Lines, factor: float | Callable[[float], float]) -> Mutant:
    """As if lines were higher by a factor at each place: a worse rate, a factor that is missing."""
    return changed(text, lines, lambda measured, point: (
        factor(point[1]) if callable(factor) else factor, 0.0
    ))  # fmt: skip


def replaced(text: str, lines: Lines, value: Callable[[float], float]) -> Mutant:
    """As if lines had other numbers at each place."""
    return changed(text, lines, lambda measured, point: (0.0, value(point[1])))


def shaped(text: str, lines: Lines, shape: Callable[[float], float]) -> Mutant:
    """As if regret had grown over time as `of` the share of the time that has passed."""

    def bent(sample: Sample) -> Sample:
        curve = sample.curve or [[1.0, 0.0]]
        end, last = curve[-1]
        return msgspec.structs.replace(sample, curve=[[t, last * shape(t / end)] for t, _ in curve])

    return world(text, lambda measured: with_runs(measured, {
        point: [bent(sample) for sample in measured.runs[point]]
        for point in measured.reached(lines)
    }))  # fmt: skip


def dealt(lines: Callable[[Measured], list[list[Place]]]) -> Mutant:
    """As if there were no difference: the runs of compared points, dealt anew among them.

    Runs of equal number stay together where points were run equally often, and instances with them.
    """

    def worlds(measured: Measured) -> list[Measured]:
        generator = np.random.default_rng(SEED)
        return [one(measured, generator) for _ in range(_DEALS)]

    def one(measured: Measured, generator: np.random.Generator) -> Measured:
        runs: dict[Place, list[Sample]] = {}
        for points in lines(measured):
            groups = [measured.runs[point] for point in points]
            if all(len(set(measured.values(*point))) == 1 for point in points):
                # exact numbers: nothing is left to chance
                runs |= {point: [groups[0][0]] * len(measured.runs[point]) for point in points}
                continue
            sizes = {len(group) for group in groups}
            if len(sizes) == 1:
                mixed = [
                    [row[i] for i in generator.permutation(len(row))]
                    for row in zip(*groups, strict=True)
                ]
                given = [list(column) for column in zip(*mixed, strict=True)]
            else:
                pool = [sample for group in groups for sample in group]
                order = iter(generator.permutation(len(pool)))
                given = [[pool[next(order)] for _ in group] for group in groups]
            runs |= dict(zip(points, given, strict=True))
        return with_runs(measured, runs)

    return Mutant("no difference (runs dealt anew)", worlds, null=True)


def at_odds(text: str, odds: float) -> Mutant:
    """As if what is counted happened with another probability."""

    def made(measured: Measured) -> Measured:
        other = copy(measured)
        other.odds = odds
        return other

    return world(text, made)


def by_chance(lines: Lines) -> Mutant:
    """As if all agents had pulled arms evenly at random in each slot, and had learned nothing."""

    def even(measured: Measured, line: str, x: float) -> list[Sample]:
        spec = plan_of(measured, line, x).spec
        found = []
        for number, sample in enumerate(measured.runs[line, x]):
            per_slot = spec.agents.count * float(mean_gaps(spec, number).mean())
            curve = [[t, per_slot * t] for t, _ in sample.curve or []]
            found.append(msgspec.structs.replace(sample, curve=curve, regret=curve[-1][1]))
        return found

    return world("play by chance", lambda measured: with_runs(measured, {
        point: even(measured, *point) for point in measured.reached(lines)
    }))  # fmt: skip
