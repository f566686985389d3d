"""`posse new`: write a first system, with a run file and a test that passes."""

import keyword
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import posse
from posse.cli.options import FolderToWrite
from posse.errors import InputError
from posse.gates import files

SCRIPT = ("script.py", "script.toml", "script_test.py")
PRIVATE = ("private.py", "script.toml", "script_test.py")
MACHINES = ("system.py", "run.toml", "test.py")

_NAMES = ("{name}.py", "run.toml", "test_{name}.py")
"""A system, its run file and its test, as each of the above has them."""


def new(
    name: str, /, *, private: bool = False, machines: bool = False, out: FolderToWrite | None = None
) -> None:
    """Write a first system of your own, with a run file and a test that passes.

    Nothing is overwritten.

    Args:
        name: name of the system and of its module
        private: write one with noise and a claim
        machines: write two state machines, not a script
        out: folder for the files (default: ./NAME)
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"posse new {name}: the name must be a valid Python name, as in my_system")
    if private and machines:
        raise InputError("posse new --private writes a script; leave --machines out")
    sources = PRIVATE if private else MACHINES if machines else SCRIPT
    folder = out or Path(name)
    written = [folder / pattern.format(name=name) for pattern in _NAMES]
    for path in written:
        if path.exists():
            raise InputError(f"{path} exists already; choose another folder with --out")
    if name in sys.stdlib_module_names or PathFinder.find_spec(name):
        raise InputError(
            f"posse new {name}: a module of this name is installed; choose another name"
        )
    try:
        files.make_folder(folder)
        for source, path in zip(sources, written, strict=True):
            files.write(path, text(source, name))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    print("\n".join(str(path) for path in written))
    print(f"\nRun it, and test it:\n  posse run {folder / 'run.toml'}\n  python -m pytest {folder}")
    print('The test needs pytest: pip install "posse-bandits[testing]"')


def text(source: str, name: str) -> str:
    """A file of the skeleton with the names filled in."""
    raw = files.text(Path(posse.__file__).parent / "skeleton" / source)
    return raw.replace("MODULE:SYSTEM", f"{name}:SYSTEM").replace('"NAME"', f'"{name}"')
