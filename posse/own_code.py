"""Loads the user's own code, named `module:object`, from folders of this machine or installed.

Only run files of this machine name it; nothing from a network is imported.

Python keeps one module per name for ever. Here a module always has the present content of the named
folders. If it lies in another folder, or a file beside it has changed, it and the modules beside it
are forgotten and imported again when needed. Objects made from the old modules remain.
"""

import importlib
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout, suppress
from importlib.machinery import PathFinder
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Any

Stamp = tuple[int, int, int]
"""Change time (ns), size and inode of a file; while they stay the same, so does the content."""

Group = tuple[str, tuple[str, ...]]
"""A package, and the folders in which it is looked for."""

_LOCK = threading.RLock()
_ADDED: list[str] = []
"""Folders put on `sys.path` because they were named, the last named first."""
_LOADED: dict[Group, set[str]] = {}
"""The user's files that are forgotten together, because they lie side by side."""
_STAMPS: dict[str, Stamp] = {}
"""Stamps of the user's files at the last look."""


class Edition:
    """Counts how often modules were forgotten; caches of objects made from them depend on it."""

    number = 0


def is_target(text: str) -> bool:
    """Whether the text has the form `module:object`."""
    module, colon, name = text.partition(":")
    return bool(module and colon and name)


def folders_of(base: str, path: Sequence[str]) -> list[str]:
    """The folders to import from; `path` is relative to `base`, the run file's folder."""
    return [str((Path(base) / folder).resolve()) for folder in path]


def missing(target: str, folders: Sequence[str], group: str) -> str:
    """A sentence if the target is not on this machine, else "". It does not import the module."""
    if ":" not in target:
        known = installed(group)
        said = (
            f"no installed package offers it in {group} (known: {', '.join(known) or 'none'}); "
            "name code of your own as 'module:object'"
        )
        return "" if target in known else said
    package = target.partition(":")[0].partition(".")[0]
    if package in sys.modules or PathFinder.find_spec(package, [*folders, *sys.path]):
        return ""
    return f"module '{package}' is neither in {', '.join(folders)} nor installed; see path = […]"


def sources(target: str, folders: Sequence[str]) -> list[Path]:
    """The module's files, and all modules and packages beside it in the user's `folders`.

    Empty if the module is installed.
    """
    package = target.partition(":")[0].partition(".")[0]
    found: list[Path] = []
    for folder in map(Path, folders):
        if os.path.isdir(folder / package) or os.path.isfile(folder / f"{package}.py"):
            found += folder.glob("*.py")
            for beside in folder.glob("*/"):
                # by os, which gives False for folders that we may not enter
                whole = beside.name == package or os.path.isfile(beside / "__init__.py")
                found += beside.glob("**/*.py" if whole else "*.py")
    return sorted(set(found))


def installed_sources(target: str) -> list[Path]:
    """The source files of an installed package, which is not imported; [] for ours and Python's."""
    package = target.partition(":")[0].partition(".")[0]
    if package == "posse" or package in sys.stdlib_module_names:
        return []
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return [] if spec is None else [Path(spec.origin or "")]
    return sorted(file for at in spec.submodule_search_locations for file in Path(at).rglob("*.py"))


def aside() -> AbstractContextManager[object]:
    """Redirect printed text to standard error: standard output is for the result.

    Only in the main thread: the redirection would affect all other threads.
    """
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return redirect_stdout(sys.stderr)


def load(target: str, folders: Sequence[str], group: str) -> Any:
    """The object named by `module:object`, or by the name that a package offers in `group`.

    Raises `AttributeError`, or whatever the module raises.
    """
    if ":" not in target:
        with aside():
            return installed(group)[target].load()
    module, _, name = target.partition(":")
    with _LOCK, aside():
        _make_way(target, folders)
        found: Any = importlib.import_module(module)
    if not _is_in(module, folders):
        _require_nothing_hidden(target, folders, found)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def import_path() -> list[str]:
    """`sys.path` without the folders that were named."""
    with _LOCK:
        return [folder for folder in sys.path if folder not in _ADDED]


