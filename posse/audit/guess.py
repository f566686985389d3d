"""Claims that are not about ε: how often an adversary guesses the best arm from what it sees."""

import re

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.arms import LabMeans
from posse.audit.bounds import ERROR, at_least
from posse.audit.event import Mask, Table, scikit
from posse.audit.neighbours import order
from posse.audit.trials import Bench, run_of
from posse.errors import SpecError
from posse.measure.numbers import number
from posse.plan import Plan
from protocol.privacy import View

_TREES, _LEAF = 50, 3

_MOST = 256
"""Numbers that are looked at, the first ones that are not always the same."""


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


def guessed(bench: Bench, claimed: float, sees: View, runs: int, error: float = ERROR) -> Guess:
    """The verdict on the plan of a bench; `runs` are those of both halves.

    In each run the arms stand in another order, so that only what is said of an arm tells of it. A
    forest learns of each arm of a run whether it is the best; the likeliest is named.
    """
    model = scikit("ensemble").RandomForestClassifier(
        _TREES, min_samples_leaf=_LEAF, random_state=0
    )
    means = _means(bench.plan)
    half = runs // 2
    learned, tested = bench.own(sees, 0, half), bench.own(sees, half, half)
    names = [name for name in learned.names if len(np.unique(learned.columns((name,)))) > 1][:_MOST]
    told, x = _of_arms(learned, tuple(names), len(means))
    model.fit(x.reshape(-1, len(told)), _is_best(means, 0, half).ravel())
    _, x = _of_arms(tested, tuple(names), len(means))
    likely = model.predict_proba(x.reshape(-1, len(told)))[:, -1].reshape(half, -1)
    hits = int(_is_best(means, half, half)[np.arange(half), likely.argmax(axis=1)].sum())
    first = np.argsort(-model.feature_importances_)[:3]
    return Guess(
        claimed=claimed,
        found=float(at_least(hits, half, error)),
        error=error,
        hits=hits,
        trials=half,
        words=f"a random forest over {len(told)} numbers of each arm, first of them "
        + ", ".join(told[i] for i in first),
    )


def _means(plan: Plan) -> list[float]:
    """Of each arm of the run file, the same for all agents."""
    arms = plan.spec.arms
    means = arms.means if isinstance(arms, LabMeans) else None
    if isinstance(means, list):
        known = [mean for mean in means if not isinstance(mean, list)]
        if len(known) == len(means):
            return known
    raise SpecError("arms.means", "must be one list, whose order an audit changes in each run")


def _is_best(means: list[float], first: int, count: int) -> Mask:
    """Of each run and arm whether it is the best, shape (runs, arms)."""
    orders = [order(run_of(number), len(means)) for number in range(first, first + count)]
    found: Mask = np.array(orders) == int(np.argmax(means))
    return found


def _of_arms(
    table: Table, names: tuple[str, ...], arms: int
) -> tuple[list[str], NDArray[np.float32]]:
    """What is said of each arm, shape (runs, arms, numbers), with names.

    Its number, all that was seen, what of that is its number, and what stands in its place in
    lists. What a run does not have lies below all that runs have.
    """
    seen = np.nan_to_num(table.columns(names), nan=-1.0).astype(np.float32)
    lists: dict[str, dict[int, int]] = {}
    for column, name in enumerate(names):
        for found in re.finditer(r"\[(\d+)\]", name):
            of = f"{name[: found.start()]}[the arm]{name[found.end() :]}"
            lists.setdefault(of, {})[int(found[1])] = column
    told = ["the arm", *names, *(f"{name} is the arm" for name in names), *lists]
    x = np.full((len(seen), arms, len(told)), -1.0, dtype=np.float32)
    for k in range(arms):
        x[:, k, 0] = k
        x[:, k, 1 : 1 + len(names)] = seen
        x[:, k, 1 + len(names) : 1 + 2 * len(names)] = seen == k
        for i, places in enumerate(lists.values(), start=1 + 2 * len(names)):
            if k in places:
                x[:, k, i] = seen[:, places[k]]
    return told, x
