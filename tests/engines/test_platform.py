"""Where the system has no fork, fcntl and resource, all but agents as processes works."""

import json
import subprocess
import sys

import pytest

from tests.support.patience import PATIENCE
from tests.support.runfile import describe_run

ELSEWHERE = """
import os, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
del os.fork
"""
SPEC = describe_run("mase", 8, [0.9, 0.1], engine="memory")


def elsewhere(program, folder):
    """Run Python without these modules, in a folder with a run file."""
    (folder / "run.toml").write_text(
        'system = "mase"\nagents.count = 8\narms = { kind = "bernoulli", means = [0.9, 0.1] }\n'
    )
    return subprocess.run(
        [sys.executable, "-c", ELSEWHERE + program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def exit_codes(folder, *commands):
    """Of commands in one process, and what these say on standard error."""
    program = f"from posse.cli.main import main\nprint([main(words) for words in {commands!r}])"
    done = elsewhere(program, folder)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_a_run_in_memory(tmp_path):
    done = elsewhere(f"import posse\nprint(posse.run({SPEC!r}).runs[0].best_arm)", tmp_path)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_cluster_in_memory(tmp_path):
    done = elsewhere(
        f"import asyncio, posse\nasync def ride():\n"
        f"    async with posse.Cluster({SPEC!r}) as cluster:\n"
        f"        print((await cluster.run()).runs[0].best_arm)\n"
        f"asyncio.run(ride())",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.slow
def test_commands_that_start_no_process(tmp_path):
    codes, trouble = exit_codes(
        tmp_path,
        ["check", "run.toml"],
        ["list"],
        ["run", "run.toml", "--engine", "memory", "--out", "out"],
        ["report", "out"],
        ["keys", "keys", "--agents", "2"],
    )
    assert codes == [0] * 5, trouble


def test_agents_as_processes_are_refused_in_a_sentence(tmp_path):
    codes, trouble = exit_codes(
        tmp_path,
        ["run", "run.toml", "--out", "out"],
        ["coordinator", "run.toml", "--bind", "tcp://127.0.0.1:7123"],
        ["agent", "--join", "tcp://127.0.0.1:7123"],
    )
    assert codes == [2] * 3, trouble
    assert trouble.count("agents as processes need Linux") == 3
    assert "Traceback" not in trouble
