"""The cost of watching a run: runs with and without a reader of the page, in turn."""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import tomli_w

from bench.tables import compare, run_file

AGENTS, REPEAT, ROUNDS = 64, 4, 8
SYSTEMS: dict[str, dict[str, Any]] = {
    "dp-mase": {"parameters": {"epsilon": 0.005}},
    "private-ucb": {
        "parameters": {"epsilon": 1.0, "horizon": 300},
        "topology": {"kind": "regular", "degree": 6},
    },
}
MEANS = [0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]


def cost(folder: Path, *, watched: bool) -> tuple[float, float]:
    """Processor seconds of all processes of one command, and seconds of its runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "posse", "run", "run.toml", "--quiet", "--json"]
    process = subprocess.Popen(
        [*command, "--out", "watched" if watched else "plain", *["--watch"] * watched],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    if watched:
        url = process.stderr.readline().removeprefix("watch it at ").strip()
        while process.poll() is None:
            with suppress(OSError):
                urllib.request.urlopen(url).read()
            time.sleep(2.0)  # as the page does
    said, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    shutil.rmtree(folder / ("watched" if watched else "plain"))
    return used, sum(run["elapsed_seconds"] for run in json.loads(said)["runs"])


def main() -> None:
    for system, more in SYSTEMS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            raw = run_file(system, AGENTS, MEANS, repeat=REPEAT, **more)
            (folder / "run.toml").write_text(tomli_w.dumps(raw))
            ways = {
                way: partial(cost, folder, watched=way == "watched") for way in ("watched", "plain")
            }
            seconds = {"processor": (itemgetter(0), "{:.2f}"), "elapsed": (itemgetter(1), "{:.2f}")}
            compare(f"{system}, {AGENTS} agents, {REPEAT} runs, seconds", ROUNDS, ways, seconds)
