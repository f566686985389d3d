"""posse arena, the verb that the package posse-arena adds."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import jsonschema
import msgspec
import pytest

import posse
import posse_arena
from posse.cli import main as cli
from posse_arena import problems, result, verb
from tests.arena.test_result import small

PACKAGE = Path(__file__).parents[2] / "arena"

if "arena" not in cli.added_verbs():
    pytest.skip("posse-arena is not installed: pip install -e arena", allow_module_level=True)

MINE = """\
system = "posse_arena.baselines:EPSILON_GREEDY"

[agents]
count = 2

[arms]
kind  = "bernoulli"
means = [0.6, 0.4]

[parameters]
horizon = 10
"""


def test_the_package_has_the_version_of_posse():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert posse_arena.__version__ == posse.__version__
    assert project["dependencies"] == ["posse-bandits[audit,report,testing]"]


def test_the_schema_is_printed_and_describes_the_kept_result(capsys):
    assert cli.main(["arena", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.validate(json.loads(verb.LIGHT.read_text()), schema)
    assert result.read(verb.LIGHT).cells


def test_a_kept_result_is_drawn(tmp_path, capsys):
    copy = tmp_path / "light.json"
    copy.write_bytes(msgspec.json.encode(small()))
    assert cli.main(["arena", "--draw", str(copy)]) == 0
    assert "Who may not be compared with whom" in (tmp_path / "light.html").read_text()
    assert capsys.readouterr().out.startswith("done: Without limits: ")


def test_a_system_of_ones_own_is_entered_beside_ours(tmp_path, monkeypatch, capsys):
    size = problems.Size(6, 40, 1, 1)
    question = problems.TASKS["regret"]
    monkeypatch.setitem(problems.TASKS, "regret", replace(question, light=size))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("posse_arena.cells.PROBLEMS", {"uniform": problems.PROBLEMS["uniform"]})
    Path("kept.json").write_bytes(msgspec.json.encode(small()))
    monkeypatch.setattr(verb, "LIGHT", tmp_path / "kept.json")
    Path("mine.toml").write_text(MINE)
    assert cli.main(["-q", "arena", "mine.toml", "--tune", "explore=.05,.2", "--jobs", "1"]) == 0
    found = result.read(Path("runs/arena/result.json"))
    mine = [cell for cell in found.cells if cell.entrant == "mine"]
    assert {cell.form for cell in mine} == {"default", "tuned"}
    assert {cell.parameters["horizon"] for cell in mine} == {40}
    assert {one.entrant for one in found.cells} > {"mine", "ucb1", "cdp-mab"}  # kept
    assert {one.respect for one in found.apart if one.entrant == "mine"} >= {"ε", "seconds"}
    assert found.command == "posse arena mine.toml --tune explore=.05,.2"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("arena nothing.toml", "cannot be read"),
        ("arena ucb1 --tune explore", "must have the form NAME=A,B,C"),
        ("arena ucb1 ucb1", "two entrants have the same name"),
        (
            "arena tdfs-ucb --problem uniform",
            "(entered) for players) has anything to do in uniform",
        ),
        ("arena --on tcp://localhost:1", "must be a scheduler's dask://HOST:PORT"),
        ("arena --draw none.json", "is no result of the arena"),
    ],
)
def test_a_wrong_line_costs_a_sentence(line, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(line.split()) == 2
    assert said in capsys.readouterr().err
