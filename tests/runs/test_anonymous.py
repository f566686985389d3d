"""Anonymous bandits, run: every observation covers at least C users (Esfandiari et al. 2022)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.agent.masking import Masker
from posse.engines.processes import ProcessEngine
from posse_systems.esfandiari2022.anonymity import check
from tests.support.anonymous import SYSTEMS, run, spec
from tests.support.lossy import lossy
from tests.support.runs import assert_same_run, detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("anonymous", {}),
        ("anonymous", {"aggregation": "sink"}),
        ("anonymous", {"decomposition": "random", "feedback": "demand", "horizon": 500}),
        ("anonymous", {"decomposition": "greedy", "horizon": 900}),
        ("explore-then-commit", {}),
        ("explore-then-commit", {"aggregation": "sink"}),
        ("parallel-ucb", {}),
    ],
)
def test_runs_are_anonymous_and_account_for_every_round(
    system: str, parameters: dict[str, Any]
) -> None:
    one = spec(system, parameters=parameters)
    record = run(one)  # which looks at what the server saw
    horizon = one.spec.parameters["horizon"]
    assert (record.status, record.best_arm, record.slots) == ("horizon", None, horizon)
    assert record.pulls_per_agent == [horizon] * 20
    assert not record.refused
    assert record.regret == pytest.approx(sum(record.regret_per_agent))


def with_losses(seed: int) -> tuple[Any, list[str]]:
    """Up to two of 12 users are lost from one group of 5 and more; what the server could see."""
    order = np.random.default_rng(seed)
    one = spec(
        agents=12,
        parameters={"horizon": 400, "group_size": 2, "dropouts": 2},
        engine={"on_missing": "continue"},
    )
    heard: list[tuple[int | None, int | None, bytes]] = []
    lost = order.choice(12, 2, replace=False).tolist()
    losses = dict(zip(lost, order.integers(20, 90, 2).tolist(), strict=True))
    record = lossy(one, losses, order, heard)
    seen = check(heard, 2, 16, dropouts=2)
    assert seen.count
    return record, seen.violations


@pytest.mark.parametrize("seed", range(6))
def test_groups_do_without_lost_members_and_no_sum_covers_fewer_than_c(seed: int) -> None:
    record, violations = with_losses(seed)
    assert (record.status, violations) == ("horizon", [])
    assert len(record.dismissed) == 2
    assert not record.log.get("repeated")
    assert sorted(detail(record).vanished) == sorted(record.dismissed)


def test_masks_with_members_that_are_there_are_found_if_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def all_of_them(
        self: Masker, number: int, group: tuple[int, ...], survivors: tuple[int, ...], width: int
    ) -> Any:
        self.survivors = frozenset(survivors)
        words = self._shared_masks(number, group, np.ones(len(group) - 1, dtype=bool), width)
        words[1 + group.index(self.rank)] = 0
        return words

    monkeypatch.setattr(Masker, "rest", all_of_them)
    assert any("unhidden" in said for said in with_losses(2)[1])


@pytest.mark.parametrize(
    ("system", "kind"), [*((system, "memory") for system in SYSTEMS), ("anonymous", "processes")]
)
def test_wall_clock(system: str, kind: str) -> None:
    one = spec(
        system,
        agents=8,
        parameters={"horizon": 300},
        engine={"clock": "wall", "kind": kind, "deadline": 20.0},
    )
    if kind == "memory":
        record = run(one)
    else:
        with ProcessEngine(one) as engine:
            record = engine.run(one, 0)
    assert record.status == "horizon"
    assert record.pulls == 8 * 300
    assert detail(record).rewards[-1][0] == 300


@pytest.mark.slow
@pytest.mark.parametrize("system", ["anonymous", "explore-then-commit"])
def test_every_user_finds_its_own_arm(system: str) -> None:
    means = [[0.95 if k == n % 3 else 0.05 for k in range(3)] for n in range(21)]
    one = spec(
        system,
        agents=21,
        arms={"kind": "bernoulli", "means": means},
        parameters={"horizon": 6_000},
    )
    record = run(one)
    assert record.answers == [n % 3 for n in range(21)]


def test_regret_is_against_each_users_own_best_arm() -> None:
    means = [[0.9, 0.2, 0.5] if n % 2 else [0.1, 0.7, 0.4] for n in range(16)]
    one = spec("explore-then-commit", agents=16, arms={"kind": "bernoulli", "means": means})
    record = run(one)
    explored = detail(record).explored_rounds
    assert 0 < explored < 1_200
    for n, regret in enumerate(record.regret_per_agent):
        gaps = max(means[n]) - np.array(means[n])
        # a sweep plays every arm alike, and then the answer alone
        expected = explored / 3 * gaps.sum() + (1_200 - explored) * gaps[record.answers[n]]
        assert regret == pytest.approx(expected)


def test_rewards_over_time_are_those_that_were_earned() -> None:
    one = spec("anonymous", arms={"kind": "bernoulli", "means": [1.0, 1.0, 1.0]})
    for t, earned in detail(run(one)).rewards:
        assert earned == pytest.approx(20 * t)


def test_the_record_says_what_was_assigned() -> None:
    told = detail(run(spec()))
    assert [row.batch for row in told.batches] == [1, 2]
    for row in told.batches:
        assert row.demand <= row.assignments <= row.demand + 61
        assert row.distinct <= row.assignments
    assert all(4 <= size <= 7 for size in told.group_sizes)
    assert told.feedback_used > 0
    assert "passes on the public keys" in told.trust
    assert "first member" in detail(run(spec(parameters={"aggregation": "sink"}))).trust


def test_a_broken_cluster_assumption_is_named_and_the_run_goes_on() -> None:
    # two users alone want arm 2; the others drop it after the first batch
    means = [[0.02, 0.02, 0.98] if n < 2 else [0.9, 0.9, 0.02] for n in range(14)]
    changes: dict[str, Any] = {
        "agents": 14,
        "arms": {"kind": "bernoulli", "means": means},
        "parameters": {"horizon": 8_000, "cluster_size": 4},
    }
    record = run(spec(**changes))
    assert 2 in {arm for arms in detail(record).no_feedback.values() for arm in arms}
    assert record.answers[:2] == [2, 2]
    printed = run(spec(**changes, variant="printed"))
    assert detail(printed).explored_rounds < detail(record).explored_rounds
    assert detail(printed).no_feedback


@pytest.mark.slow
def test_agents_whose_rewards_run_out_vanish_from_a_run_that_goes_on(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    for n in range(10):
        rows = 30 if n == 4 else 400
        lines = [f"{k},{int(generator.random() < 0.5)}" for k in range(2) for _ in range(rows)]
        (tmp_path / f"log-{n}.csv").write_text("arm,reward\n" + "\n".join(lines) + "\n")
    one = spec(
        "explore-then-commit",
        agents=10,
        arms={"kind": "csv", "path": "log-{rank}.csv", "count": 2},
        base=str(tmp_path),
        parameters={"horizon": 400},
    )
    record = run(one)
    assert detail(record).vanished == [4]
    # its own time, whoever was heard before: one pull a slot
    assert record.log["vanished"] == [[record.pulls_per_agent[4], 4]]
    assert list(record.exhausted) == [4]
    assert record.status == "horizon"
    assert [arm is None for arm in record.answers] == [n == 4 for n in range(10)]
    with ProcessEngine(one) as engine:
        assert_same_run(record, engine.run(one, 0))
