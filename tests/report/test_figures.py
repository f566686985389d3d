"""How runs went: each system, ours or a user's, has the figures that it declares."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")

from posse import api
from posse.durable.directory import RunDirectory
from posse.errors import PosseError
from posse.plan import prepare
from posse.reading import folder as folders
from posse.report import figures
from posse.report.drawing import Chart
from posse.results.figures import Figure
from posse.results.record import RunRecord
from posse_systems.esfandiari2022.system import AnonymousDetail
from tests.support import field as support

ARMS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.1]


def series(folder: Path, system: str, **changes: Any) -> folders.Series:
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
    RunDirectory(folder, plan).open().complete(api.run(plan))
    return folders.read(folder)


def charts_of(made: folders.Series) -> dict[str, Chart]:
    """Its figures by name."""
    found = figures.section(made)
    assert found is not None
    return {chart.name: chart for chart in found.charts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "names"),
    [
        ("mase", {"regret", "votes", "arms-left"}),
        ("tdfs-ucb", {"regret", "collisions"}),
        ("ucb1", {"regret"}),
        ("private-ucb", {"regret", "delay-by-hops"}),
        ("parallel-ucb", {"regret", "rewards"}),
    ],
)
def test_every_family_shows_its_own(system: str, names: set[str], tmp_path: Path) -> None:
    assert charts_of(series(tmp_path, system)).keys() == names


@pytest.mark.parametrize("system", ["cdp-mab", "ddp-mab"])
def test_arms_left_of_federated_elimination(system: str, tmp_path: Path) -> None:
    """By the server's word, or where there is none by an agent's; from all arms downwards."""
    case = {**support.CASES[system], "parameters": {"epsilon": 1.0, "horizon": 30_000}}
    chart = charts_of(series(tmp_path, system, **case))["arms-left"]
    left = [count for _, _, count in chart.rows]
    assert left == sorted(left, reverse=True)
    assert left[-1] < len(ARMS)


def test_rewards_of_all_users_end_where_the_run_says(tmp_path: Path) -> None:
    made = series(tmp_path, "anonymous", agents={"count": 6})
    detail = made.runs[0].detail
    assert isinstance(detail, AnonymousDetail)
    assert detail.rewards
    assert charts_of(made)["rewards"].rows[-1][1] == pytest.approx(detail.rewards[-1][1])


def declared(made: folders.Series, **changes: Any) -> folders.Series:
    """The series, whose system declares this one figure."""
    assert made.system is not None
    figure = Figure(**{"name": "x", "title": "X", "y": "y", **changes})
    return replace(made, system=replace(made.system, figures=(figure,)))


def test_each_style_draws_the_same_values_in_its_own_way(tmp_path: Path) -> None:
    made = series(tmp_path, "ucb1")
    runs = [RunRecord(run=0, seed=0), RunRecord(run=1, seed=1)]
    pairs = {0: [(0.0, 1.0), (1.0, 2.0), (2.0, 2.0), (3.0, 4.0)], 1: [(0.0, 3.0)]}
    drawn = {}
    for style in ("line", "steps", "points", "bars"):
        figure = {"style": style, "values": lambda run, arms: pairs[run.run], "x": "when"}
        (chart,) = figures.draw_declared(replace(declared(made, **figure), runs=runs))
        drawn[style] = [chart.header, chart.rows]
    header, rows = drawn["line"]
    assert (header, rows[0][:2], rows[-1][:2]) == (
        ("time", "mean", "low", "high"), (0.0, 2.0), (3.0, 3.5)
    )  # fmt: skip
    steps = [(run, x, y) for run in (0, 1) for x, y in pairs[run]]
    assert drawn["steps"] == [("run", "time", "y"), steps]
    assert drawn["points"] == [
        ("y", "time", "count"), [(1.0, 0.0, 1), (2.0, 1.0, 1), (2.0, 2.0, 2), (4.0, 3.0, 1)]
    ]  # fmt: skip
    assert drawn["bars"] == [
        ("when", "y", "runs"), [(0.0, 2.0, 2), (1.0, 2.0, 1), (2.0, 2.0, 1), (3.0, 4.0, 1)]
    ]  # fmt: skip


def test_a_figure_that_fails_is_named(tmp_path: Path) -> None:
    broken = declared(
        series(tmp_path, "ucb1"), style="line", values=lambda run, arms: [(0.0, 1 / 0)]
    )
    with pytest.raises(PosseError, match="the figure x of ucb1 cannot be drawn: ZeroDivisionErr"):
        figures.draw_declared(broken)
