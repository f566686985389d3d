"""Tests of small faults that are planted, and found by seeds."""

import ast
from pathlib import Path

import pytest

from tests.support.mutants import Mutant, drawn, plant, tried
from tests.support.reach import ROOT

SESSION = "posse/wire/session.py"


def mutant_of(file: str, text: str) -> Mutant:
    (found,) = [m for m in drawn() if m.file == file and m.says.endswith(text)]
    return found


def test_each_that_is_drawn_can_be_planted(tmp_path: Path) -> None:
    for mutant in drawn(20, 1):
        path = tmp_path / mutant.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((ROOT / mutant.file).read_text())
        plant(mutant, tmp_path)
        original = ast.unparse(ast.parse((ROOT / mutant.file).read_text()))
        lines = zip(original.splitlines(), path.read_text().splitlines(), strict=True)
        assert sum(before != after for before, after in lines) == 1, mutant


@pytest.mark.slow
def test_a_fault_is_found_and_code_without_one_is_not_blamed() -> None:
    found = tried(mutant_of(SESSION, ": self.taken = taken"), range(3))
    assert found.found
