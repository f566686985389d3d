"""Code of the user's own, named `module:object`: from folders of this machine, or installed.

It is named by run files of this machine only; nothing that came over a network is imported.
"""

import importlib
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from posse.errors import PosseError

_HOME = Path(__file__).parents[1]
"""The folder in which our packages are."""

OUR_ROOMS = ("agent", "coordinator", "posse", "protocol", "topologies")
"""The packages that are ours; a user's own of the same name would hide them, or be hidden."""


def is_target(text: str) -> bool:
    """Whether this is of the form `module:object`."""
    module, colon, name = text.partition(":")
    return bool(module and colon and name)


def folders_of(base: str, path: Sequence[str]) -> list[str]:
    """The folders to import from; `path` is relative to `base`, the run file's own folder."""
    return [str((Path(base) / folder).resolve()) for folder in path]


def missing(target: str, folders: Sequence[str], group: str) -> str:
    """A sentence if this is not on this machine; a module is looked for, not imported."""
    if ":" not in target:
        return "" if target in installed(group) else _not_offered(group)
    package = target.partition(":")[0].partition(".")[0]
    if package in OUR_ROOMS and (own := _own_room(package, folders)):
        return f"'{package}' is a package of posse's, which hides {own}; rename yours"
    if package in sys.modules or PathFinder.find_spec(package, [*folders, *sys.path]):
        return ""
    return f"there is no module '{package}' in {', '.join(folders)}, nor installed; see path = […]"


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


def aside() -> AbstractContextManager[object]:
    """Within it what is printed goes to standard error: a result has standard output for itself.

    Not in a second thread, beside which the first prints what it likes.
    """
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return redirect_stdout(sys.stderr)


def load(target: str, folders: Sequence[str], group: str) -> Any:
    """The object that is meant by `module:object`, or by what a package offers in `group`.

    Raises whatever its module raises, or `AttributeError`.
    """
    if ":" not in target:
        with aside():
            return installed(group)[target].load()
    for folder in folders:
        # at the end: a user's folder must not hide a package of ours
        if folder not in sys.path:
            sys.path.append(folder)
    module, _, name = target.partition(":")
    with aside():
        found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def installed(group: str) -> dict[str, Any]:
    """What installed packages offer under an entry point group, by name, not yet imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (few need it)

    return {entry.name: entry for entry in entry_points(group=group)}


def require_rooms() -> None:
    """`PosseError` if a package of ours is hidden by another of its name."""
    for room in OUR_ROOMS:
        spec = find_spec(room)
        found = Path(spec.origin or "") if spec is not None else Path()
        if found.resolve() != (_HOME / room / "__init__.py").resolve():
            raise PosseError(
                f"posse's package '{room}' is hidden by {found}; rename that, or start posse from "
                "another folder and without it on PYTHONPATH"
            )


def _not_offered(group: str) -> str:
    known = ", ".join(installed(group)) or "none"
    return (
        f"no installed package offers it in {group} (known: {known}); code of your own is named "
        "'module:object'"
    )


def _own_room(package: str, folders: Sequence[str]) -> Path | None:
    """What the user has in these folders under the name of a package of ours."""
    for folder in folders:
        for found in (Path(folder, package), Path(folder, f"{package}.py")):
            if found.exists() and found.parent.resolve() != _HOME:
                return found
    return None
