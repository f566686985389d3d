"""The judge finds nothing in what `posse new` writes, and each of ten faults that are planted."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from posse.cli.main import main
from posse.cli.new import text
from posse.testing.judge import CHECKS, judge
from posse.testing.small import SMALL

FAULTS = {
    "chance of its own": (
        "script.py",
        "sums = yield Pull(range(me.arms), me.parameters.explore)",
        "sums = yield Pull(range(me.arms), 1 + int(np.random.random() * 3))",
        "repeats by its seed",
    ),
    "a clock of its own": (
        "script.py",
        "yield Pull([best.arm], me.parameters.exploit)",
        "yield Pull([best.arm], 1 + __import__('time').monotonic_ns() % 7)",
        "repeats by its seed",
    ),
    "what an earlier run left": (
        "script.py",
        "totals = np.zeros(me.arms)",
        "totals = LEFT.setdefault('totals', np.zeros(me.arms)); totals[1] += 4",
        "repeats by its seed",
    ),
    "its process": (
        "script.py",
        "    return best.arm",
        "    yield Pull([0], 1 + (__import__('os').getpid() != PID))\n    return best.arm",
        "both engines give one run",
    ),
    "an arm that is not there": (
        "system.py",
        " and arm < self.arms:",
        ":",
        "a bad message changes nothing",
    ),
    "sums of another length": (
        "system.py",
        " or len(sums) != self.arms:",
        ":",
        "a bad message changes nothing",
    ),
    "state changed before it refuses": (
        "system.py",
        'raise RemoteProtocolError("out-of-turn", f"sums',
        'self.totals[0] -= 99\n                    raise RemoteProtocolError("out-of-turn", f"sums',
        "a bad message changes nothing",
    ),
    "a server that does not finish": (
        "system.py",
        "if self.done == self.agents else []",
        "if self.done > self.agents else []",
        "repeats by its seed",
    ),
    "no noise": (
        "private.py",
        "yield Send(COORDINATOR, NoisySums(noisy))",
        "yield Send(COORDINATOR, NoisySums(sums))",
        "an audit does not refute its claim",
    ),
    "rewards noised twice": (
        "private.py",
        'f"round {number}")',
        '"all rounds")',
        "no agent spends more than is claimed",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("judged_")]:
        del sys.modules[name]


def written(folder: Path, name: str, source: str) -> str:
    """The run file of a system whose module this is."""
    head = 'from posse.script import *\nLEFT = {}\nPID = __import__("os").getpid()\n'
    (folder / f"{name}.py").write_text(head + source)
    run = folder / f"{name}.toml"
    run.write_text(
        f'system = "{name}:SYSTEM"\nseed = 1\nagents.count = 3\nparameters.rounds = 6\n'
        'arms = { kind = "bernoulli", means = [0.8, 0.5] }\n'
    )
    return str(run)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(n, marks=pytest.mark.slow if n in ("its process", "no noise") else ())
        for n in FAULTS
    ],
)
def test_each_planted_fault_is_found(folder: Path, fault: str) -> None:
    skeleton, honest, faulty, check = FAULTS[fault]
    name = f"judged_{[*FAULTS].index(fault)}"
    source = text(skeleton, name)
    assert honest in source
    run = written(folder, name, source.replace(honest, faulty))
    (found,) = judge(run, only=check, seeds=5)
    assert found.held is False
    assert found.how
    assert found.command == f"posse judge {run} --only '{check}'"


@pytest.mark.slow
@pytest.mark.parametrize("skeleton", ["script.py", "system.py", "private.py"])
def test_nothing_is_found_in_what_posse_writes(folder: Path, skeleton: str) -> None:
    run = written(folder, f"judged_{skeleton[:-3]}", text(skeleton, "whole"))
    found = list(judge(run, seeds=6, messages=20))
    assert [finding.check for finding in found] == [*CHECKS]
    assert [str(finding) for finding in found if finding.held is False] == []
    claims = [finding.held for finding in found[-2:]]
    assert claims == ([True, True] if skeleton == "private.py" else [None, None])


@pytest.mark.parametrize("name", SMALL)
def test_the_judges_own_run_of_each_of_ours_is_long_enough(name: str) -> None:
    (found,) = judge(name, only="spends")
    claims = SMALL[name]["parameters"].get("epsilon") or name == "random-player"
    assert found.held is (True if claims else None), found.how


def test_the_command_names_what_broke_and_repeats_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, honest, faulty, check = FAULTS["an arm that is not there"]
    written(folder, "judged_command", text("system.py", "x").replace(honest, faulty))
    line = ["judge", "judged_command:SYSTEM", "--only", check]
    assert main(line) == 3
    said = capsys.readouterr().out
    assert "BROKEN" in said
    assert f"posse judge judged_command:SYSTEM --only '{check}'" in said
    assert said.endswith("1 of 1 broken, 0 not applicable\n")
    assert main(["judge", "judged_command:SYSTEM", "--only", "audit"]) == 0
    assert capsys.readouterr().out.endswith("0 of 0 broken, 1 not applicable\n")


@pytest.mark.slow
def test_pytest_judges_a_system(folder: Path) -> None:
    _, honest, faulty, _ = FAULTS["chance of its own"]
    written(folder, "judged_plugin", text("script.py", "x").replace(honest, faulty))
    options = ["--posse-system", "judged_plugin:SYSTEM", "-k", "repeats", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "run 2 of one seed differs from the first in" in ended.stdout
    assert f"1 failed, {len(CHECKS) - 1} deselected" in ended.stdout
