"""What the lab knows by the means; tests/results/test_verdict.py simulates random players."""

from typing import Any

import pytest

from posse.engines import memory
from posse.plan import prepare
from posse.results.verdict import UNKNOWN, Truth
from posse.system.bounds import means_table
from posse.system.truth import truth_of
from tests.support.runfile import describe_run


def truth(**changes: Any) -> tuple[Truth, Any]:
    raw = describe_run("parallel-ucb", 4, [0.9, 0.1], engine="memory")
    plan = prepare(raw | {"parameters": {"horizon": 400}} | changes)
    record = memory.run(plan, 0)
    return truth_of(plan.spec, plan.system, plan.parameters, record), (plan, record)


def test_each_agent_is_held_against_its_own_means() -> None:
    table = [[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.2, 0.3]]
    told, (plan, record) = truth(arms={"kind": "bernoulli", "means": table})
    means = means_table(plan.spec, 0)
    good = sum(means[n][arm] == means[n].max() for n, arm in enumerate(record.answers))
    assert told.own_best == (good, 4)
    assert good >= 3
    assert told.random_regret == pytest.approx(400 * (0.4 + 0.4 + 0 + 0.05))


def test_nothing_is_known_without_means() -> None:
    arms = {"kind": "bernoulli", "means": [0.9, 0.1]}
    told, (plan, record) = truth(arms=arms)
    assert told != UNKNOWN
    record.regret = None
    assert truth_of(plan.spec, plan.system, plan.parameters, record) == UNKNOWN
    assert told.random_regret == pytest.approx(4 * 400 * 0.4)
