"""What posse makes public for systems: by theme, none of more than forty names, each in use."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import posse.seam

ROOT = Path(__file__).parents[1]
THEMES = [module.name for module in pkgutil.iter_modules(posse.seam.__path__)]


def names_in_use() -> set[tuple[str, str]]:
    """(theme, name) of all that posse-systems imports of posse."""
    found = set()
    for path in (ROOT / "systems" / "posse_systems").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("posse.seam."):
                theme = str(node.module).rpartition(".")[2]
                found |= {(theme, alias.name) for alias in node.names}
    return found


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_has_at_most_forty_names_and_all_are_in_use(theme: str) -> None:
    public = importlib.import_module(f"posse.seam.{theme}").__all__
    assert len(public) <= 40
    assert set(public) == {name for of, name in names_in_use() if of == theme}
