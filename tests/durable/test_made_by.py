"""What a run is made by: whatever would give other numbers gives another digest."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from posse.durable.made_by import made_by
from posse.errors import SpecError
from posse.plan import prepare
from tests.support.own_code import forget_own_code
from tests.support.packages import offer


def of(folder: Path, **changes: Any) -> str:
    raw = {
        "system": "private-ucb",
        "base": str(folder),
        "agents": {"count": 3},
        "arms": {"kind": "csv", "path": "rewards-{rank}.csv", "count": 2},
        "topology": {"kind": "file", "path": "graph.txt"},
        "parameters": {"horizon": 10, "epsilon": 1.0},
    }
    forget_own_code()  # as in a process of its own
    return made_by(prepare({**raw, **changes}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for rank in range(3):
        (tmp_path / f"rewards-{rank}.csv").write_text("arm,reward\n0,1\n1,0\n")
    (tmp_path / "graph.txt").write_text("0 1\n1 2\n")
    (tmp_path / "unnamed.txt").touch()
    return tmp_path


@pytest.mark.parametrize("name", ["rewards-2.csv", "graph.txt"])
def test_a_file_that_the_run_file_names_counts(folder: Path, name: str) -> None:
    before = of(folder)
    (folder / "unnamed.txt").write_text("changed")
    assert of(folder) == before
    (folder / name).write_text((folder / name).read_text() + "\n")
    assert of(folder) != before


def test_the_users_own_code_counts_with_what_lies_beside_it(folder: Path) -> None:
    arms = {"kind": "python", "target": "my_arms:arms", "count": 2}
    (folder / "my_arms.py").write_text("from helper import arms\n")
    (folder / "helper.py").write_text("arms = 1\n")
    before = of(folder, arms=arms)
    (folder / "helper.py").write_text("arms = 2\n")
    assert of(folder, arms=arms) != before


@pytest.mark.parametrize("target", ["own_probes.deep:arms", "probes"])
def test_code_of_an_installed_package_counts(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
) -> None:
    """Also that beside the module which is named; a package is looked for, not imported."""
    site = tmp_path_factory.mktemp("site")
    (site / "own_probes").mkdir()
    for name in ("__init__", "deep", "beside"):
        (site / "own_probes" / f"{name}.py").write_text("arms = 1\n")
    offer(site, {"posse.arms": {"probes": "own_probes.deep:arms"}})
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    arms = {"kind": "python", "target": target, "count": 2}
    before = of(folder, arms=arms)
    (site / "own_probes" / "beside.py").write_text("arms = 2\n")
    assert of(folder, arms=arms) != before
    assert "own_probes" not in sys.modules


def test_the_folders_of_a_topology_of_ones_own_count(folder: Path) -> None:
    topology = {"kind": "python", "target": "own_graph:links", "path": ["graphs"]}
    (folder / "graphs").mkdir()
    links = "def links(agents, seed): return [(0, 1), (1, 2)]"
    (folder / "graphs" / "own_graph.py").write_text(links)
    before = of(folder, topology=topology)
    (folder / "graphs" / "own_graph.py").write_text(f"{links}  # otherwise")
    assert of(folder, topology=topology) != before


def test_what_is_on_another_machine_counts_for_nothing(folder: Path) -> None:
    arms = {"kind": "csv", "path": "elsewhere-{rank}.csv", "count": 2}
    assert of(folder, arms=arms) == of(folder, arms=arms)


def test_code_that_has_no_file_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    arms = {"kind": "python", "target": "__main__:Probe", "count": 2}
    for place in (None, "<stdin>"):  # of code that is piped into Python
        module.__file__ = place
        with pytest.raises(SpecError, match="code of a notebook or a prompt, which has no file"):
            of(folder, arms=arms)
    module.__file__ = str(folder / "unnamed.txt")
    before = of(folder, arms=arms)
    (folder / "unnamed.txt").write_text("changed")
    assert of(folder, arms=arms) != before
