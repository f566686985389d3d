"""`posse list`: the systems, arms and topologies that there are, with their keys."""

import argparse
import difflib

from posse.cli.options import Commands
from posse.errors import SpecError

_SECTIONS = ("all", "systems", "arms", "topologies", "claims")


def add(commands: Commands) -> None:
    """The verb and its options."""
    parser = commands.add_parser("list", help="systems, arms and topologies, with their parameters")
    parser.add_argument(
        "what",
        nargs="?",
        default="all",
        help="systems, arms, topologies, claims, or the name of one system (default: all)",
    )
    parser.set_defaults(command=run)


def names() -> list[str]:
    """What may be asked for."""
    from posse import systems

    return [*_SECTIONS, *systems.names()]


def run(options: argparse.Namespace) -> None:
    """Print systems, arms and topologies, or one system."""
    what = options.what
    if what not in names():
        close = difflib.get_close_matches(what, names(), n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise SpecError(f"posse list {what}", f"not known; {hint}known: {', '.join(names())}")
    if what not in _SECTIONS:
        _system(what)
    if what == "claims":
        from posse.cli import claims

        print(claims.text(), end="")
    if what in {"all", "systems"}:
        _systems()
    if what in {"all", "arms"}:
        _arms()
    if what in {"all", "topologies"}:
        _topologies()
    if what == "all":
        from posse.cli import fields
        from posse.spec.activity import ActivitySpec

        print("\nACTIVITY  ([agents] activity = { … })\n")
        fields.show(ActivitySpec)


def _systems() -> None:
    from posse import systems

    print("SYSTEMS  (system = …; [parameters])")
    for name in systems.names():
        _system(name)


def _arms() -> None:
    from posse.arms import KINDS
    from posse.cli import fields

    print("\nARMS  ([arms] kind = …)")
    for name, kind in KINDS.items():
        print(f"\n  {name}")
        fields.show(kind)


def _topologies() -> None:
    from msgspec import inspect

    from posse.cli import fields
    from posse.spec.topology import KINDS

    print("\nTOPOLOGIES  ([topology] kind = …)")
    for topology in KINDS:
        info = inspect.type_info(topology)
        assert isinstance(info, inspect.StructType)
        print(f"\n  {info.tag}: {(topology.__doc__ or '').splitlines()[0]}")
        fields.show(topology)


def _system(name: str) -> None:
    from posse.cli import fields
    from posse.systems import get_system
    from posse.systems.base import LabOnly

    system = get_system(name)
    print(f"\n  {name}: {system.title}")
    print(f"    {system.paper}; clock: {', '.join(system.clocks)}")
    if isinstance(system.field, LabOnly):
        print(f"    not for the field: it {system.field.why}")
    fields.show(system.parameters)
