"""Whether a run was right, as its record says when it is put together."""

from pathlib import Path

import pytest

import posse
from posse.coordinator.assembly import right
from posse.engines import memory
from posse.plan import prepare
from posse.results.record import RunRecord

SPEC = {
    "system": "mase",
    "agents": {"count": 3},
    "arms": {"kind": "bernoulli", "means": [[0.9, 0.1], [0.2, 0.4], [0.2, 0.4]]},
    "parameters": {"beta": 0.05},
    "engine": {"kind": "memory"},
}

TIED = {"kind": "bernoulli", "means": [0.3, 0.1 + 0.2, 0.1]}
UNKNOWN = {"kind": "csv", "path": "{rank}", "count": 2}


@pytest.mark.parametrize(
    ("arms", "status", "arm", "said"),
    [
        (SPEC["arms"], "identified", 0, True),  # means over the agents are 1.3/3 and 0.9/3
        (SPEC["arms"], "identified", 1, False),
        (SPEC["arms"], "no_consensus", None, False),
        (SPEC["arms"], "horizon", None, None),
        (TIED, "identified", 1, True),
        (UNKNOWN, "identified", 1, None),
    ],
)
def test_the_best_arm_is_that_of_the_greatest_mean_over_agents(arms, status, arm, said):
    spec = posse.parse(SPEC | {"arms": arms})
    assert right(spec, RunRecord(run=0, seed=0, status=status, best_arm=arm)) is said


def test_every_run_is_held_against_its_own_instance():
    drawn = {"kind": "bernoulli", "means": {"random": "uniform", "count": 4}}
    spec = posse.parse(SPEC | {"arms": drawn})
    best = [
        [arm for arm in range(4) if right(spec, RunRecord(run=run, seed=0, best_arm=arm))]
        for run in range(8)
    ]
    assert [len(arms) for arms in best] == [1] * 8
    assert len({arms[0] for arms in best}) > 1


def test_the_summary_has_the_share_and_no_interval_of_students():
    result = posse.run(
        SPEC
        | {"repeat": 3, "agents": {"count": 8}, "arms": {"kind": "bernoulli", "means": [0.9, 0.1]}}
    )
    share = result.summary()["right"]
    assert (share["mean"], share["ci95"], share["n"]) == (1.0, None, 3)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["central", "cooperative-ucb", "tdfs-ucb"])
def test_real_rewards_are_added_up_in_the_lab_alone(system: str, tmp_path: Path) -> None:
    for name in (0, 1, "all"):
        rows = [f"{arm},{0.25 * (arm + 1)}" for arm in range(2) for _ in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["arm,reward", *rows]))
    path = "all.csv" if system == "tdfs-ucb" else "{rank}.csv"
    run = {
        "system": system,
        "agents": {"count": 2},
        "arms": {"kind": "csv", "path": path, "count": 2, "replace": True},
        "parameters": {} if system == "central" else {"horizon": 30},
        "base": str(tmp_path),
    }
    if system == "cooperative-ucb":
        run["topology"] = {"kind": "complete"}
    record = memory.run(prepare(run), 0)
    assert record.regret is None
    # an arm always gives the same, so that its pulls say what was earned
    earned = 0.25 * record.pulls_per_arm[0] + 0.5 * record.pulls_per_arm[1]
    if system == "tdfs-ucb":  # who collides earns nothing
        assert 0 < record.rewards <= earned
    else:
        assert record.rewards == pytest.approx(earned)
    field = {**run, "mode": "field", "privacy": {"reuse": "unlimited"}}
    assert memory.run(prepare(field), 0).rewards is None
