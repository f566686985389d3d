"""What the page of a user's system shows is data: whoever reads results imports nothing."""

from collections.abc import Callable
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
from tests.support.conversations import examples
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


def test_a_figure_that_failed_is_read_back_as_its_failure(tmp_path: Path) -> None:
    def values(run: RunRecord, arms: int) -> list[tuple[float, float]]:
        raise KeyError("beak")

    system = written(tmp_path, Figure(name="x", title="x", style="line", values=values, y="y"))
    with pytest.raises(PosseError, match="KeyError: 'beak'"):
        system.figures[0].values(RunRecord(run=0, seed=0), 2)


@examples(Path(__file__).with_name("shown.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
