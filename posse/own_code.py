"""Code of the user's own, named `module:object`: from folders of this machine, or installed.

It is named by run files of this machine only; nothing that came over a network is imported.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

OUR_ROOMS = ("agent", "coordinator", "posse", "protocol", "topologies")
"""The packages that are ours; a user's own of the same name would hide them, or be hidden."""


def is_target(text: str) -> bool:
    """Whether this is of the form `module:object`."""
    module, colon, name = text.partition(":")
    return bool(module and colon and name)


def folders_of(base: str, path: Sequence[str]) -> list[str]:
    """The folders to import from; `path` is relative to `base`, the run file's own folder."""
    return [str((Path(base) / folder).resolve()) for folder in path]


def missing(target: str, folders: Sequence[str]) -> str:
    """A sentence if the module is not on this machine; it is looked for, not imported."""
    package = target.partition(":")[0].partition(".")[0]
    if package in sys.modules or PathFinder.find_spec(package, [*folders, *sys.path]):
        return ""
    return f"there is no module '{package}' in {', '.join(folders)}, nor installed"


def sources(target: str, folders: Sequence[str]) -> list[Path]:
    """The module's files, and those beside them in the user's `folders`; none if installed."""
    package = target.partition(":")[0].partition(".")[0]
    found: list[Path] = []
    for folder in map(Path, folders):
        if (folder / package).is_dir():
            found += (folder / package).rglob("*.py")
        if (folder / f"{package}.py").is_file():
            found += folder.glob("*.py")
    return sorted(set(found))


def load(target: str, folders: Sequence[str]) -> Any:
    """The object; whatever its module raises, or `AttributeError`."""
    for folder in folders:
        # at the end: a user's folder must not hide a package of ours
        if folder not in sys.path:
            sys.path.append(folder)
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def installed(group: str) -> dict[str, Any]:
    """What installed packages offer under an entry point group, by name, not yet imported."""
    return {entry.name: entry for entry in entry_points(group=group)}
