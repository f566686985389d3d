"""The run files of the papers' systems run, when they are made small."""

from pathlib import Path

import pytest

from posse.engines import memory
from posse.plan import prepare
from posse.spec.runfile import read

FOLDER = Path(__file__).parents[2] / "examples"
SMALL = {
    "cooperative": ["agents.count=12", "topology.p=0.4", "parameters.horizon=60"],
    "federated": ["parameters.horizon=12_000"],
    "players": ["parameters.horizon=60"],
}


@pytest.mark.parametrize(
    ("path", "changes"),
    [(path, SMALL[kind]) for kind in SMALL for path in sorted((FOLDER / kind).glob("*.toml"))],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_a_run_file_runs(path: Path, changes: list[str]) -> None:
    prepare(read(path))
    plan = prepare(read(path, [*changes, "repeat=1"]))
    assert memory.run(plan, 0).slots == plan.spec.parameters["horizon"]
