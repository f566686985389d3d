"""The plugin as pytest loads it, in a project that is not ours."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]

OPTIONS = [
    *("-q", "-p", "posse.testing.plugin"),
    *("-W", "error", "-o", "asyncio_default_fixture_loop_scope=function"),
]

TESTS = """
import pytest

RIDE = {
    "system": "mase",
    "agents": {"count": 6},
    "arms": {"kind": "bernoulli", "means": [0.7, 0.5]},
    "engine": {"kind": "memory"},
}


@pytest.mark.asyncio
async def test_votes(posse_cluster):
    cluster = await posse_cluster(RIDE)
    await cluster.run()
    assert cluster.messages(kind="Vote")


@pytest.mark.asyncio
async def test_no_votes(posse_cluster):
    cluster = await posse_cluster(RIDE)
    await cluster.run()
    assert len(cluster.messages(kind="Vote")) == 0
"""


HOSTED = """
import pytest


@pytest.mark.asyncio
async def test_hosted(posse_cluster):
    arms = {"kind": "bernoulli", "means": [0.7, 0.5]}
    cluster = await posse_cluster(
        {"system": "ucb1", "agents": {"count": 2}, "arms": arms, "parameters": {"horizon": 9}},
        hosted=True,
    )
    assert await cluster.run() is None
"""


def failed(folder: Path, tests: str, summary: str) -> str:
    """What is shown of these tests' clusters where a test fails."""
    (folder / "test_ride.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert summary in done.stdout, done.stdout + done.stderr
    return done.stdout.partition("posse: the last of ")[2]


@pytest.mark.slow
def test_what_hosted_members_logged_is_kept_beside_the_picture(tmp_path: Path) -> None:
    shown = failed(tmp_path, HOSTED, "1 failed")
    kept = tmp_path / ".pytest_cache/d/posse/test_ride.py-test_hosted-ucb1.log"
    assert f"what each member logged: {kept}" in shown
    assert "the coordinator:\n" in kept.read_text()


@pytest.mark.slow
def test_the_fixture_brings_up_clusters_and_a_failure_shows_the_last_frames(
    tmp_path: Path,
) -> None:
    shown = failed(tmp_path, TESTS, "1 failed, 1 passed")
    assert " frames of mase ---" in shown
    assert len([line for line in shown.splitlines() if " → " in line]) == 20
    drawn = tmp_path / ".pytest_cache/d/posse/test_ride.py-test_no_votes-mase.svg"
    assert f"as a picture: {drawn}" in shown
    assert "Vote" in drawn.read_text()


def test_it_is_announced_by_the_name_that_it_may_be_loaded_by() -> None:
    """Else whoever names it by -p loads it twice, which pytest refuses."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"posse.testing.plugin": "posse.testing.plugin"}


def test_it_loads_nothing_heavy() -> None:
    """Every session of pytest loads it where posse is installed."""
    code = (
        "import sys, posse.testing.plugin\n"
        "print(sorted({'numpy', 'zmq', 'msgspec', 'posse.api'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stdout == "[]\n"
