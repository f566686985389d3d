"""Sequential tests: what is open after one look is looked at again, with twice the repetitions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from posse_papers.outcome import Judged, Tried
from posse_papers.statements import (
    Check,
    Choice,
    Measured,
    Mutant,
    Place,
    Samples,
    Statement,
)

ERROR = 0.05
"""How often an interval misses at the first look."""

LOOKS = {True: 5, False: 2}
"""How often a test looks, in the quick form and in full; each look has twice the repetitions.

An interval of look k misses with probability .05 / 2^(k-1), so one of all looks with less than .1,
by a union bound, wherever a test stops.
"""


@dataclass
class Test:
    """A test of a statement under one choice, of one form's runs; `read` has what it looked at."""

    statement: Statement
    form: str
    choice: Choice
    check: Check
    found: Tried | None = None
    read: set[Place] = field(default_factory=set)

    @property
    def decided(self) -> bool:
        """Whether another look is of no use."""
        return self.found is not None and (self.found.held != "open" or self.found.final)

    def look(self, measured: Measured, number: int = 1, repetitions: int = 0) -> None:
        """Try it on these runs."""
        runs = Samples(measured.runs)
        seen = replace(measured, runs=runs)
        found = self.found = tried(self.choice, self.check, self.statement.wrong, seen)
        found.looks, found.repetitions, self.read = number, repetitions, runs.read


def every_test(statement: Statement, forms: Iterable[str]) -> list[Test]:
    """The tests of a statement: every choice, for each of these forms that judges it."""
    return [
        Test(statement, form, {**choice, "form": form}, check)
        for form in forms
        if statement.by in ("both", form)
        for choice, check in statement.tests
    ]


def judged(statement: Statement, measured: Mapping[str, Measured]) -> Judged:
    """What the variants that judge a statement say to it at one look, under every choice."""
    tests = every_test(statement, measured)
    for test in tests:
        test.look(measured[test.form])
    return summed_up(statement, tests)


def summed_up(statement: Statement, tests: list[Test]) -> Judged:
    """What all tests of a statement found; forms that found the same are one."""
    by_form: dict[str, list[Tried]] = {}
    for test in tests:
        assert test.found is not None
        by_form.setdefault(test.form, []).append(test.found)
    forms = list(by_form.values())
    for found in forms:
        if statement.by != "both" or len(forms) == 1 or all(_alike(found, f) for f in forms):
            for one in found:
                del one.choice["form"]
            return Judged(text=statement.text, place=statement.place, by=statement.by, found=found)
    found = [one for of_form in forms for one in of_form]
    return Judged(text=statement.text, place=statement.place, by=statement.by, found=found)


def _alike(one: list[Tried], other: list[Tried]) -> bool:
    """Whether two forms of an algorithm gave the same, to the figure."""
    return all(
        (a.held, a.said, a.refuted, a.passed) == (b.held, b.said, b.refuted, b.passed)
        for a, b in zip(one, other, strict=True)
    )


def tried(choice: Choice, check: Check, wrong: tuple[Mutant, ...], measured: Measured) -> Tried:
    """What a check says to one variant's runs, and to the wrong worlds if it holds."""
    found = check(measured)
    result = Tried(choice=choice, held=found.held, said=found.said, final=found.final)
    result.refuted, result.passed = [], []
    for mutant in (*check.wrong, *wrong) if found.held == "holds" else ():
        others = [check(other) for other in mutant.worlds(measured)]
        held = sum(other.held == "holds" for other in others)
        refuted = held <= len(others) / 20 if mutant.null else others[0].held == "fails"
        said = f"holds in {held} of {len(others)}" if mutant.null else others[0].said
        (result.refuted if refuted else result.passed).append(f"{mutant.text}: {said}")
    return result
