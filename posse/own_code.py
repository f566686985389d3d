"""Loads the user's own code, named `module:object`, from folders of this machine or installed.

Only run files of this machine name it; nothing from a network is imported. `posse.gates.code`
decides what is; reading results never comes here.

As everywhere in Python, a process keeps one module of each name, as it was when it was imported.
Another module of that name, and a file that was edited since, are refused in a sentence: nothing is
imported again, so what runs is always what the files say.
"""

import importlib
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import (
    AbstractContextManager,
    nullcontext,
    redirect_stdout,
)
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from posse.errors import InputError
from posse.gates import code
from posse.gates.code import Imports, NotTrusted, trusting

__all__ = ["Imports", "NotTrusted", "load", "trusting"]

Stamp = tuple[int, int, int]
"""Change time (ns), size and inode of a file; while they stay the same, so does the content."""

_LOCK = threading.RLock()
_ADDED: list[str] = []
"""Folders put on `sys.path` because they were named, the last named first."""
_NAMED: set[str] = set()
"""All folders that were named."""
_IMPORTED: dict[str, tuple[ModuleSpec, Stamp]] = {}
"""For each module of the user's: its specification, which `importlib.reload` renews, and stamp."""
_LOOKED_AT: dict[str, ModuleSpec] = {}
"""Modules of which `_take_stamps` knows already whether they are from these folders."""


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
        problem = (
            f"no installed package offers it in {group} (known: {', '.join(known) or 'none'}); "
            "name code of your own as 'module:object'"
        )
        return ambiguous(target, group) if target in known else problem
    package = target.partition(":")[0].partition(".")[0]
    # by all finders last: a package that is installed editable has one of its own
    if (
        package in sys.modules
        or PathFinder.find_spec(package, [*folders, *sys.path])
        or find_spec(package)
    ):
        unfit = map(code.unfit, code.files_of(package, folders))
        return next(filter(None, unfit), "") or code.others(package, folders)
    return f"module '{package}' is neither in {', '.join(folders)} nor installed; see path = […]"


def sources(target: str, folders: Sequence[str]) -> list[Path]:
    """The module's files, and all modules and packages beside it in the user's `folders`.

    Empty if the module is installed.
    """
    package = target.partition(":")[0].partition(".")[0]
    files: list[Path] = []
    for folder in map(Path, folders):
        if os.path.isdir(folder / package) or os.path.isfile(folder / f"{package}.py"):
            files += folder.glob("*.py")
            for beside in folder.glob("*/"):
                # by os, which gives False for folders that we may not enter
                whole = beside.name == package or os.path.isfile(beside / "__init__.py")
                files += beside.glob("**/*.py" if whole else "*.py")
    return sorted(set(files))


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
    return sorted(
        file for folder in spec.submodule_search_locations for file in Path(folder).rglob("*.py")
    )


def aside() -> AbstractContextManager[object]:
    """Redirect printed text to standard error: standard output is for the result.

    Only in the main thread: the redirection would affect all other threads.
    """
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return redirect_stdout(sys.stderr)


def load(target: str, folders: Sequence[str], group: str) -> Any:
    """The object named by `module:object`, or by the name that a package offers in `group`.

    Raises `NotTrusted`, `AttributeError`, or whatever the module raises.
    """
    _require_trust(target, folders, group)
    if ":" not in target:
        if problem := ambiguous(target, group):
            raise code.Ambiguous(problem)
        with aside():
            return installed(group)[target].load()
    module, _, name = target.partition(":")
    with _LOCK, aside():
        _put_on_path(folders)
        loaded: Any = code.imported(module, folders)
        if not _is_in(module, folders):
            _require_nothing_hidden(target, folders, loaded)
        _take_stamps()
    for part in name.split("."):
        loaded = getattr(loaded, part)
    return loaded


def _require_trust(target: str, folders: Sequence[str], group: str) -> None:
    """`NotTrusted` if this code may not be imported here."""
    package = target.partition(":")[0].partition(".")[0] if ":" in target else ""
    files = code.files_of(package, folders) if package else []
    what = target if package else installed(group)[target].value
    where = f"in {files[0]}" if files else "of an installed package"
    code.require(target, package, folders, f"'{what}' {where}")


def import_path() -> list[str]:
    """`sys.path` without the folders that were named."""
    with _LOCK:
        return [folder for folder in sys.path if folder not in _ADDED]


