"""The systems by name, as installed packages offer them (entry points `posse.systems`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from posse import defect, own_code
from posse.errors import SpecError
from posse.gates.code import NotTrusted
from posse.spec.explain import nearest
from posse.system.record import System

_GROUP = "posse.systems"
"""The entry point group under which installed packages offer systems."""

_OURS = "posse_systems"
"""The package of posse-systems, which needs no trust: it is posse's own."""

_LOADED: dict[str, System] = {}
"""Users' and packages' systems that this process, or the one it was forked from, has loaded."""


@cache
def ours() -> list[str]:
    """The names of the systems of posse-systems, paper by paper."""
    entries = own_code.installed(_GROUP).values()
    found = [entry for entry in entries if entry.module.partition(".")[0] == _OURS]
    return [entry.name for entry in sorted(found, key=lambda entry: (entry.module, entry.name))]


def names() -> list[str]:
    """The names of all systems: ours, then those of other installed packages."""
    return ours() + sorted(own_code.installed(_GROUP).keys() - set(ours()))


def find_system(name: str, folders: Sequence[str]) -> System:
    """The system that a run file of this machine names, or `SpecError`.

    `name` is one of ours or of an installed package, or `module:NAME` for the user's own code, in
    `folders` first. From then on `get_system` knows the system too.
    """
    if not own_code.is_target(name):
        return get_system(name)
    if problem := own_code.missing(name, folders, _GROUP):
        raise SpecError("system", f"'{name}': {problem}")
    return _load(name, partial(own_code.load, name, folders, _GROUP))


def know(system: System, name: str) -> None:
    """Make `get_system` return this system for a loaded name: a run was planned with it."""
    if name in _LOADED:
        _LOADED[name] = system


@contextmanager
def standing_for(name: str, system: System) -> Iterator[None]:
    """Let `get_system` return this system for a name, within the context."""
    before = _LOADED.get(name)
    _LOADED[name] = system
    try:
        yield
    finally:
        if before is None:
            del _LOADED[name]
        else:
            _LOADED[name] = before


def get_system(name: str) -> System:
    """The system of this name, or `SpecError` that names the nearest one.

    A name may come from a coordinator, so this imports only posse's and installed packages'
    systems. Other code must be loaded before, by `find_system` for a run file of this machine.
    """
    if name in _LOADED:
        return _LOADED[name]
    if name in ours():
        return _load_ours(name)
    if own_code.is_target(name):
        raise SpecError(
            "system",
            f"{name!r} names code, which is not taken from the network; start the agent with --run "
            "RUN.toml, a run file on its own machine that names it too",
        )
    if name in own_code.installed(_GROUP):
        return _load(name, partial(own_code.load, name, (), _GROUP))
    if not ours():
        why = (
            "is not installed; the papers' systems are in posse-systems: pip install posse-systems"
        )
        raise SpecError("system", f"{name!r} {why}")
    raise SpecError("system", f"{name!r} is not known; {nearest(name, names())}")


@cache
def _load_ours(name: str) -> System:
    if problem := own_code.ambiguous(name, _GROUP):
        raise SpecError("system", problem)
    system: System = own_code.installed(_GROUP)[name].load()
    return system


def _load(name: str, load: Callable[[], Any]) -> System:
    try:
        system = load()
    except NotTrusted as error:
        raise SpecError("system", str(error)) from None
    except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
        why = f"'{name}' cannot be imported: {defect.describe(error)}"
        raise SpecError("system", why) from error
    if not isinstance(system, System):
        kind = type(system).__name__
        raise SpecError("system", f"'{name}' is of type {kind}; it must be a posse.extend.System")
    _LOADED[name] = system
    return system
