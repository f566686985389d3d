"""A series of which two runs end and the others stand still, so that a test can end it there."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE
from tests.support.remote import until

ARMS = """
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


class Halting:
    made = Counter()

    def __init__(self, agent, agents, seed):
        self.generator = np.random.default_rng([seed, agent])
        self.made[agent] += 1
        self.agents, self.run = agents, self.made[agent]

    def halts(self):
        if len(self.made) < self.agents:  # a process of its own: one run after the other
            return self.run > 2
        run = f"{os.getpid()}-{self.run}"  # in memory several at once: the first two may go on
        for place in (HERE / "first", HERE / "second"):
            try:
                place.symlink_to(run)
            except FileExistsError:
                pass
            if os.readlink(place) == run:
                return False
        return True

    def pull(self, arm, count):
        while (HERE / "halt").exists() and self.halts():
            time.sleep(0.01)
        return (self.generator.random(count) < 0.9 - 0.3 * arm).astype(float)
"""

RUN = """
system = "dp-mase"
repeat = 4
seed = 3
agents.count = 6
arms = { kind = "python", target = "halting:Halting", count = 3 }
parameters.epsilon = 2.0
engine.deadline = 60.0
"""


def prepare(folder: Path) -> None:
    """Write a run file of which two runs end, and the others stand still."""
    (folder / "halting.py").write_text(ARMS)
    (folder / "run.toml").write_text(RUN)
    (folder / "halt").touch()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "posse", *arguments]


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A command that has come to where it halts."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out = folder / "out"
    until(
        lambda: len(list(out.rglob("[0-9]*.msgpack"))) == 2 or process.poll() is not None,
        "two runs are kept",
    )
    assert process.poll() is None, process.communicate()
    return process


def finish(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A command that does not halt any more."""
    (folder / "halt").unlink(missing_ok=True)
    return call(folder, *arguments)


def call(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A command, until it ends."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def timeless(document: Any) -> Any:
    """A result without what the machine's speed decides.

    A report holds delays, in as many bytes as they take, so that the control plane is such.
    """
    if isinstance(document, dict):
        timed = ("delay", "resources", "elapsed_seconds", "control", "socket_bytes")
        return {key: timeless(value) for key, value in document.items() if key not in timed}
    return [timeless(value) for value in document] if isinstance(document, list) else document


def result(folder: Path) -> Any:
    """The result in a run directory, without times."""
    return timeless(json.loads((folder / "result.json").read_text()))
