"""The power of a verdict: whether the same test could have said otherwise.

A statement is borne out only if its test refutes an alternative that the statement excludes: a
worse rate, a missing factor, a broken variant, play by chance. Some tests carry one: a comparison
by an interval refutes "no difference" whenever it is clear (`Check.excludes`). For the others,
bounds above all, a statement names one (`Statement.excludes`), and the test is made a second time
on what would have been measured then. Where the alternative passes too, or none is named, the
measurement says nothing here.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace

import msgspec

from posse_papers.checks import plan_of
from posse_papers.sample import Sample
from posse_papers.statements import Alternative, Answer, Finding, Lines, Measured, Place, Statement
from posse_systems.algorithms import mean_gaps


def decided(statement: Statement, measured: Measured) -> Finding:
    """What one variant's runs say to a statement, with the power of that."""
    found = statement.check(measured)
    if found.answer not in ("borne out", "says nothing here"):
        return found
    if statement.excludes is None:
        power = found.power or statement.check.excludes
        if found.answer == "borne out" and not power:
            return replace(found, answer="says nothing here", power="no alternative was tried")
        return replace(found, power=power)
    other = statement.check(statement.excludes.instead(measured))
    refuted = other.answer == "not borne out"
    answer: Answer = "borne out" if refuted else "says nothing here"
    passes = "" if refuted else " (not refuted)"
    return Finding(answer, found.said, f"{statement.excludes.text}{passes}: {other.said}")


def beside(text: str, lines: Mapping[str, str]) -> Alternative:
    """As if each line had given what another one did, which was run beside it."""

    def instead(measured: Measured) -> Measured:
        return _with(measured, {
            (line, x): measured.runs[broken, x]
            for line, broken in lines.items()
            for x in measured.places(line)
            if (broken, x) in measured.runs
        })  # fmt: skip

    return Alternative(text, instead)


def multiplied(text: str, lines: Lines, factor: Callable[[float], float]) -> Alternative:
    """As if lines were higher by a factor at each place: a worse rate, a factor that is missing."""

    def instead(measured: Measured) -> Measured:
        return _with(measured, {
            (line, x): [_times(factor(x), sample) for sample in measured.runs[line, x]]
            for line, x in measured.reached(lines)
        })  # fmt: skip

    return Alternative(text, instead)


def by_chance(lines: Lines) -> Alternative:
    """As if all agents had pulled arms evenly at random in each slot, and had learned nothing."""

    def instead(measured: Measured) -> Measured:
        def even(line: str, x: float) -> list[Sample]:
            spec = plan_of(measured, line, x).spec
            found = []
            for number, sample in enumerate(measured.runs[line, x]):
                per_slot = spec.agents.count * float(mean_gaps(spec, number).mean())
                curve = [[t, per_slot * t] for t, _ in sample.curve or []]
                found.append(msgspec.structs.replace(sample, curve=curve, regret=curve[-1][1]))
            return found

        return _with(measured, {(line, x): even(line, x) for line, x in measured.reached(lines)})

    return Alternative("agents that pull evenly at random", instead)


def _with(measured: Measured, runs: Mapping[Place, list[Sample]]) -> Measured:
    """What was measured, with other samples at some points."""
    other = copy(measured)
    other.runs = {**measured.runs, **runs}
    return other


def _times(factor: float, sample: Sample) -> Sample:
    """A sample whose regret, rounds and value are a multiple."""
    return msgspec.structs.replace(
        sample,
        regret=None if sample.regret is None else factor * sample.regret,
        rounds=None if sample.rounds is None else factor * sample.rounds,
        curve=sample.curve and [[t, factor * regret] for t, regret in sample.curve],
        numbers={
            name: factor * number if name == "value" else number
            for name, number in sample.numbers.items()
        },
    )
