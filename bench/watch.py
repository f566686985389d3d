"""What it costs a run to be watched: runs with and without, in turn, and a reader of the page.

python -m bench.watch [--agents 64] [--pairs 8] [--system dp-mase]
"""

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomli_w

from bench.tables import run_file
from posse.watch import text

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
        for _ in text.events(process.stderr.readline().removeprefix("watch it at ").strip()):
            pass
    said, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    shutil.rmtree(folder / ("watched" if watched else "plain"))
    return used, sum(run["elapsed_seconds"] for run in json.loads(said)["runs"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--system", choices=SYSTEMS, default="dp-mase")
    options = parser.parse_args()
    more = {"repeat": options.repeat, **SYSTEMS[options.system]}
    raw = run_file(options.system, options.agents, MEANS, **more)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.toml").write_text(tomli_w.dumps(raw))
        found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for pair in range(options.pairs):
            for first in (pair % 2 == 0, pair % 2 == 1):
                found[first].append(cost(folder, watched=first))
    for at, what in enumerate(("processor", "elapsed")):
        plain, watched = (statistics.median(one[at] for one in found[w]) for w in (False, True))
        ratios = [w[at] / p[at] - 1 for p, w in zip(found[False], found[True], strict=True)]
        middle, spread = statistics.median(ratios), f"{min(ratios):+.1%} to {max(ratios):+.1%}"
        print(f"{what}: {plain:.2f} s, watched {watched:.2f} s; by pair {middle:+.1%} ({spread})")


if __name__ == "__main__":
    main()
