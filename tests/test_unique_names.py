"""A public type has a name of its own: no other module has one of that name."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("agent", "coordinator", "posse", "protocol", "systems", "topologies")


def test_no_public_type_name_stands_in_two_modules() -> None:
    modules: dict[str, set[str]] = defaultdict(set)
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if path.parent.is_symlink() or any(up.is_symlink() for up in path.parents):
                continue  # posse/agent is agent
            if path.parent.name == "skeleton":
                continue  # forms of one example
            for name in _types(ast.parse(path.read_text())):
                modules[name].add(str(path.relative_to(ROOT)))
    assert {"Plan", "FloatArray", "MaseVoter"} <= modules.keys()
    assert {name: files for name, files in modules.items() if len(files) > 1} == {}


def _types(module: ast.Module) -> list[str]:
    """Its public classes, type variables and aliases of types (capitalised, not constants)."""
    names = []
    for statement in module.body:
        match statement:
            case ast.ClassDef(name=name):
                names.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
    return [name for name in names if name[0].isupper() and not name.isupper()]
