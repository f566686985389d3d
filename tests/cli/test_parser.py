"""Options that variables give."""

from pathlib import Path
from typing import Any

import pytest

from posse.cli import main
from posse.cli.parser import Parser
from tests.cli.conftest import Posse

JOIN = ("agent", "--join", "tcp://127.0.0.1:7000")


def parsed(*arguments: str):
    return main.parser().parse_args(arguments)


def verbs() -> dict[str, Parser]:
    choices: Any = next(a.choices for a in main.parser()._actions if a.choices)
    return choices


@pytest.mark.parametrize("name", ["coordinator", "agent", "status"])
def test_every_option_has_a_variable_that_its_help_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verb = verbs()[name]
    assert len(verb.variables) == len(verb._actions) - 1  # all but --help
    text = " ".join(verb.format_help().split())
    for variable in verb.variables:
        assert f"[{variable}]" in text


def test_the_command_line_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSSE_JOIN", "tcp://elsewhere:7000")
    monkeypatch.setenv("POSSE_KEYS", "/etc/posse/keys")
    monkeypatch.setenv("POSSE_WAIT", "20")
    monkeypatch.setenv("POSSE_RANK", "5")
    options = parsed("agent", "--wait", "7")
    assert (options.join, options.keys) == ("tcp://elsewhere:7000", Path("/etc/posse/keys"))
    assert (options.wait, options.rank) == (7.0, "5")
    assert parsed("-q", *JOIN).join == JOIN[2]


def test_what_may_be_given_often_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSSE_SET", "agents.count=4 system='dp-mase'")
    assert parsed(*JOIN, "--set", "seed=1").set == ["agents.count=4", "system=dp-mase", "seed=1"]


def test_the_run_file_is_given_by_the_variable_that_agents_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSSE_RUN", "/etc/posse/run.toml")
    monkeypatch.setenv("POSSE_BIND", "tcp://0.0.0.0:7000")
    assert parsed("coordinator").file == Path("/etc/posse/run.toml")
    assert parsed("coordinator", "other.toml").file == Path("other.toml")
    assert parsed("agent", "--join", "a").run == Path("/etc/posse/run.toml")


@pytest.mark.parametrize(("text", "said"), [("1", True), ("Yes", True), ("false", False)])
def test_a_switch_is_on_or_off(text: str, said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSSE_INSECURE", text)
    assert parsed(*JOIN).insecure is said


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("POSSE_WAIT", "soon", "POSSE_WAIT=soon: is soon; it must be from 0 to"),
        ("POSSE_INSECURE", "perhaps", "POSSE_INSECURE=perhaps: must be one of 1, true, yes"),
        ("POSSE_BUDGET", "-1", "POSSE_BUDGET=-1: is -1; it must be above 0"),
        ("POSSE_LOG", "xml", "POSSE_LOG=xml: invalid choice: 'xml'"),
        ("POSSE_SET", "name=it's", "POSSE_SET=name=it's: No closing quotation; several"),
        ("POSSE_SET", "name=\\", "POSSE_SET=name=\\: No escaped character"),
    ],
)
def test_a_wrong_one_is_named_and_ends_the_command(
    variable: str, text: str, said: str, monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    monkeypatch.setenv(variable, text)
    assert said in posse(*JOIN, code=2).err
    parsed("list")  # what no other command is troubled by
