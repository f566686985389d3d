"""posse check --topology."""

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
