"""How often the best arm is named by what was seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from posse.audit.event import ViewTable
from posse.audit.guess import guess_best_arm
from posse.audit.neighbours import order
from posse.audit.trials import Bench, run_of
from posse.errors import SpecError
from posse.plan import prepare
from tests.support.planted import planted
from tests.support.runfile import describe_run

MEANS = [0.9, 0.8, 0.7, 0.6]
RUNS = 800


def votes(means):
    return prepare(
        describe_run("corrupted-elimination", 40, means, parameters={"eta": 0.9, "xi": 0.1})
    )


@dataclass(frozen=True)
class Seen(Bench):
    """What is seen of a run is where the arms of the run file stand, by `tell`."""

    tell: Any = None

    def tables(self, case, sees, first, count, keep=()):
        rows = []
        for number in range(first, first + count):
            stands = np.argsort(order(run_of(number), len(MEANS)))  # of the best arm first
            rows.append(self.tell(stands))
        return [ViewTable(tuple(rows[0]), np.array([[*row.values()] for row in rows], dtype=float))]


@pytest.mark.parametrize(
    ("tell", "least", "most"),
    [
        (lambda stands: {"`arm`": stands[0]}, 1.0, 1.0),
        (lambda stands: {f"`means[{k}]`": float(k == stands[0]) for k in range(4)}, 1.0, 1.0),
        (lambda stands: {"`mean`": stands[0] / 8}, 1.0, 1.0),
        # who knows the worst arm has three to choose from, and no neighbour of it is the best
        (lambda stands: {"`arm`": stands[3]}, 0.25, 0.42),
        (lambda stands: {"`none`": 0.0}, 0.15, 0.35),
        # each agent names one of the worst arms, the three together all of them
        (
            lambda stands: {
                f"`arms[0]` of agent {n}'s first `Vote`": stands[1 + (stands[0] + n) % 3]
                for n in range(3)
            },
            1.0,
            1.0,
        ),
    ],
    ids=["named", "in a list", "scaled", "the worst", "nothing", "by several"],
)  # four standard deviations about 1/3 and 1/4 of 400
def test_the_best_arm_is_named_as_often_as_what_is_seen_allows(tell, least, most):
    found = guess_best_arm(Seen(votes(MEANS), tell=tell), 0.5, "messages", RUNS)
    assert least <= found.hits / found.trials <= most
    assert found.refuted == (least == 1.0)


def test_of_several_agents_nothing_is_claimed():
    tell = Seen(votes(MEANS), tell=lambda stands: {"`arm`": stands[0]})
    found = guess_best_arm(tell, None, "agent", 100)
    assert not found.refuted
    assert found.says.startswith("the best arm is named in 50 of 50 runs")
    assert found.says.endswith("; nothing is claimed")


def test_arms_stand_in_the_order_that_is_known():
    """A note says whether arm 0 gave 1, as the better arm always does."""
    plan = prepare(planted("other") | {"arms": {"kind": "bernoulli", "means": [1.0, 0.0]}})
    (table,) = Bench(plan, jobs=1).tables(None, "messages", 0, 20)
    said = table.columns(("`hash of note` of agent 0's first `Told`",))[:, 0]
    better = np.array([order(run_of(number), 2)[0] == 0 for number in range(20)])
    assert 0 < better.sum() < 20
    assert len(np.unique(said[better])) == len(np.unique(said[~better])) == 1
    assert len(np.unique(said)) == 2


def test_means_must_be_one_list():
    drawn = {"kind": "bernoulli", "means": {"random": "uniform", "count": 4}}
    with pytest.raises(SpecError, match="one list"):
        guess_best_arm(Bench(votes(drawn)), 0.5, "messages", 100)
