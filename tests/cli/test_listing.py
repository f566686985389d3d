"""posse list."""

import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Posse


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def test_alone_it_is_a_table_of_names(posse: Posse) -> None:
    lines = posse("list").out.splitlines()
    assert lines[0] == "SYSTEMS  (system = …)"
    assert "  mase                   votes of successive eliminations, no privacy" in lines
    assert lines[-1] == (
        "posse list NAME shows one with its keys, posse list all shows the keys of all."
    )
    assert len(lines) < 67
    for name in ("dp-mase", "gaussian", "csv", "ring"):
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1
    assert not [line for line in lines if line.startswith("      ")]


@pytest.mark.parametrize("what", [[], ["all"], ["dp-mase"], ["python"], ["activity"]])
def test_no_line_is_wider_than_the_terminal(
    what: list[str], posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = posse("list", *what).out.splitlines()
    assert max(map(len, lines)) <= 80


def test_one_section_has_only_its_names(posse: Posse) -> None:
    lines = posse("list", "arms").out.splitlines()
    kinds = ["bernoulli", "gaussian", "linear", "piecewise", "drift", "delayed", "sleeping"]
    assert [line.split()[0] for line in lines[1:8]] == kinds


def test_what_it_says_of_a_key_is_what_a_run_file_may_have(
    posse: Posse,
) -> None:
    out = posse("list", "all").out
    assert 'gamma         integer >= 0 and <= 65535 or "diameter" | "diameter/2"; default' in out
    assert 'default { rate = 0.001, agents = "all", law = "point", form = "source" }.' in out
    assert "means  list of numbers or list of lists of numbers or table (random," in out
    assert "winsor                 true or false; default false." in out
    assert "collision      1 | 2; default 1." in out
    assert "components  list of tables, each with its kind; required." in out
    assert "max_rounds  integer >= 1 and <= 1000000; optional." in out
    assert re.search("epsilon +number >= 1e-09 and <= 1e\\+09; required", out)
    assert "None" not in out
    assert "any;" not in out


def test_every_key_is_explained(posse: Posse) -> None:
    keys = re.findall(r"^ {6}(\w+) +(.*)$", posse("list", "all").out, re.M)
    assert len(keys) > 100
    unsaid = {
        key for key, said in keys if re.fullmatch(r"[^.]*(required|optional|default \S+)", said)
    }
    assert unsaid == set()


def test_one_kind_of_arms_or_topology_is_shown(posse: Posse) -> None:
    def listed(name: str) -> list[str]:
        return re.findall(r"^(?:[A-Z]+|  \S+?)(?=:|  | *$)", posse("list", name).out, re.M)

    assert listed("bernoulli") == ["ARMS", "  bernoulli"]
    assert listed("ring") == ["TOPOLOGIES", "  ring"]
    assert listed("python") == ["ARMS", "  python", "TOPOLOGIES", "  python"]


def test_list_shows_a_system_of_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    posse("new", "own_listed", "--out", ".")
    out = posse("list", "own_listed:SYSTEM").out
    assert "own_listed:SYSTEM: Federated epsilon-greedy" in out
    assert "explore  integer >= 1; default 2" in out
    assert "module 'own_missing' is neither in" in posse("list", "own_missing:SYSTEM", code=2).err


def test_on_a_terminal_long_lines_are_broken_under_their_text(
    posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = posse("list", "adap-ucb").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    broken = posse("list", "adap-ucb").out
    assert broken.split() == whole.split()
    assert "      epsilon  number >= 1e-09 and <= 1e+09; required. ε,\n" in broken
    assert f"\n{' ' * 15}privacy of one reward\n" in broken
