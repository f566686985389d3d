"""The systems by name. One file per family; adding one is described in docs/architecture.md."""

import difflib
import importlib

from posse.errors import SpecError
from posse.systems.base import System
from posse.systems.context import AgentContext, CoordinatorContext

_FAMILIES = {
    "mase": ("mase", "dp-mase", "corrupted-elimination", "central", "independent"),
    "cooperative": ("private-ucb", "byzantine-ucb", "cooperative-ucb"),
    "lone": ("ucb1", "dp-ucb-int", "adap-ucb"),
    "players": ("tdfs-ucb", "tdfs-private-bound", "tdfs-private", "random-player"),
    "anonymous": ("anonymous", "explore-then-commit", "parallel-ucb"),
    "federated": ("cdp-mab", "ddp-mab", "hdp-mab", "single-mab"),
}

_REGISTERED: dict[str, System] = {}


def register(system: System) -> None:
    """Make a system known that was built outside this package, in this process and its forks."""
    _REGISTERED[system.name] = system


def names() -> list[str]:
    """All systems, in the order of the papers."""
    return [name for family in _FAMILIES.values() for name in family]


def get_system(name: str) -> System:
    """The system of this name, or `SpecError` with the nearest one."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    for family, members in _FAMILIES.items():
        if name in members:
            module = importlib.import_module(f"posse.systems.{family}")
            found: System = module.SYSTEMS[name]
            return found
    close = difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise SpecError("system", f"'{name}' is not known; {hint}known: {', '.join(names())}")


__all__ = ["AgentContext", "CoordinatorContext", "System", "get_system", "names", "register"]
