"""`posse new`: write a first system, with a run file and a test that passes."""

import argparse
import keyword
import sys
from importlib.machinery import PathFinder
from importlib.resources import files
from pathlib import Path

from posse.cli.options import place
from posse.cli.parser import Parser
from posse.errors import InputError

_FILES = {"system.py": "{name}.py", "run.toml": "run.toml", "test.py": "test_{name}.py"}


def add(parser: Parser) -> None:
    parser.option("name NAME", "name of the system and of its module")
    parser.option("--out DIR", "folder for the files (default: ./NAME)", type=place)


def run(options: argparse.Namespace) -> None:
    """Write the files, without overwriting any."""
    name: str = options.name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"posse new {name}: the name must be a valid Python name, as in my_system")
    folder = options.out or Path(name)
    written = [folder / pattern.format(name=name) for pattern in _FILES.values()]
    for path in written:
        if path.exists():
            raise InputError(f"{path} exists already; choose another folder with --out")
    if name in sys.stdlib_module_names or PathFinder.find_spec(name):
        raise InputError(
            f"posse new {name}: a module of this name is installed; choose another name"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, path in zip(_FILES, written, strict=True):
            path.write_text(text(source, name))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    print("\n".join(str(path) for path in written))
    print(f"\nRun it, and test it:\n  posse run {folder / 'run.toml'}\n  python -m pytest {folder}")
    print('The test needs pytest: pip install "posse-bandits[testing]"')


def text(source: str, name: str) -> str:
    """A file of the skeleton with the names filled in."""
    raw = (files("posse") / "skeleton" / source).read_text()
    return raw.replace("MODULE:SYSTEM", f"{name}:SYSTEM").replace('"NAME"', f'"{name}"')
