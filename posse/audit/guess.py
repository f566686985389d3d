"""Claims that are not about ε: how often an adversary guesses the best arm from what it sees."""

from collections.abc import Sequence

import msgspec
import numpy as np

from posse.arms import LabMeans
from posse.arms.base import RandomMeans
from posse.audit.bounds import at_least
from posse.audit.event import Table, joined, scikit
from posse.audit.trials import Bench
from posse.errors import SpecError
from posse.measure.numbers import number
from posse.plan import Plan, prepare
from protocol.machine import FloatArray
from protocol.privacy import View

_TREES, _LEAF = 50, 3


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """How often a classifier, learned on half of the runs, named the best arm of the other half.

    It named it in `hits` of `trials` runs, so that the probability is at least `found`, too large
    with probability `error`; `claimed` is what it should be at most. `words`: by what it guessed.
    """

    claimed: float
    found: float
    error: float
    hits: int
    trials: int
    words: str

    @property
    def refuted(self) -> bool:
        """Whether it is named more often than was claimed."""
        return self.found > self.claimed

    @property
    def word(self) -> str:
        """Refuted, or not refuted."""
        return "refuted" if self.refuted else "not refuted"

    @property
    def says(self) -> str:
        """The verdict in a sentence."""
        return (
            f"the best arm is named in {self.hits:,} of {self.trials:,} runs: with probability at "
            f"least {number(self.found)}, claimed at most {number(self.claimed)}; {self.word}"
        )


def rotated(plan: Plan) -> list[tuple[int, Plan]]:
    """The plan as often as there are arms, the means moved on by one arm each time.

    Each after its best arm.
    """
    arms = plan.spec.arms
    means = arms.means if isinstance(arms, LabMeans) else None
    if means is None or isinstance(means, RandomMeans) or isinstance(means[0], list):
        raise SpecError("arms.means", "must be one list, of which an audit makes another arm best")
    best, replace = int(np.argmax(means)), msgspec.structs.replace
    turned = [replace(arms, means=means[k:] + means[:k]) for k in range(len(means))]
    return [
        ((best - k) % len(means), prepare(replace(plan.spec, arms=one)))
        for k, one in enumerate(turned)
    ]


def guessed(
    benches: Sequence[tuple[int, Bench]], claimed: float, sees: View, runs: int, error: float
) -> Guess:
    """The verdict on plans, each after its best arm; `runs` are those of each."""
    model = scikit("ensemble").RandomForestClassifier(
        _TREES, min_samples_leaf=_LEAF, random_state=0
    )
    half = max(1, runs // 2)
    learned, named = _seen(benches, sees, 0, half)
    tested, right = _seen(benches, sees, half, half)
    names = learned.names
    model.fit(_filled(learned, names), named)
    hits = int((model.predict(_filled(tested, names)) == right).sum())
    trials = len(right)
    first = np.argsort(-model.feature_importances_)[:3]
    return Guess(
        claimed=claimed,
        found=float(at_least(hits, trials, error)),
        error=error,
        hits=hits,
        trials=trials,
        words=f"a random forest over {len(names)} numbers, first of them "
        + ", ".join(names[i] for i in first),
    )


def _seen(
    benches: Sequence[tuple[int, Bench]], sees: View, first: int, count: int
) -> tuple[Table, FloatArray]:
    """Half of the runs: what was seen, and which arm was the best, shape (runs,)."""
    tables = [bench.own(sees, first, count) for _, bench in benches]
    best = [arm for arm, _ in benches]
    return joined(tables), np.repeat(best, [len(table.values) for table in tables])


def _filled(table: Table, names: tuple[str, ...]) -> FloatArray:
    """What a run does not have lies below all that runs have."""
    return np.nan_to_num(table.columns(names), nan=-1.0)
