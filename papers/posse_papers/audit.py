"""Audits of mechanisms whose telling event is known: counted, and bounded as `posse audit` does.

`audits` has what `posse audit` finds of whole runs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np

from posse.experiments import ERROR, epsilon_at_least, number
from posse_papers.checks import against
from posse_papers.experiment import Computation, Lines, bars, computed
from posse_papers.statements import Finding, Measured, verdict
from posse_papers.worlds import with_runs, world
from posse_systems.algorithms import SeededNoise

QUICK, FULL = 20_000, 200_000
"""Releases on each of the two inputs."""

AUDITED = (
    f"Error rate of an audit {ERROR:g}; {QUICK:,} releases on each input (quick) or {FULL:,}. The "
    "machines are the real ones."
)

audits = partial(
    computed, axes=bars("share of the claimed ε that was found", "mechanism"), limit=1.0
)
"""An experiment whose lines are audits."""


def audit(trials: int, release: Callable[[bool], bool], claimed: float) -> dict[str, Any]:
    """Count `release(changed)`, whether a release on one of the inputs falls into S."""
    hits = sum(release(True) for _ in range(trials))
    others = sum(release(False) for _ in range(trials))
    return counted(hits, others, trials, claimed)


def counted(
    hits: int, others: int, trials: int, claimed: float, delta: float = 0.0
) -> dict[str, Any]:
    """What `hits` in S on one input and `others` on its neighbour show."""
    found = float(epsilon_at_least(hits, others, trials, delta))
    said = (
        f"{hits:,} of {trials:,} releases against {others:,}: ε is at least {number(found)}, "
        f"claimed {number(claimed)}" + ("; not refuted" if found <= claimed else "")
    )
    return numbers_of(found, claimed, found > claimed, said)


def numbers_of(found: float, claimed: float, refuted: bool, said: str) -> dict[str, Any]:
    """The numbers of one audit; "value" is the share of the claim that was found."""
    value = found / claimed if claimed else found
    return {"found": found, "claimed": claimed, "value": value, "refuted": refuted, "said": said}


def mechanisms(named: dict[str, tuple[Any, ...]]) -> Callable[[bool], Lines]:
    """One line per audit: its name -> (function, arguments after the number of trials)."""

    def lines(quick: bool) -> Lines:
        trials = QUICK if quick else FULL
        return {line: Computation(f, trials, *given) for line, (f, *given) in named.items()}

    return lines


def half_the_noise(measured: Measured) -> Measured:
    """As if what was found were twice as much, as it is with half of the noise."""
    return with_runs(measured, {
        point: [
            msgspec.structs.replace(sample, numbers={
                **sample.numbers, **_doubled(sample.numbers)
            })
            for sample in samples
        ]
        for point, samples in measured.runs.items()
    })  # fmt: skip


def _doubled(numbers: dict[str, Any]) -> dict[str, Any]:
    found, claimed = 2 * numbers.get("found", 0.0), numbers.get("claimed", 0.0)
    said = f"ε is at least {number(found)}, claimed {number(claimed)}"
    return {"found": found, "refuted": found > claimed, "said": said}


@against(lambda line: [world("half the noise", half_the_noise)])
def spends(measured: Measured, line: str) -> Finding:
    """A mechanism, a line of audits, spends no more than was claimed."""
    numbers = measured.runs[line, 0.0][0].numbers
    return verdict(not numbers["refuted"], str(numbers["said"]))


def seed(generator: np.random.Generator) -> np.random.Generator:
    """A generator of its own, so that a mechanism's draws do not depend on who else draws."""
    return np.random.default_rng(generator.integers(2**63))


def own_noise(generator: np.random.Generator) -> SeededNoise:
    """The noise of the real machines, with a generator of its own."""
    return SeededNoise(seed(generator))
