"""Options that variables give."""

from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest

from posse.cli import main
from tests.cli.conftest import Posse

JOIN = ("agent", "--join", "tcp://127.0.0.1:7000")


def parsed(*words: str) -> dict[str, Any]:
    """Every option of a command line, and its value."""
    found: dict[str, Any] = {}
    for name, value in main.parse(words).bound.arguments.items():
        found |= vars(value) if is_dataclass(value) else {name: value}
    return found


@pytest.mark.parametrize("name", ["coordinator", "agent"])
def test_every_option_has_a_variable_that_its_help_names(name: str, posse: Posse) -> None:
    text = " ".join(posse(name, "--help").out.split())
    for argument in main.whole()[name].assemble_argument_collection():
        if argument.name != "*" and argument.parse and not argument.children:
            variable = argument.name.lstrip("-").upper().replace("-", "_")
            assert f"POSSE_{variable}]" in text


def test_the_command_line_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSSE_JOIN", "tcp://elsewhere:7000")
    monkeypatch.setenv("POSSE_KEYS", "/etc/posse/keys")
    monkeypatch.setenv("POSSE_WAIT", "20")
    monkeypatch.setenv("POSSE_RANK", "5")
    options = parsed("agent", "--wait", "7")
    assert (options["join"], options["keys"]) == ("tcp://elsewhere:7000", Path("/etc/posse/keys"))
    assert (options["wait"], options["rank"]) == (7.0, "5")
    assert parsed("-q", *JOIN)["join"] == JOIN[2]


def test_what_may_be_given_often_is_split_as_a_shell_does_and_gives_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSSE_SET", "agents.count=4 system='dp mase'")
    assert parsed(*JOIN)["set"] == ("agents.count=4", "system=dp mase")
    assert parsed(*JOIN, "--set", "seed=1")["set"] == ("seed=1",)


def test_the_run_file_is_given_by_the_variable_that_agents_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSSE_RUN", "/etc/posse/run.toml")
    monkeypatch.setenv("POSSE_BIND", "tcp://0.0.0.0:7000")
    assert parsed("coordinator")["file"] == Path("/etc/posse/run.toml")
    assert parsed("coordinator", "other.toml")["file"] == Path("other.toml")
    assert parsed("agent", "--join", "a")["run"] == Path("/etc/posse/run.toml")


@pytest.mark.parametrize(("text", "said"), [("1", True), ("Yes", True), ("false", False)])
def test_a_switch_is_on_or_off(text: str, said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSSE_INSECURE", text)
    assert parsed(*JOIN)["insecure"] is said
