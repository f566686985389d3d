"""How runs went: each system, ours or a user's, has the figures that it declares."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")

from posse import api
from posse.cli.new import text
from posse.durable.directory import RunDirectory
from posse.errors import PosseError
from posse.families.anonymous import AnonymousDetail
from posse.plan import prepare
from posse.report import figures, read, run_page
from posse.results.figures import Figure
from tests.support import field as support

ARMS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.1]


def series(folder: Path, system: str, **changes: Any) -> read.Series:
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
    return read.read(folder)


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
    found = figures.section(series(tmp_path, system))
    assert found is not None
    assert {chart.name for chart in found.charts} == names


@pytest.mark.parametrize("system", ["cdp-mab", "ddp-mab"])
def test_arms_left_of_federated_elimination(system: str, tmp_path: Path) -> None:
    """By the server's word, or where there is none by an agent's; from all arms downwards."""
    case = {**support.CASES[system], "parameters": {"epsilon": 1.0, "horizon": 30_000}}
    made = series(tmp_path, system, **case)
    found = figures.section(made)
    assert found is not None
    (chart,) = [chart for chart in found.charts if chart.name == "arms-left"]
    left = [count for _, _, count in chart.rows]
    assert left == sorted(left, reverse=True)
    assert left[-1] < len(ARMS)


def test_rewards_of_all_users_end_where_the_run_says(tmp_path: Path) -> None:
    made = series(tmp_path, "anonymous", agents={"count": 6})
    found = figures.section(made)
    assert found is not None
    (chart,) = [chart for chart in found.charts if chart.name == "rewards"]
    detail = made.runs[0].detail
    assert isinstance(detail, AnonymousDetail)
    assert detail.rewards is not None
    assert chart.rows[-1][1] == pytest.approx(detail.rewards[-1][1])


NOTES = """
class NamedRow(Row, frozen=True):
    table: ClassVar[str] = "named"
    arm: int


def named(run, arms):
    return [(now, row.arm) for now, row in NamedRow.select(run.log)]


"""

FIGURES = """
    results=Results(
        log=(NamedRow,),
        figures=(
            Figure(name="named", title="Named", style="points", values=named, y="arm"),
            Figure(name="over-time", title="Named", style="line", values=named, y="arm"),
            Figure(name="by-run", title="Named", style="steps", values=named, y="arm"),
            Figure(
                name="rounds", title="Rounds", style="bars", x="arm", y="rounds",
                values=lambda run, arms: sorted(Counter(arm for _, arm in named(run, 2)).items()),
            ),
        ),
    ),
)"""


def own_system(folder: Path) -> dict[str, Any]:
    """A run file for what `posse new` writes, which also notes the arms that it names."""
    source = text("system.py", "own")
    imported = "from collections import Counter\nfrom typing import ClassVar\n\nimport msgspec"
    public = "from posse.extend import (\n    Figure, Note, Results, Row,"
    for old, new in (
        ("import msgspec", imported),
        ("from posse.extend import (", public),
        ("class GreedySums", NOTES.lstrip() + "class GreedySums"),
        (
            "return [Broadcast(announced)]",
            "return [Broadcast(announced), Note(NamedRow(self.best))]",
        ),
    ):
        assert old in source
        source = source.replace(old, new, 1)
    (folder / "own.py").write_text(source.rstrip().removesuffix(")") + FIGURES)
    return {"system": "own:SYSTEM", "path": [str(folder)], "base": str(folder), "repeat": 2}


@pytest.mark.slow
def test_a_system_of_ones_own_is_drawn_like_ours(tmp_path: Path) -> None:
    made = series(tmp_path / "runs", **own_system(tmp_path))
    section = figures.section(made)
    assert section is not None
    charts = {chart.name: chart for chart in section.charts}
    assert set(charts) == {"regret", "named", "over-time", "by-run", "rounds"}
    log = made.runs[0].log["named"]
    assert len(log) == 20
    moments: list[tuple[Any, ...]] = sorted((row[0], row[1]) for row in charts["named"].rows)
    assert moments == sorted((arm, now) for now, arm in log)
    assert sum(y for _, y, _ in charts["rounds"].rows) >= 20
    html = run_page.run_page(made).html()
    assert "<b>Named</b>" in html


def test_a_figure_that_fails_is_named(tmp_path: Path) -> None:
    about: dict[str, Any] = {"title": "x", "y": "y", "values": lambda run, arms: [(0.0, 1 / 0)]}
    made = series(tmp_path, "ucb1")
    assert made.system is not None
    system = replace(made.system, figures=(Figure(name="x", style="line", **about),))
    with pytest.raises(PosseError, match="the figure x of ucb1 cannot be drawn: ZeroDivisionErr"):
        figures.draw_declared(replace(made, system=system))
