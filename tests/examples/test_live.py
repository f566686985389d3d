"""`examples/live`: three shops find the best button, by either system."""

import subprocess
import sys
from pathlib import Path

import pytest

from posse.plan import prepare

HERE = Path(__file__).parents[2] / "examples" / "live"


@pytest.mark.slow
@pytest.mark.parametrize("file", ["shops.toml", "dp-mase.toml"])
def test_the_shops_agree_on_the_best_button(file) -> None:
    command = [sys.executable, str(HERE / "three_shops.py"), file, "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("it goes on with green") == 3


def test_compose_serves_what_the_run_file_names() -> None:
    assert prepare(HERE / "shops.toml").spec.arms.labels() == ("blue", "green", "red")
    assert prepare(HERE / "dp-mase.toml").spec.agents.count == 3
