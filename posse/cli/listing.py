"""`posse list`: the systems, arms and topologies that there are, with their keys."""

import argparse

from msgspec import inspect

from posse import arms, systems
from posse.cli import claims, fields
from posse.errors import SpecError
from posse.spec import topology
from posse.spec.activity import ActivitySpec
from posse.spec.explain import nearest
from posse.systems import get_system
from posse.systems.base import LabOnly

_SECTIONS = ("all", "systems", "arms", "topologies", "claims")


def add(parser: argparse.ArgumentParser) -> None:
    """The verb and its options."""
    parser.add_argument(
        "what",
        nargs="?",
        default="all",
        help="systems, arms, topologies, claims, or the name of one system (default: all)",
    )
    parser.set_defaults(command=run)


def names() -> list[str]:
    """What may be asked for."""
    return [*_SECTIONS, *systems.names()]


def run(options: argparse.Namespace) -> None:
    """Print systems, arms and topologies, or one system."""
    what = options.what
    if what not in names():
        raise SpecError(f"posse list {what}", f"not known; {nearest(what, names())}")
    if what not in _SECTIONS:
        _system(what)
    if what == "claims":
        print(claims.text(), end="")
    if what in {"all", "systems"}:
        _systems()
    if what in {"all", "arms"}:
        _arms()
    if what in {"all", "topologies"}:
        _topologies()
    if what == "all":
        print("\nACTIVITY  ([agents] activity = { … })\n")
        fields.show(ActivitySpec)


def _systems() -> None:
    print("SYSTEMS  (system = …; [parameters])")
    for name in systems.names():
        _system(name)


def _arms() -> None:
    print("\nARMS  ([arms] kind = …)")
    for name, kind in arms.KINDS.items():
        print(f"\n  {name}")
        fields.show(kind)


def _topologies() -> None:
    print("\nTOPOLOGIES  ([topology] kind = …)")
    for kind in topology.KINDS:
        info = inspect.type_info(kind)
        assert isinstance(info, inspect.StructType)
        print(f"\n  {info.tag}: {(kind.__doc__ or '').splitlines()[0]}")
        fields.show(kind)


def _system(name: str) -> None:
    system = get_system(name)
    print(f"\n  {name}: {system.title}")
    print(f"    {system.paper}; clock: {', '.join(system.clocks)}")
    if isinstance(system.field, LabOnly):
        print(f"    not for the field: it {system.field.why}")
    fields.show(system.parameters)
