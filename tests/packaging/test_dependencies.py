"""What `pip install posse-bandits` brings is enough: for all systems' defaults, and to import."""

import ast
import json
import os
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from posse.system import names
from posse.testing.small import SMALL
from tests.support.patience import PATIENCE
from tests.support.runs import printed

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROOMS = ("posse", "agent", "coordinator", "topologies", "protocol")


def distributions(requirements: list[str]) -> set[str]:
    """The names in requirements, extras left out, and of all that these require in turn."""
    found: set[str] = set()
    todo = [r for r in requirements if "extra ==" not in r]
    while todo:
        match = re.match(r"[\w.-]+", todo.pop())
        assert match
        name = re.sub(r"[-_.]+", "-", match[0]).lower()
        if name not in found:
            found.add(name)
            try:
                required = metadata.requires(name) or []
            except metadata.PackageNotFoundError:
                continue  # for another Python or another system
            todo += [r for r in required if "extra ==" not in r]
    return found


def modules(requirements: list[str]) -> set[str]:
    """The top-level modules that these requirements bring."""
    wanted = distributions(requirements)
    brought = metadata.packages_distributions()
    return {
        module
        for module, by in brought.items()
        if any(re.sub(r"[-_.]+", "-", name).lower() in wanted for name in by)
    }


DEFAULT = modules(PROJECT["dependencies"])

RUN_ALL = """
import json
import sys
from importlib import metadata
from importlib.abc import MetaPathFinder

allowed = set(sys.argv[1].split(","))
known = set(metadata.packages_distributions()) - allowed

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in known:
            raise ModuleNotFoundError(f"{name} is not among the dependencies", name=name)

sys.meta_path.insert(0, Absent())

import posse
for system, run in json.loads(sys.argv[2]).items():
    print(system, posse.run({**run, "system": system}, engine="memory").runs[0].status)
"""


@pytest.mark.slow
def test_every_system_runs_on_the_default_dependencies() -> None:
    arguments = [
        ",".join(DEFAULT | {*ROOMS, "posse_systems"}),
        json.dumps({name: SMALL[name] for name in names()}),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = printed([sys.executable, "-P", "-c", RUN_ALL, *arguments], env=env, timeout=PATIENCE)
    assert [line.split()[0] for line in said.splitlines()] == names()


@pytest.mark.slow
def test_what_is_imported_is_a_dependency_or_an_extra_that_is_loaded_when_asked_for() -> None:
    """At the top of a file, a dependency; an extra in functions and what is its own."""
    own = (
        ROOT / "posse/report",
        ROOT / "posse/testing/plugin.py",
        ROOT / "posse/live/http.py",
    )
    extras = [r for name in PROJECT["optional-dependencies"].values() for r in name]
    optional = modules(extras) | {"IPython"}  # a notebook has it; nobody else comes there
    wrong = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if path.is_relative_to(ROOT / "posse/skeleton"):
                continue  # what posse new writes, with its test
            tree = ast.parse(path.read_text())
            its_own = any(path.is_relative_to(place) for place in own)
            at_the_top = set() if its_own else {id(node) for node in tree.body}
            for node in ast.walk(tree):
                match node:
                    case ast.Import():
                        imported = [alias.name for alias in node.names]
                    case ast.ImportFrom(module=str(module), level=0):
                        imported = [module]
                    case _:
                        continue
                for name in imported:
                    top = name.partition(".")[0]
                    enough = DEFAULT if id(node) in at_the_top else DEFAULT | optional
                    if top not in enough | sys.stdlib_module_names | set(ROOMS):
                        wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} imports {top}")
    assert wrong == []
