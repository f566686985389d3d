"""posse list."""

import re

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


def test_every_key_is_explained(posse: Posse) -> None:
    keys = re.findall(r"^ {6}(\w+) +(.*)$", posse("list", "all").out, re.M)
    assert len(keys) > 100
    unsaid = {
        key for key, said in keys if re.fullmatch(r"[^.]*(required|optional|default \S+)", said)
    }
    assert unsaid == set()
