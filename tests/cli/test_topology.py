"""posse check --topology."""

import json
import math
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Posse


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(
        '[agents]\ncount = 9\n[topology]\nkind = "components"\ncomponents = '
        '[{ kind = "path", count = 5 }, { kind = "star", count = 3 }, { kind = "single" }]\n'
    )
    return path


def test_the_command_describes_a_graph(run_file: Path, posse: Posse) -> None:
    facts = json.loads(posse("topology", run_file, "--json").out)
    assert facts["edges"] == 6
    assert facts["degrees"] == {"least": 0, "mean": pytest.approx(12 / 9), "greatest": 2}
    assert (facts["components"], facts["diameter"]) == ([5, 3, 1], 4)
    assert (facts["sinks"], facts["centre"]) == ([2, 5, 8], [2, 5, 8])
    assert facts["eccentricities_of_sinks"] == [2, 1, 0]
    assert facts["algebraic_connectivity"] == pytest.approx(0.0, abs=1e-9)
    printed = posse("topology", run_file, "--set", "topology={ kind = 'ring' }").out
    # the Laplacian of a ring has the eigenvalues 2 - 2 cos(2πk / n)
    assert re.search(r"algebraic connectivity\s+0\.4679\n", printed)
    assert "drawn again" not in printed


def test_a_path_of_four(run_file: Path, posse: Posse) -> None:
    """Degrees 1, 2, 2, 1; the two middle agents are the centre, the first of them the sink."""
    path = ["--set", "topology={ kind = 'path' }", "--set", "agents.count=4"]
    facts = json.loads(posse("topology", run_file, *path, "--json").out)
    assert facts["degrees"] == {"least": 1, "mean": 1.5, "greatest": 2}
    assert (facts["centre"], facts["sinks"]) == ([1, 2], [1])
    # the eigenvalues 2 - 2 cos(πk / n)
    assert facts["algebraic_connectivity"] == pytest.approx(2 - 2 * math.cos(math.pi / 4))
    assert facts["resamples"] == 0


@pytest.mark.parametrize("name", ["g.png", "g.svg"])
def test_the_command_draws_with_sinks_marked(
    run_file: Path, name: str, tmp_path: Path, posse: Posse
) -> None:
    posse("topology", run_file, "--draw", tmp_path / name)
    drawn = (tmp_path / name).read_bytes()
    if name.endswith("png"):
        assert drawn.startswith(b"\x89PNG")
    else:  # as in a report: roles with their numbers, colours that follow the light
        for part in (b"<svg", b">sink (3)<", b">agent (6)<", b"var(--s1)", b"scheme:dark"):
            assert part in drawn


def test_a_graph_has_as_many_agents_as_the_run(run_file: Path, posse: Posse) -> None:
    refused = posse("topology", run_file, "--set", "agents.count=8", code=2).err
    assert "topology: has 9 agents, but agents.count is 8" in refused
