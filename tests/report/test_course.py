"""How runs went: each family has the figures of its own terms."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")

from posse import api
from posse.durable.directory import RunDirectory
from posse.families.anonymous import AnonymousDetail
from posse.plan import prepare
from posse.report import course, read
from tests.support import field as support

ARMS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.1]


def series(path: Path, system: str, **changes: Any) -> read.Series:
    raw: dict[str, Any] = {
        "system": system,
        "seed": 5,
        "agents": {"count": 4},
        "arms": {"kind": "bernoulli", "means": ARMS},
        "engine": {"kind": "memory"},
        **support.CASES.get(system, {}),
        **changes,
    }
    plan = prepare(raw)
    RunDirectory(path, plan).open().complete(api.run(plan))
    return read.read(path)


@pytest.mark.parametrize(
    ("system", "names"),
    [
        ("mase", {"regret", "votes", "arms-left"}),
        ("tdfs-ucb", {"regret", "collisions"}),
        ("ucb1", {"regret"}),
        ("parallel-ucb", {"regret", "rewards"}),
    ],
)
def test_every_family_shows_its_own(system: str, names: set[str], tmp_path: Path) -> None:
    found = course.section(series(tmp_path, system))
    assert found is not None
    assert {chart.name for chart in found.charts} == names


@pytest.mark.parametrize("system", ["cdp-mab", "ddp-mab"])
def test_arms_left_of_federated_elimination(system: str, tmp_path: Path) -> None:
    """By the server's word, or where there is none by an agent's; from all arms downwards."""
    case = {**support.CASES[system], "parameters": {"epsilon": 1.0, "horizon": 30_000}}
    made = series(tmp_path, system, **case)
    found = course.section(made)
    assert found is not None
    (chart,) = [chart for chart in found.charts if chart.name == "arms-left"]
    left = [count for _, _, count in chart.rows]
    assert left == sorted(left, reverse=True)
    assert left[-1] < len(ARMS)


def test_rewards_of_all_users_end_where_the_run_says(tmp_path: Path) -> None:
    made = series(tmp_path, "anonymous", agents={"count": 6})
    found = course.section(made)
    assert found is not None
    (chart,) = [chart for chart in found.charts if chart.name == "rewards"]
    detail = made.runs[0].detail
    assert isinstance(detail, AnonymousDetail)
    assert detail.rewards is not None
    assert chart.rows[-1][1] == pytest.approx(detail.rewards[-1][1])