def require_unchanged() -> None:
    """`InputError` if a file of the user's was edited since this process imported it."""
    with _LOCK:
        _take_stamps()
        for spec, stamp in _IMPORTED.values():
            if stamp_of(spec.origin or "") != stamp:
                raise InputError(
                    f"{spec.origin} was changed after this process had imported it; start the "
                    "process again (in a notebook: restart the kernel)"
                )


def stamp_of(path: str | Path) -> Stamp:
    """The stamp of a file; zeros if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino


def _put_on_path(folders: Sequence[str]) -> None:
    """Let modules be imported from these folders, before those that were named earlier."""
    if not _NAMED.issuperset(folders):
        _NAMED.update(folders)
        _LOOKED_AT.clear()
    new = [folder for folder in folders if folder in _ADDED or folder not in sys.path]
    if new != _ADDED[: len(new)]:
        before = import_path()
        _ADDED[:] = [*new, *(folder for folder in _ADDED if folder not in new)]
        # at the end: a user's folder must not hide one of our packages
        sys.path[:] = [*before, *_ADDED]
        importlib.invalidate_caches()


def _take_stamps() -> None:
    """Note the files of modules that were imported, or reloaded, from the folders meanwhile."""
    if not _NAMED:
        return
    begins = tuple(folder + os.sep for folder in _NAMED)
    for name, module in list(sys.modules.items()):
        spec: ModuleSpec | None = getattr(module, "__spec__", None)
        if spec is None or _LOOKED_AT.get(name) is spec:
            continue
        _LOOKED_AT[name] = spec
        origin = (spec.has_location and spec.origin) or ""
        if name.partition(".")[0] == "posse":  # a run file may lie in a checkout
            continue
        if not origin.startswith(begins) or not _is_in(name, _NAMED):
            continue
        if name not in _IMPORTED or _IMPORTED[name][0] is not spec:
            _IMPORTED[name] = spec, stamp_of(origin)


def _require_nothing_hidden(target: str, folders: Sequence[str], loaded: Any) -> None:
    """`ImportError` if these folders contain a module that another of the same name hides."""
    package = target.partition(":")[0].partition(".")[0]
    for folder in folders:
        own = Path(folder, f"{package}.py"), Path(folder, package, "__init__.py")
        if hidden := [path for path in own if path.is_file()]:
            where = getattr(loaded, "__file__", None) or "Python"
            raise ImportError(
                f"{hidden[0]} is hidden by {where}; rename yours, or use another process for it"
            )


def _paths_of(module: object) -> set[str]:
    """The paths of a module: its file, or the folder of a namespace package; empty if it has none.

    Given with and without symbolic links resolved, because folders are compared resolved.
    """
    place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    folder, file = os.path.split(str(place))
    own = os.path.join(os.path.realpath(folder), file)
    return {str(place), own, os.path.realpath(place)} if place else set()


def _is_in(name: str, folders: Iterable[str]) -> bool:
    """Whether the module was imported from one of these folders itself, not from a folder below."""
    package = name.partition(".")[0]
    bases = [os.path.join(folder, package) for folder in folders]
    begins = tuple(base + end for base in bases for end in (os.sep, "."))
    return any(path in bases or path.startswith(begins) for path in _paths_of(sys.modules[name]))


def offered() -> dict[str, list[str]]:
    """What installed packages offer to run files: names and each `module:object` of that name."""
    found: dict[str, list[str]] = {}
    for group in ("posse.systems", "posse.arms", "posse.topologies"):
        for name, entries in _entries(group).items():
            found.setdefault(name, []).extend(entry.value for entry in entries)
    return found


def installed(group: str) -> dict[str, Any]:
    """What installed packages offer under an entry point group, by name, not yet imported.

    Where several offer one name this has the first; `load` refuses it.
    """
    return {name: entries[0] for name, entries in _entries(group).items()}


def package_of(entry: Any) -> str:
    """The name of the distribution that offers this."""
    return str(entry.dist.name) if entry.dist is not None else "a package"


def _entries(group: str) -> dict[str, list[Any]]:
    """All entry points of a group by name; a package that is found twice counts once."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (few need it)

    found: dict[str, dict[Any, Any]] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, {}).setdefault((package_of(entry), entry.value), entry)
    return {name: [entries[key] for key in sorted(entries)] for name, entries in found.items()}


def ambiguous(name: str, group: str) -> str:
    """A sentence if several packages offer this name, else ""."""
    entries = _entries(group)[name]
    if len(entries) == 1:
        return ""
    by = " and by ".join(f"{package_of(entry)} as '{entry.value}'" for entry in entries)
    return f"'{name}' is offered by {by}; write the one that is meant as 'module:object'"
