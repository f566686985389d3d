"""The unit for systemd: what it says of it, and a run by the options that its files give."""

import configparser
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posse.cli import main
from posse.cli.frame import options
from posse.security import keys
from tests.support.patience import PATIENCE
from tests.support.remote import free_port

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy/systemd/posse@.service"
POSSE = (sys.executable, "-P", "-m", "posse")


def variables(name: str) -> dict[str, str]:
    lines = UNIT.with_name(f"{name}.env").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {variable: value for variable, _, value in pairs}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/local/bin/posse", sys.executable))
    said = subprocess.run(
        ["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stdout + said.stderr) == (0, "")


def test_it_gives_no_more_than_is_needed_and_what_was_killed_starts_again() -> None:
    said = configparser.ConfigParser(strict=False, interpolation=None)
    said.optionxform = str  # type: ignore[assignment, method-assign]
    said.read(UNIT)
    service = said["Service"]
    assert service["ExecStart"] == "/usr/local/bin/posse $POSSE_COMMAND"
    assert service["User"] == "posse"
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert service["Restart"] == "on-abnormal"  # not after an exit code


@pytest.mark.parametrize("name", ["coordinator", "agent"])
def test_every_variable_is_an_options(name: str) -> None:
    given = variables(name)
    known = {"POSSE_RUN"} | {
        f"POSSE_{option.lstrip('-').replace('-', '_').upper()}"
        for option in options(main.whole(), name)
    }
    assert given.pop("POSSE_COMMAND") == name
    assert set(given) <= known


RUN = """
system = "cdp-mab"
mode = "field"
agents.count = 2
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 4 }
parameters = { epsilon = 0.5, horizon = 400 }
"""


@pytest.mark.slow
def test_a_run_by_these_variables_alone(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(RUN)
    keys.create(tmp_path / "keys", 2)
    port = free_port()
    here = {
        "POSSE_RUN": "run.toml",
        "POSSE_BIND": f"tcp://[::1]:{port}",
        "POSSE_JOIN": f"tcp://[::1]:{port}",
        "POSSE_OUT": "result",
        "POSSE_HTTP": ":0",
    }

    def started(name: str, **own: str) -> subprocess.Popen[str]:
        names = variables(name).keys() - {"POSSE_COMMAND"}
        given = {variable: {**here, **own}[variable] for variable in names}
        more = {"POSSE_LINGER": "0", "POSSE_LOG": "json"}
        return subprocess.Popen(
            [*POSSE, name],
            cwd=tmp_path,
            env={**os.environ, **given, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    write = runpy.run_path(str(ROOT / "examples/field/example_data.py"))["write"]
    processes = [started("coordinator", POSSE_KEYS="keys/coordinator")]
    for rank in range(2):
        write(tmp_path / f"data-{rank}.csv", rank)
        own = {"POSSE_KEYS": f"keys/agent-{rank}", "POSSE_DATA": f"data-{rank}.csv"}
        processes.append(started("agent", **own))
    try:
        said = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], said
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert (tmp_path / "result/result.json").exists()
