"""What the page of a user's system shows is data: whoever reads results imports nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from posse.durable import shown
from posse.errors import PosseError
from posse.plan import prepare
from posse.results.base import Results
from posse.results.figures import Figure
from posse.results.record import Detail, RunRecord
from posse.system import get_system
from tests.support.runfile import describe_run

RAW: dict[str, Any] = describe_run("ucb1", 1, [0.9, 0.1], parameters={"horizon": 50})


class Parrots(Detail):
    units: ClassVar = {"rounds": "squawks"}
    seeks: ClassVar = "a parrot"


def written(folder: Path, *figures: Figure) -> shown.ShownSystem:
    results = Results(detail=Parrots, figures=figures)
    plan = prepare(describe_run("ucb1", 1, [0.9, 0.1], parameters={"horizon": 50}))
    own = replace(get_system("ucb1"), title="mine", results=results)
    curve = [[1.0, 0.1], [50.0, 2.0]]
    runs = [
        RunRecord(run=number, seed=number, rounds=number, regret_curve=curve) for number in (0, 7)
    ]
    spec = msgspec.structs.replace(plan.spec, system="parrots:SYSTEM")
    shown.write(folder, replace(plan, spec=spec, system=own), runs)
    read = shown.read(folder)
    assert read is not None
    return read


def test_what_a_system_shows_is_read_back_without_it(tmp_path: Path) -> None:
    figure = Figure(
        name="squawks",
        title="Squawks",
        style="points",
        values=lambda run, arms: [(run.rounds or 0, arms), (1, float("inf"))],
        crosses=lambda run, arms: [(1, 2)],
        y="arm",
    )
    system = written(tmp_path, figure)
    assert (system.title, system.paper) == ("mine", get_system("ucb1").paper)
    record = RunRecord.read({"run": 7, "seed": 7, "detail": {"feathers": 3}}, system.detail)
    assert (record.detail.seeks, record.detail.units) == ("a parrot", {"rounds": "squawks"})
    (drawn,) = system.figures
    assert (drawn.name, drawn.title, drawn.style, drawn.y) == (
        "squawks",
        "Squawks",
        "points",
        "arm",
    )
    assert drawn.values(record, 2) == [(7.0, 2.0), (1.0, float("inf"))]
    assert drawn.crosses(record, 2) == [(1.0, 2.0)]


def test_a_figure_that_failed_is_read_back_as_its_failure(tmp_path: Path) -> None:
    def values(run: RunRecord, arms: int) -> list[tuple[float, float]]:
        raise KeyError("beak")

    system = written(tmp_path, Figure(name="x", title="x", style="line", values=values, y="y"))
    with pytest.raises(PosseError, match="KeyError: 'beak'"):
        system.figures[0].values(RunRecord(run=0, seed=0), 2)


def test_systems_of_ours_need_none(tmp_path: Path) -> None:
    shown.write(
        tmp_path,
        prepare(describe_run("ucb1", 1, [0.9, 0.1], parameters={"horizon": 50})),
        [],
    )
    assert list(tmp_path.iterdir()) == []
    assert shown.read(tmp_path) is None