def renew() -> None:
    """Forget the user's modules if one of their files has changed since its import."""
    with _LOCK:
        changed = _changed(_STAMPS)
        for group in [group for group, files in _LOADED.items() if files & changed]:
            _forget(group)


def stamp_of(path: str | Path) -> Stamp:
    """The stamp of a file; zeros if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def _make_way(target: str, folders: Sequence[str]) -> None:
    """Make the next import of the module come from these folders, before other named folders."""
    package = target.partition(":")[0].partition(".")[0]
    if _at(sys.modules.get(package)) and not _is_in(package, folders):
        for other in [other for other in _LOADED if other[0] == package]:
            _forget(other)
    new = [folder for folder in folders if folder in _ADDED or folder not in sys.path]
    if new != _ADDED[: len(new)]:
        before = import_path()
        _ADDED[:] = [*new, *(folder for folder in _ADDED if folder not in new)]
        # at the end: a user's folder must not hide one of our packages
        sys.path[:] = [*before, *_ADDED]
    if (group := (package, tuple(folders))) not in _LOADED:
        _LOADED[group] = {str(path) for path in sources(target, folders)} - _others(
            package, folders
        )
        _changed(_LOADED[group])


def _changed(files: Iterable[str]) -> set[str]:
    """The files whose stamps differ from the last look, which this renews."""
    now = {path: stamp_of(path) for path in files}
    found = {path for path, stamp in now.items() if _STAMPS.get(path) != stamp}
    for path in found & _STAMPS.keys():
        with suppress(OSError):  # Python checks bytecode by second and size only
            os.unlink(cache_from_source(path))
    _STAMPS.update(now)
    return found


def _require_nothing_hidden(target: str, folders: Sequence[str], found: Any) -> None:
    """`ImportError` if these folders contain a module that another of the same name hides."""
    package = target.partition(":")[0].partition(".")[0]
    for folder in folders:
        own = Path(folder, f"{package}.py"), Path(folder, package, "__init__.py")
        if hidden := [path for path in own if path.is_file()]:
            where = getattr(found, "__file__", None) or "Python"
            raise ImportError(f"{hidden[0]} is hidden by {where}; rename yours")


def _forget(group: Group) -> None:
    files = _LOADED.pop(group)
    for name, module in list(sys.modules.items()):
        at = _at(module)
        bare = name.partition(".")[0] == group[0] and any(map(os.path.isdir, at))
        if bare or at & files:
            del sys.modules[name]
    importlib.invalidate_caches()
    Edition.number += 1


def _others(package: str, folders: Sequence[str]) -> set[str]:
    """Files of packages in these folders that other code has imported, as tests beside a run do."""
    beside = {at.name for folder in folders for at in Path(folder).glob("*/")} - {package}
    ours = set[str]().union(*_LOADED.values())
    loaded = [module for name, module in sys.modules.items() if name.partition(".")[0] in beside]
    return {file for module in loaded for file in _at(module)} - ours


def _at(module: object) -> set[str]:
    """The paths of a module: its file, or the folder of a namespace package; empty if it has none.

    Given with and without symbolic links resolved, because folders are compared resolved.
    """
    found = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    folder, file = os.path.split(str(found))
    own = os.path.join(os.path.realpath(folder), file)
    return {str(found), own, os.path.realpath(found)} if found else set()


def _is_in(name: str, folders: Iterable[str]) -> bool:
    """Whether the module was imported from one of these folders itself, not from a folder below."""
    package = name.partition(".")[0]
    bases = [os.path.join(folder, package) for folder in folders]
    begins = tuple(base + end for base in bases for end in (os.sep, "."))
    return any(at in bases or at.startswith(begins) for at in _at(sys.modules[name]))


def offered() -> dict[str, str]:
    """What installed packages offer to run files: names and their `module:object`."""
    groups = ("posse.systems", "posse.arms", "posse.topologies")
    return {name: entry.value for group in groups for name, entry in installed(group).items()}


def installed(group: str) -> dict[str, Any]:
    """What installed packages offer under an entry point group, by name, not yet imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (few need it)

    return {entry.name: entry for entry in entry_points(group=group)}
