"""`posse list` and `posse check`: what there is, and what a run file means."""

import difflib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as mi

from posse import systems
from posse.arms import KINDS
from posse.errors import SpecError
from posse.plan import Plan
from posse.spec.activity import ActivitySpec
from posse.spec.topology import KINDS as KINDS_OF_TOPOLOGY
from posse.systems.base import LabOnly

_SECTIONS = ("all", "systems", "arms", "topologies")


def names() -> list[str]:
    """What `posse list` may be asked for."""
    return [*_SECTIONS, *systems.names()]


def show(what: str) -> None:
    """Print systems, arms and topologies, or one system."""
    if what in systems.names():
        _system(what)
        return
    if what not in _SECTIONS:
        close = difflib.get_close_matches(what, names(), n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise SpecError(f"posse list {what}", f"not known; {hint}known: {', '.join(names())}")
    if what in {"all", "systems"}:
        print("SYSTEMS  (system = …; [parameters])")
        for name in systems.names():
            _system(name)
    if what in {"all", "arms"}:
        print("\nARMS  ([arms] kind = …)")
        for name, kind in KINDS.items():
            print(f"\n  {name}")
            _fields(kind)
    if what in {"all", "topologies"}:
        print("\nTOPOLOGIES  ([topology] kind = …)")
        for topology in KINDS_OF_TOPOLOGY:
            info = mi.type_info(topology)
            assert isinstance(info, mi.StructType)
            print(f"\n  {info.tag}: {(topology.__doc__ or '').splitlines()[0]}")
            _fields(topology)
    if what == "all":
        print("\nACTIVITY  ([agents] activity = { … })\n")
        _fields(ActivitySpec)


def _system(name: str) -> None:
    system = systems.get_system(name)
    print(f"\n  {name}: {system.title}")
    print(f"    {system.paper}; clock: {', '.join(system.clocks)}")
    if isinstance(system.field, LabOnly):
        print(f"    not for the field: it {system.field.why}")
    _fields(system.parameters)


def _fields(kind: Any) -> None:
    info = mi.type_info(kind)
    assert isinstance(info, mi.StructType)
    width = max((len(field.encode_name) for field in info.fields), default=0)
    for field in info.fields:
        text, description = _type(field.type)
        if field.required:
            default = "required"
        elif field.default is not msgspec.NODEFAULT:
            default = (
                "default none" if field.default is None else f"default {_plain(field.default)}"
            )
        else:
            default = f"default {_plain(field.default_factory())}"
        parts = [f"{text}; {default}"] + ([description] if description else [])
        print(f"      {field.encode_name:<{width}}  {'. '.join(parts)}")


def _plain(value: Any) -> str:
    if isinstance(value, msgspec.Struct):
        return str(msgspec.to_builtins(value))
    return repr(value)


def _type(info: Any) -> tuple[str, str]:
    """A field's type with its bounds, and its description, for a person."""
    if isinstance(info, mi.Metadata):
        text, _ = _type(info.type)
        return text, str((info.extra_json_schema or {}).get("description", ""))
    if isinstance(info, mi.UnionType):
        parts = [_type(part) for part in info.types if not isinstance(part, mi.NoneType)]
        return " or ".join(text for text, _ in parts), next((d for _, d in parts if d), "")
    if isinstance(info, mi.LiteralType):
        return " | ".join(f'"{value}"' for value in info.values), ""
    if isinstance(info, mi.IntType | mi.FloatType):
        name = "integer" if isinstance(info, mi.IntType) else "number"
        signs = (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
        bounds = [f"{s} {getattr(info, a):g}" for a, s in signs if getattr(info, a) is not None]
        return " ".join([name, " and ".join(bounds)]).strip(), ""
    names: dict[Any, str] = {mi.StrType: "string", mi.BoolType: "true or false"}
    if type(info) in names:
        return names[type(info)], ""
    if isinstance(info, mi.ListType):
        return f"list of {_type(info.item_type)[0]}", ""
    if isinstance(info, mi.TupleType):
        return f"[{', '.join(_type(item)[0] for item in info.item_types)}]", ""
    if isinstance(info, mi.StructType):
        keys = ", ".join(field.encode_name for field in info.fields)
        return f"table ({keys})", ""
    return "any", ""


def describe(plan: Plan, path: Path) -> None:
    """Print what a checked run file means."""
    spec, system = plan.spec, plan.system
    print(f"{path}: {system.name}, {system.title} ({system.paper})")
    print(
        f"  variant {spec.variant}; {spec.agents.count} agents; {spec.arms.arm_count()} arms; "
        f"{spec.repeat} run(s) from seed {spec.seed}"
    )
    engine = f"  engine {spec.engine.kind}, clock {plan.clock}"
    print(f"{engine}, {spec.engine.transport}" if spec.engine.kind == "processes" else engine)
    for name, value in msgspec.to_builtins(plan.parameters).items():
        print(f"  parameters.{name} = {value}")
    if (claim := plan.claim) is not None:
        print(f"  claim: {claim.mechanism}, unit {claim.unit}, against {claim.adversary}")
        if claim.note:
            print(f"         {claim.note}")
    for advice in plan.advice():
        print(f"  warning: {advice}")
    if absent := plan.missing():
        print(f"  not on this machine: {absent}")
