"""Steps of proofs as inequalities: what is on the left over what is on the right, at most 1."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from posse_papers.checks import at_most, inside
from posse_papers.experiment import Axes, Computation, Experiment, computed
from posse_papers.statements import Check, Mutant, Statement, claim
from posse_papers.worlds import multiplied, replaced


@dataclass(frozen=True)
class Step:
    """An inequality of a proof, or an equality (`exact`).

    `place` is where it stands, "" if it is ours; `ratio` of x is its left side over its right one,
    `at` the places x where it is computed, and `given` the conditions under which it is claimed.
    `wrong` has its ratio in wrong worlds besides those of every step.
    """

    text: str
    place: str
    ratio: Callable[..., float]
    at: tuple[Any, ...]
    given: str = ""
    exact: bool = False
    wrong: tuple[tuple[str, Callable[..., float]], ...] = ()

    @property
    def line(self) -> str:
        """Its name among the lines of an experiment."""
        return f"{self.place or 'ours'}: {self.text}"[:60]

    @property
    def check(self) -> Check:
        """It holds to the last digit at every place; wrong worlds have a smaller right side."""
        if self.exact:
            return inside(self.line, 1 - 1e-9, 1 + 1e-9)
        return Check(at_most(self.line, 1.0).decide, tuple(map(self._smaller, (0.8, 0.5, 0.1))))

    def _smaller(self, share: float) -> Mutant:
        return multiplied(f"the right side {share:g} of it", self.line, 1 / share)

    @property
    def statement(self) -> Statement:
        """What is claimed."""
        given = f", given {self.given}" if self.given else ""
        worlds = tuple(replaced(name, self.line, wrong) for name, wrong in self.wrong)
        return claim(self.text + given, self.place, self.check, wrong=worlds)


def steps(
    name: str, figure: str, title: str, proof: Iterable[Step], at: Callable[[int, Any], float],
    assumed: str,
) -> Experiment:  # fmt: skip
    """An experiment of steps. `at`: the ratio of the n-th at a place, a function of a module."""
    known = list(proof)
    return computed(
        name, figure, title, *(step.statement for step in known),
        lines={
            step.line: {place(x): Computation(at, n, x) for x in step.at}
            for n, step in enumerate(known)
        },
        axes=Axes("what stands in the claim", "left side over right side", "xy"), limit=1.0,
        assumed=f"Exact. {assumed}",
    )  # fmt: skip


def place(x: Any) -> float:
    """Where a step's argument lies on the axis: the first number of several."""
    return float(x[0] if isinstance(x, tuple) else x)
