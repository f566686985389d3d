"""The systems by name. One file per family; adding one is described in docs/architecture.md."""

import importlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from posse import defect, own_code
from posse.errors import SpecError
from posse.families.system import System
from posse.gates.code import NotTrusted
from posse.spec.explain import nearest

_FAMILIES = {
    "mase": ("mase", "dp-mase", "corrupted-elimination", "central", "independent"),
    "cooperative": (
        "private-ucb",
        "byzantine-ucb",
        "robust-private-ucb",
        "cooperative-ucb",
        "ucb1",
        "dp-ucb-int",
        "adap-ucb",
    ),
    "players": ("tdfs-ucb", "tdfs-private-bound", "tdfs-private", "random-player"),
    "anonymous": ("anonymous", "explore-then-commit", "parallel-ucb"),
    "federated": ("cdp-mab", "ddp-mab", "hdp-mab", "single-mab"),
}

_GROUP = "posse.systems"
"""The entry point group under which installed packages offer systems."""

_LOADED: dict[str, System] = {}
"""Users' and packages' systems that this process, or the one it was forked from, has loaded."""


def ours() -> list[str]:
    """The names of posse's own systems, family by family."""
    return [name for family in _FAMILIES.values() for name in family]


def names() -> list[str]:
    """The names of all systems: ours, then those of installed packages."""
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


def get_system(name: str) -> System:
    """The system of this name, or `SpecError` that names the nearest one.

    A name may come from a coordinator, so this imports only posse's and installed packages'
    systems. Other code must be loaded before, by `find_system` for a run file of this machine.
    """
    if name in _LOADED:
        return _LOADED[name]
    for family, members in _FAMILIES.items():
        if name in members:
            return _load_family(family)[name]
    if own_code.is_target(name):
        raise SpecError(
            "system",
            f"'{name}' names code, which is not taken from the network; start the agent with --run "
            "RUN.toml, a run file on its own machine that names it too",
        )
    if name in own_code.installed(_GROUP):
        return _load(name, partial(own_code.load, name, (), _GROUP))
    raise SpecError("system", f"'{name}' is not known; {nearest(name, names())}")


@cache
def _load_family(family: str) -> dict[str, System]:
    """The systems of one of our families, by name."""
    module = importlib.import_module(f"posse.families.{family}")
    return {system.name: system for system in module.SYSTEMS}


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
