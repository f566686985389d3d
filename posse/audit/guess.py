"""Claims that are not about ε: how often an adversary guesses the best arm from its view."""

import re

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.arms import LabMeans
from posse.audit.bounds import ERROR, at_least
from posse.audit.event import Mask, ViewTable, scikit
from posse.audit.neighbours import order
from posse.audit.trials import Bench, run_of
from posse.errors import SpecError
from posse.measure.numbers import number
from posse.plan import Plan
from posse.protocol.privacy import AdversaryView

_TREES, _LEAF = 50, 3

_PLACE = r"\[(\d+)\]"

_MOST = 256
"""The most numbers used: the first ones that vary between runs."""


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """How often a classifier, trained on half of the runs, named the best arm of the others.

    It was right in `hits` of `trials` runs. So its probability is at least `lower_bound`, which is
    too large with probability `error`; `claimed` is the claim's upper bound, None if there is no
    claim. `words` says what it used.
    """

    claimed: float | None
    lower_bound: float
    error: float
    hits: int
    trials: int
    words: str

    @property
    def refuted(self) -> bool:
        """Whether the arm is named more often than claimed."""
        return self.claimed is not None and self.lower_bound > self.claimed

    @property
    def word(self) -> str:
        """The word for it: "refuted", "not refuted" or "nothing is claimed"."""
        if self.claimed is None:
            return "nothing is claimed"
        return "refuted" if self.refuted else "not refuted"

    @property
    def says(self) -> str:
        """The verdict in a sentence."""
        claimed = "" if self.claimed is None else f", claimed at most {number(self.claimed)}"
        return (
            f"the best arm is named in {self.hits:,} of {self.trials:,} runs: with probability at "
            f"least {number(self.lower_bound)}{claimed}; {self.word}"
        )


def guess_best_arm(
    bench: Bench, claimed: float | None, sees: AdversaryView, runs: int, error: float = ERROR
) -> Guess:
    """The verdict on the plan of a bench; `runs` counts both halves.

    The arms are in another order in each run, so that only messages reveal them. A random forest
    learns whether an arm of a run is the best; the likeliest arm is named.
    """
    model = scikit("ensemble").RandomForestClassifier(
        _TREES, min_samples_leaf=_LEAF, random_state=0
    )
    means = _means(bench.plan)
    half = runs // 2
    (learned,) = bench.tables(None, sees, 0, half)
    (tested,) = bench.tables(None, sees, half, half)
    names = [name for name in learned.names if len(np.unique(learned.columns((name,)))) > 1][:_MOST]
    entries, x = _of_arms(learned, tuple(names), len(means))
    model.fit(x.reshape(-1, len(entries)), _is_best(means, 0, half).ravel())
    _, x = _of_arms(tested, tuple(names), len(means))
    likely = model.predict_proba(x.reshape(-1, len(entries)))[:, -1].reshape(half, -1)
    hits = int(_is_best(means, half, half)[np.arange(half), likely.argmax(axis=1)].sum())
    first = np.argsort(-model.feature_importances_)[:3]
    return Guess(
        claimed=claimed,
        lower_bound=float(at_least(hits, half, error)),
        error=error,
        hits=hits,
        trials=half,
        words=f"a random forest over {len(entries)} numbers of each arm, first of them "
        + ", ".join(entries[i] for i in first),
    )


def _means(plan: Plan) -> list[float]:
    """The mean of each arm in the run file; they must be the same for all agents."""
    arms = plan.spec.arms
    means = arms.means if isinstance(arms, LabMeans) else None
    if isinstance(means, list):
        known = [mean for mean in means if not isinstance(mean, list)]
        if len(known) == len(means):
            return known
    raise SpecError("arms.means", "must be one list, whose order an audit changes in each run")


def _is_best(means: list[float], first: int, count: int) -> Mask:
    """Whether an arm of a run is the best, shape (runs, arms)."""
    orders = [order(run_of(number), len(means)) for number in range(first, first + count)]
    is_best: Mask = np.array(orders) == int(np.argmax(means))
    return is_best


def _of_arms(
    table: ViewTable, names: tuple[str, ...], arms: int
) -> tuple[list[str], NDArray[np.float32]]:
    """The features of each arm, shape (runs, arms, numbers), and their names.

    They are the arm's index; all numbers seen; whether each number equals the index; the entries at
    the index in lists; and how many numbers that several agents sent alike equal the index. Missing
    numbers are -1, below all others.
    """
    seen = np.nan_to_num(table.columns(names), nan=-1.0).astype(np.float32)
    lists: dict[str, dict[int, int]] = {}
    for column, name in enumerate(names):
        for match in re.finditer(_PLACE, name):
            entry = f"{name[: match.start()]}[the arm]{name[match.end() :]}"
            lists.setdefault(entry, {})[int(match[1])] = column
    alike = _sent_alike(names)
    features = ["the arm", *names, *(f"{name} is the arm" for name in names), *lists, *alike]
    x = np.full((len(seen), arms, len(features)), -1.0, dtype=np.float32)
    for k in range(arms):
        x[:, k, 0] = k
        x[:, k, 1 : 1 + len(names)] = seen
        x[:, k, 1 + len(names) : 1 + 2 * len(names)] = seen == k
        for i, places in enumerate(lists.values(), start=1 + 2 * len(names)):
            if k in places:
                x[:, k, i] = seen[:, places[k]]
        for i, columns in enumerate(alike.values(), start=1 + 2 * len(names) + len(lists)):
            x[:, k, i] = (seen[:, columns] == k).sum(axis=1)
    return features, x


def _sent_alike(names: tuple[str, ...]) -> dict[str, list[int]]:
    """The columns of a field in all messages of a kind, for fields that several agents sent."""
    columns: dict[str, list[int]] = {}
    senders: dict[str, set[str]] = {}
    for column, name in enumerate(names):
        if match := re.fullmatch(r"(.+) of agent (\d+)'s \w+ (`\w+`)", name):
            entry = f"how many {re.sub(_PLACE, '[…]', match[1])} of {match[3]} are the arm"
            columns.setdefault(entry, []).append(column)
            senders.setdefault(entry, set()).add(match[2])
    return {entry: column for entry, column in columns.items() if len(senders[entry]) > 1}
