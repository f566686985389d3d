"""Best-arm identification, run (Rio et al. 2023)."""

from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest

import posse
from posse.engines import memory
from posse.errors import RunFailed, SpecError
from posse.plan import prepare
from posse.spec.activity import ActivitySpec
from posse.spec.runfile import AgentsSpec
from tests.support.runs import spec


def test_the_log_adds_up() -> None:
    record = memory.run(spec("mase", agents=32), 0)
    votes = np.array(record.log["votes"])
    assert (np.diff(votes[:, 0]) >= 0).all()
    counts = {k: int((votes[:, 2] == k).sum()) for k in range(10)}
    gone = [int(arm) for _, arm in record.log["eliminations"]]
    assert len(gone) == len(set(gone)) == 9
    assert all(counts[k] >= 5 for k in gone)
    assert len({(agent, arm) for _, agent, arm in record.log["votes"]}) == len(votes)
    assert record.pulls == sum(record.pulls_per_agent) == sum(record.pulls_per_arm)
    assert record.rounds == sum(record.activations_per_agent)
    gaps = 0.7 - np.array([0.7, 0.5, 0.3] + [0.1] * 7)
    assert record.regret == pytest.approx(float(gaps @ record.pulls_per_arm))
    assert record.regret_curve is not None
    assert record.regret_curve[-1] == [record.rounds, pytest.approx(record.regret)]
    data = record.communication.data.kinds
    assert data["Eliminated"].messages % 32 == 0


@pytest.mark.parametrize(
    ("system", "rows"),
    [("mase", 0), ("dp-mase", 0), ("dp-mase", 40), ("central", 0), ("independent", 0)],
)
def test_agents_whose_rewards_are_used_up_before_anything_was_said_have_no_answer(
    tmp_path: Path, system: str, rows: int
) -> None:
    for rank in range(6):
        log = "".join(f"{arm},{arm}\n" for arm in (0, 1) for _ in range(rows))
        (tmp_path / f"log-{rank}.csv").write_text("arm,reward\n" + log)
    run = spec(
        system,
        agents=6,
        arms={"kind": "csv", "path": "log-{rank}.csv", "count": 2},
        base=str(tmp_path),
    )
    record = memory.run(run, 0)
    assert (record.status, record.best_arm, record.answered) == ("exhausted", None, False)
    assert sorted(record.exhausted) == list(range(6))
    assert "rewards left" in record.exhausted[0]


def test_votes_that_are_all_withheld_are_no_rewards_that_ran_out() -> None:
    parameters = {"eta": 0.5, "xi": 0.9999}
    arms = {"kind": "bernoulli", "means": [0.9, 0.1]}
    run = spec("corrupted-elimination", agents=30, arms=arms, parameters=parameters, seed=1)
    record = memory.run(run, 0)
    assert (record.status, record.best_arm, record.exhausted) == ("no_consensus", None, {})


@pytest.mark.parametrize("means", [[0.5, 0.5], [0.5, 0.4999999]])
@pytest.mark.parametrize("engine", ["memory", "processes"])
def test_arms_that_cannot_be_told_apart_end_a_run_by_that_cause(
    engine: Literal["memory", "processes"], means: list[float]
) -> None:
    plan = spec("dp-mase", agents=8, arms={"kind": "bernoulli", "means": means})
    sentence = (
        r"agent \d: epoch 2\d would take it beyond 2\^53 pulls: the means of the 2 arms left "
        "cannot be told apart at this epsilon, their gap is too small or zero; .*"
    )
    with pytest.raises(RunFailed, match=rf"^{sentence}$"):
        posse.run(plan, engine=engine)


@pytest.mark.parametrize(
    ("replace", "words"), [(False, "where the row stands"), (True, "per reward only")]
)
def test_the_result_says_what_a_guarantee_means_per_record(
    tmp_path: Any, replace: bool, words: str
) -> None:
    rows = "".join(f"{k},{1 - k}\n" for k in (0, 1) for _ in range(2000))
    for rank in range(5):
        (tmp_path / f"log-{rank}.csv").write_text("arm,reward\n" + rows)
    arms = {"kind": "csv", "path": "log-{rank}.csv", "count": 2, "replace": replace}
    run = spec("dp-mase", agents=5, arms=arms, base=str(tmp_path))
    record = memory.run(run, 0)
    assert record.best_arm == 0
    assert record.privacy is not None
    assert words in record.privacy.records


def test_control_traffic_does_not_grow_with_pulls() -> None:
    for epsilon in (0.02, 0.5):
        record = memory.run(spec("dp-mase", agents=64, parameters={"epsilon": epsilon}), 0)
        assert record.privacy is not None
        epochs = sum(record.privacy.releases_per_agent)
        votes, gone = len(record.log["votes"]), len(record.log["eliminations"])
        control = record.communication.control.messages
        assert control <= 3 * (votes + epochs + 64 * gone) + 10 * 64


def test_a_power_law_makes_the_first_agents_busiest() -> None:
    run = spec("central")  # nobody is done before the end
    activity = ActivitySpec(kind="power", gamma=0.8)
    run = prepare(msgspec.structs.replace(run.spec, agents=AgentsSpec(count=32, activity=activity)))
    record = memory.run(run, 0)
    activations = np.array(record.activations_per_agent, dtype=float)
    expected = np.arange(1, 33) ** -0.8
    assert np.corrcoef(activations, expected)[0, 1] > 0.9


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("system", "parameters", "agents", "expected", "tolerance"),
    [
        # rounds on Problem 1; the spread over seeds is a few percent
        ("dp-mase", {"epsilon": 0.05}, 64, 88_000, 0.06),
        ("dp-mase", {"epsilon": 0.25}, 64, 40_000, 0.06),
        slow("dp-mase", {"epsilon": 0.05}, 256, 344_000, 0.04),
        slow("dp-mase", {"epsilon": 0.1}, 256, 173_000, 0.04),
        ("dp-mase", {"epsilon": 0.25}, 256, 154_000, 0.04),
        slow("corrupted-elimination", {"xi": 0.0}, 256, 335_000, 0.04),
        slow("corrupted-elimination", {"xi": 0.05}, 256, 325_000, 0.05),
        slow("corrupted-elimination", {"xi": 0.1}, 256, 308_000, 0.06),
        ("central", {}, 64, 2_050, 0.25),
        ("independent", {}, 64, 64 * 2_050, 0.06),
    ],
)
def test_reference_rounds(
    system: str, parameters: dict[str, Any], agents: int, expected: int, tolerance: float
) -> None:
    run = spec(system, agents=agents, parameters=parameters)
    rounds = np.mean([memory.run(run, number).rounds for number in range(4)])
    assert rounds == pytest.approx(expected, rel=tolerance)


def test_printed_test_that_never_eliminates_is_refused() -> None:
    with pytest.raises(SpecError, match=r"parameters\.xi.*never eliminates"):
        spec("corrupted-elimination", agents=64, variant="printed", parameters={"xi": 0.3})
    spec("corrupted-elimination", agents=64, parameters={"xi": 0.3})
