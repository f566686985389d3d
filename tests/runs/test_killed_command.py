"""`posse run` of which any process is killed, and that is started again: the result is the same.

An agent is started again by the run itself; where the coordinator is killed, or the process that
starts the agents, the same command goes on with the run that was not finished.
"""

import json
import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.engines import memory
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from tests.runs.test_restarts import CASES, SMALLER, undisturbed_part
from tests.support.golden import write_logs
from tests.support.halting import command
from tests.support.patience import PATIENCE


def started(file: Path, out: Path) -> "subprocess.Popen[str]":
    """The command, in a folder of its own."""
    return subprocess.Popen(
        command("run", str(file), "--out", str(out), "--quiet"),
        stderr=subprocess.PIPE,
        text=True,
    )


def disturbed(file: Path, out: Path, took: float, chance: random.Random) -> tuple[str, str]:
    """Kill one process of the command at a random moment, and start it until it has ended.

    Returns who was killed, and what was said last.
    """
    process = started(file, out)
    time.sleep(took * chance.random())
    victim = "nobody"
    with suppress(psutil.NoSuchProcess, IndexError):
        command = psutil.Process(process.pid)
        family = [command, *command.children(recursive=True)]
        one = chance.choice([family[0], *family[1:2], chance.choice(family)])
        victim = "the command" if one == family[0] else "another"
        one.kill()
    _, said = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        process = started(file, out)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    return victim, said


def expected_of(plan: Plan) -> dict[str, Any]:
    document = json.loads(json.dumps(memory.run(plan, 0).document()))
    return undisturbed_part(RunRecord.read(document, plan.system.results.detail))


@pytest.mark.slow
@pytest.mark.parametrize(("system", "transport"), [("mase", "ipc"), ("private-ucb", "tcp")])
def test_the_result_is_that_of_a_command_that_nobody_disturbed(
    system: str, transport: str, tmp_path: Path
) -> None:
    """The processes that start agents are real only: the simulator has none."""
    write_logs(tmp_path)
    engine = {"transport": transport, "restarts": 5, "deadline": PATIENCE}
    raw = CASES[system] | SMALLER.get(system, {}) | {"engine": engine, "base": str(tmp_path)}
    plan, chance = prepare(raw), random.Random(1)
    file = RunDirectory(tmp_path / "file", plan).open().path / SPECIFICATION
    expected = expected_of(plan)
    began = time.monotonic()
    whole = started(file, tmp_path / "whole")
    assert (whole.communicate(timeout=PATIENCE)[1], whole.returncode) == ("", 0)
    took = time.monotonic() - began
    out = tmp_path / "out"
    victim, _ = disturbed(file, out, took, chance)
    assert victim != "nobody"
    (run,) = json.loads((out / "result.json").read_text())["runs"]
    found = RunRecord.read(run, plan.system.results.detail)
    assert undisturbed_part(found) == expected
