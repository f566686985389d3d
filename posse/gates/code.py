"""Foreign code: what is imported because a run file names it, and whose it is.

Whoever runs a file runs the code that it names. So code is imported only to run, and only what
nobody else can change: the module, each file that it imports, then or later, but for what is
installed, and the byte code that stands for one. `--trust` imports all.
"""

import importlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from posse.errors import InputError
from posse.gates import owners

MOST = 16 << 20
"""Bytes of the largest module that is imported."""


class Imports(Enum):
    """Which code is imported: none; what installed packages offer by a name; also what is installed
    or in folders of the user's or root; all.
    """

    NOTHING = 0
    OFFERED = 1
    OWN = 2
    ALL = 3


class NotTrusted(InputError):
    """The code is not imported, as the user has not said that it may be."""


class Ambiguous(NotTrusted):
    """Two packages offer one name, so that it is not known which is meant."""


_TRUSTED = [Imports.ALL]
"""The last counts. Whoever calls posse from Python names the code, too."""
_FOLDERS: set[str] = set()
"""The folders that were named."""
_INSTALLED: list[str] = []
"""Where Python itself looks for modules, before there is code of a user that may add to it."""


@contextmanager
def trusting(imports: Imports) -> Iterator[None]:
    """Import only this code within the context."""
    _TRUSTED.append(imports)
    try:
        yield
    finally:
        _TRUSTED.pop()


def trusted() -> str:
    """What is imported now, by name, for `trust` in another process."""
    return _TRUSTED[-1].name


def trust(name: str) -> None:
    """Import only this code from now on."""
    _TRUSTED[:] = [Imports[name]]


def require(target: str, package: str, folders: Sequence[str], where: str) -> None:
    """`NotTrusted` if this `target` may not be imported here; `where` says what it is.

    `package` is "" if an installed package offers the target by its name.
    """
    offered = _TRUSTED[-1] is Imports.OFFERED and not package
    if _TRUSTED[-1] in (Imports.NOTHING, Imports.OFFERED) and not offered:
        raise NotTrusted(
            f"'{target}' is code, {where}, and is not imported to read a file; with --trust it is, "
            "so look at it first"
        )
    if package and (problem := others(package, folders)):
        raise NotTrusted(f"'{target}': {problem}")


def imported(module: str, folders: Sequence[str]) -> ModuleType:
    """The module; `NotTrusted` for what others can change in these folders, also if it imports it.

    Raises whatever the module raises.
    """
    _FOLDERS.update(folders)
    if not _INSTALLED:
        _INSTALLED[:] = [
            os.path.realpath(place) + os.sep
            for place in sys.path
            if place and place not in _FOLDERS
        ]
    if _GUARD not in sys.meta_path:
        sys.meta_path.insert(0, _GUARD)
    return importlib.import_module(module)


def files_of(package: str, folders: Sequence[str]) -> list[Path]:
    """The module's file, or folder, in each of the folders that has it."""
    named = (Path(folder, name) for folder in folders for name in (f"{package}.py", package))
    return [path for path in named if path.exists()]


def unfit(path: Path) -> str:
    """A sentence if this is no file that can be imported, else "": a pipe, or endless."""
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode):
        return f"{path} is not a regular file"
    if status.st_size > MOST:
        return f"{path} has {status.st_size:,} bytes; no more than {MOST:,} are imported"
    return ""


def others(package: str, folders: Sequence[str]) -> str:
    """A sentence if another user can change what would be imported, else ""."""
    if _TRUSTED[-1] is Imports.ALL:
        return ""
    return _changed_by((*map(Path, folders), *files_of(package, folders)))


def _changed_by(places: Sequence[Path]) -> str:
    for place in places:
        if problem := owners.changed_by(place):
            return (
                f"{problem}, so no code is imported from it; look at it, then add --trust, or make "
                "it your own"
            )
    return ""


class _Guard(MetaPathFinder):
    """Finds nothing itself: looks at what Python is about to import from where nobody installs."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if _TRUSTED[-1] is Imports.ALL or not (spec := PathFinder.find_spec(name, path, target)):
            return
        at = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
        at = os.path.realpath(at)  # a folder of the user's may be on the path by a link
        named = tuple(folder + os.sep for folder in _FOLDERS)
        if at.startswith(tuple(_INSTALLED)) and not f"{at}{os.sep}".startswith(named):
            return
        places = list(_places(spec))
        if problem := _changed_by(places) or next(filter(None, map(unfit, places)), ""):
            raise NotTrusted(f"'{name}': {problem}")


def _places(spec: ModuleSpec) -> Iterator[Path]:
    """The files of a module, its byte code, and the folders that they are in."""
    files = [spec.origin if spec.has_location else None, spec.cached]
    for file in filter(None, files):
        yield from filter(Path.exists, (Path(file).parent, Path(file)))
    yield from map(Path, spec.submodule_search_locations or ())


_GUARD = _Guard()
