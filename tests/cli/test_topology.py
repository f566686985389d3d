"""posse topology, and its list."""

import json
import math
import re

import pytest

from posse.cli import topology
from posse.cli.main import main
from posse.topologies.graphs import from_edges


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        '[agents]\ncount = 9\n[topology]\nkind = "components"\ncomponents = '
        '[{ kind = "path", count = 5 }, { kind = "star", count = 3 }, { kind = "single" }]\n'
    )
    return path


def test_the_command_describes_a_graph(run_file, capsys) -> None:
    assert main(["topology", str(run_file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["edges"] == 6
    assert facts["degrees"] == {"least": 0, "mean": pytest.approx(12 / 9), "greatest": 2}
    assert (facts["components"], facts["diameter"]) == ([5, 3, 1], 4)
    assert (facts["sinks"], facts["centre"]) == ([2, 5, 8], [2, 5, 8])
    assert facts["eccentricities_of_sinks"] == [2, 1, 0]
    assert main(["topology", str(run_file), "--set", "topology={ kind = 'ring' }"]) == 0
    printed = capsys.readouterr().out
    # 2 - 2 cos(2 pi / 9)
    assert re.search(r"algebraic connectivity\s+0\.4679\n", printed)
    assert "drawn again" not in printed


@pytest.mark.parametrize("name", ["g.png", "g.svg"])
def test_the_command_draws_with_sinks_marked(run_file, name, tmp_path) -> None:
    assert main(["topology", str(run_file), "--draw", str(tmp_path / name)]) == 0
    drawn = (tmp_path / name).read_bytes()
    if name.endswith("png"):
        assert drawn.startswith(b"\x89PNG")
    else:
        assert b"<svg" in drawn
        # as in a report: roles with their numbers, colours that follow the light
        assert b">sink (3)<" in drawn
        assert b">agent (6)<" in drawn
        assert b"var(--s1)" in drawn
        assert b"prefers-color-scheme:dark" in drawn


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "agents.count=8"], "topology: has 9 agents, but agents.count is 8"),
        (["--set", "topology={ kind = 'rong' }"], "topology.kind: 'rong' is not known"),
        (["--set", "topology.x=1"], "topology.x: unknown key"),
        (["--set", "agents.count='many'"], "agents.count: is 'many'"),
        (["--draw", "g.pdf"], "must end in .png or .svg"),
    ],
)
def test_the_command_refuses_with_a_sentence(run_file, arguments, said, capsys) -> None:
    assert main(["topology", str(run_file), *arguments]) in (1, 2)
    assert said in capsys.readouterr().err


def test_listing_names_every_kind(capsys) -> None:
    assert main(["list", "topologies"]) == 0
    printed = capsys.readouterr().out
    for kind in ("complete", "erdos-renyi", "components", "file", "grid"):
        assert f"\n  {kind} " in printed


def test_a_path_of_four() -> None:
    """Degrees 1, 2, 2, 1; the two middle agents are the centre, the first of them the sink."""
    facts = topology.document(from_edges(4, [(0, 1), (1, 2), (2, 3)]))
    assert (facts["agents"], facts["edges"], facts["diameter"]) == (4, 3, 3)
    assert facts["degrees"] == {"least": 1, "mean": 1.5, "greatest": 2}
    assert facts["components"] == [4]
    assert facts["centre"] == (1, 2)
    assert facts["sinks"] == (1,)
    assert facts["eccentricities_of_sinks"] == (2,)
    # the Laplacian of a path has the eigenvalues 2 - 2 cos(πk/n)
    assert facts["algebraic_connectivity"] == pytest.approx(2 - 2 * math.cos(math.pi / 4))
    assert facts["resamples"] == 0


def test_parts_have_a_sink_each() -> None:
    facts = topology.document(from_edges(5, [(0, 1), (1, 2), (3, 4)]))
    assert facts["components"] == [3, 2]
    assert len(facts["sinks"]) == len(facts["eccentricities_of_sinks"]) == 2
    assert facts["algebraic_connectivity"] == pytest.approx(0.0, abs=1e-9)
