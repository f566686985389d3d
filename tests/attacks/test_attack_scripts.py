"""What the runner of attack scripts says of them, which are no part of the repository."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from tests.attacks.scripts import SCRIPTS, Script

ROOT = Path(__file__).parents[2]
SHIM = Path(__file__).with_name("shim") / "sitecustomize.py"


def test_what_is_run_in_place_of_a_script_is_there_and_says_why() -> None:
    for script in SCRIPTS.values():
        assert bool(script.why) is bool(script.instead)
        place, _, name = script.instead.partition("::")
        assert not place or f"def {name}" in (ROOT / place).read_text()


def test_every_script_that_is_run_must_print_something() -> None:
    assert [n for n, s in SCRIPTS.items() if not (s.holds or s.instead)] == ["net"]
    for script in SCRIPTS.values():
        assert all(map(re.compile, (*script.holds, *script.falls)))
        assert script.instead or not script.holds or script.problem("") != ""


def test_every_old_name_leads_to_a_module_of_today() -> None:
    moved = re.search(r"^MOVED = ({.*?^})", SHIM.read_text(), re.DOTALL | re.MULTILINE)
    assert moved
    for today in ast.literal_eval(moved[1]).values():
        importlib.import_module(today)


@pytest.mark.parametrize(
    ("said", "problem"),
    [("it held", ""), ("it held\nTraceback", ": Traceback"), ("no", ": it does not say 'held'")],
)
def test_a_script_is_judged_by_what_it_says(said: str, problem: str) -> None:
    assert Script(holds=("held",), falls=("Traceback",)).problem(said).startswith(problem)
    assert bool(Script(holds=("held",), falls=("Traceback",)).problem(said)) is bool(problem)


def test_a_script_that_has_changed_is_not_run_as_it_was() -> None:
    assert Script(edits=(("old", "new"),)).today("an old name", "x") == "an new name"
    with pytest.raises(ValueError, match="x has changed"):
        Script(edits=(("old", "new"),)).today("another name", "x")
