"""`posse list`: the systems, arms and topologies available, with their keys."""

import inspect
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
from cyclopts import Parameter
from msgspec import inspect as mi

from posse import defect, own_code
from posse import system as families
from posse.arms import ArmsSpec
from posse.cli.options import Trust
from posse.cli.streams import wrapped
from posse.errors import SpecError
from posse.spec.activity import ActivitySpec
from posse.spec.explain import nearest
from posse.spec.topology import TopologySpec
from posse.system import get_system
from posse.system.record import LabOnly

_ARMS, _TOPOLOGIES = (
    {kind.__struct_config__.tag: kind for kind in get_args(spec)}
    for spec in (ArmsSpec, TopologySpec)
)
_SECTIONS = {
    "systems": "SYSTEMS  (system = …)",
    "arms": "ARMS  ([arms] kind = …)",
    "topologies": "TOPOLOGIES  ([topology] kind = …)",
    "activity": "ACTIVITY  ([agents] activity = { … })",
}
_GROUPS = {"arms": "posse.arms", "topologies": "posse.topologies"}
"""Where packages offer what a run file names as `target`, beside systems."""

_NAMED = ("systems", "arms", "topologies")
"""Sections of which there is a table of names."""

_HANG = 22
"""Characters of a name at most under which nothing else is written."""

_MORE = "posse list NAME shows one with its keys, posse list all shows the keys of all."


def names() -> list[str]:
    """The names that may be asked for."""
    offered = (name for group in _GROUPS.values() for name in own_code.installed(group))
    known = ["all", *_SECTIONS, *families.names(), *_ARMS, *_TOPOLOGIES, *offered]
    return list(dict.fromkeys(known))


def list_names(
    name: Annotated[str, Parameter(completer=lambda _: names())] = "",
    /,
    *,
    trust: Trust = Trust(),
) -> None:
    """List systems, arms and topologies with their parameters.

    Args:
        name: one system, kind of arms or topology, or your own system as MODULE:NAME, to see its
            keys; systems, arms or topologies to see all names; activity; or all, for all keys of
            all
    """
    if own_code.is_target(name):
        families.find_system(name, [str(Path.cwd())])
        _print_system(name)
    elif name and name not in names():
        raise SpecError(
            f"posse list {name}",
            f"not known; {nearest(name, names(), 'posse list')}",
        )
    elif name in ("", *_NAMED):
        _print_names([name] if name else _NAMED)
    else:
        _print_keys(name)


def _print_names(sections: Sequence[str]) -> None:
    """Print a table for each section: its names, and what each of them is."""
    titles = {
        "systems": {name: _title_of(name) for name in families.names()},
        "arms": {name: _purpose_of(kind) for name, kind in _ARMS.items()},
        "topologies": {name: _purpose_of(kind) for name, kind in _TOPOLOGIES.items()},
    }
    for section, group in _GROUPS.items():
        titles[section] |= {
            name: f'of {own_code.package_of(entry)}: kind = "python", target = "{name}"'
            for name, entry in own_code.installed(group).items()
            if name not in titles[section]
        }
    for section in sections:
        width = max(map(len, titles[section]))
        print(_SECTIONS[section])
        for name, title in titles[section].items():
            print(wrapped(f"  {name:<{width}}  {title}", min(width, _HANG) + 4))
        print()
    print(wrapped(_MORE, 0))


def _print_keys(what: str) -> None:
    """Print with all keys what has this name, or everything."""
    arms, topologies = (own_code.installed(group) for group in _GROUPS.values())
    asked = {
        "systems": [name for name in families.names() if what in ("all", name)],
        "arms": [name for name in {**_ARMS, **arms} if what in ("all", name)],
        "topologies": [name for name in {**_TOPOLOGIES, **topologies} if what in ("all", name)],
        "activity": ["activity"] * (what in ("all", "activity")),
    }
    for section, chosen in asked.items():
        if chosen and what not in asked["systems"]:
            print(f"\n{_SECTIONS[section]}")
        for name in chosen:
            if section == "systems":
                _print_system(name, alone=what == name)
            elif section == "activity":
                _print_table(ActivitySpec)
            elif name not in {**_ARMS, **_TOPOLOGIES}:
                _print_offered(name, _GROUPS[section])
            else:
                kind = (_ARMS if section == "arms" else _TOPOLOGIES)[name]
                print("\n" + wrapped(f"  {name}: {_purpose_of(kind)}", 4))
                _print_table(kind)


def _print_offered(name: str, group: str) -> None:
    """Print arms or a topology of a package: what it says of itself, and what it is made from."""
    entry = own_code.installed(group)[name]
    try:
        made = own_code.load(name, (), group)
    except (Exception, SystemExit) as error:
        print("\n" + wrapped(f"  {name}: cannot be used: {defect.describe(error)}", 4))
        return
    purpose = (inspect.getdoc(made) or "says nothing of itself").splitlines()[0]
    print("\n" + wrapped(f"  {name}: {purpose}", 4))
    by = f"{own_code.package_of(entry)}; {entry.value}{_signature(made)}"
    print(wrapped(f'      kind = "python", target = "{name}"; of {by}', 8))


def _signature(made: Any) -> str:
    try:
        return str(inspect.signature(made))
    except (TypeError, ValueError):
        return ""


def _purpose_of(kind: Any) -> str:
    return (kind.__doc__ or "").splitlines()[0]


def _title_of(name: str) -> str:
    """What a system is; why it cannot be used if it is faulty, so that it hides no other."""
    try:
        return get_system(name).title
    except SpecError as error:
        return f"cannot be used: {error}"


def _print_system(name: str, *, alone: bool = True) -> None:
    """Print a system with its keys; one of many may be faulty."""
    try:
        system = get_system(name)
    except SpecError as error:
        if alone:
            raise
        print("\n" + wrapped(f"  {name}: {error}", 4))
        return
    print("\n" + wrapped(f"  {name}: {system.title}", 4))
    print(wrapped(f"    {system.paper}; clock: {', '.join(system.clocks)}", 6))
    if isinstance(system.field, LabOnly):
        print(wrapped(f"    not for the field: it {system.field.why}", 6))
    _print_table(system.parameters)


def _print_table(kind: Any) -> None:
    """Print a table of a run file: each key with its type, bounds, default and description."""
    fields = msgspec.structs.fields(kind)
    width = max((len(field.encode_name) for field in fields), default=0)
    for field in fields:
        text, description = _kind_of(mi.type_info(field.type))
        default = "required"
        if not field.required:
            has_factory = field.default is msgspec.NODEFAULT
            value = field.default_factory() if has_factory else field.default
            default = "optional" if value is None else f"default {in_toml(value)}"
        meaning = ". ".join(filter(None, (f"{text}; {default}", description)))
        print(wrapped(f"      {field.encode_name:<{width}}  {meaning}", width + 8))


def in_toml(value: Any) -> str:
    """A value as a run file writes it; numbers to six digits."""
    match value:
        case bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return f"{value:.6g}"
        case msgspec.Struct():
            return in_toml(msgspec.to_builtins(value))
        case dict():
            keys = (f"{key} = {in_toml(item)}" for key, item in value.items() if item is not None)
            return f"{{ {', '.join(keys)} }}" if value else "{}"
        case list() | tuple():
            return f"[{', '.join(map(in_toml, value))}]"
    return str(value)


def _kind_of(info: Any) -> tuple[str, str]:
    """A field's type with bounds, in words, and its description."""
    if isinstance(info, mi.Metadata):
        text, _ = _kind_of(info.type)
        return text, str((info.extra_json_schema or {}).get("description", ""))
    if isinstance(info, mi.DictType):
        return "table", ""
    if isinstance(info, mi.UnionType):
        parts = [_kind_of(part) for part in info.types if not isinstance(part, mi.NoneType)]
        return " or ".join(dict.fromkeys(text for text, _ in parts)), next(
            (d for _, d in parts if d), ""
        )
    if isinstance(info, mi.LiteralType):
        return " | ".join(map(in_toml, info.values)), ""
    if isinstance(info, mi.IntType | mi.FloatType):
        name = "integer" if isinstance(info, mi.IntType) else "number"
        signs = (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
        bounds = [
            f"{s} {in_toml(getattr(info, a))}" for a, s in signs if getattr(info, a) is not None
        ]
        return " ".join([name, " and ".join(bounds)]).strip(), ""
    names: dict[Any, str] = {mi.StrType: "string", mi.BoolType: "true or false"}
    if type(info) in names:
        return names[type(info)], ""
    if isinstance(info, mi.ListType | mi.VarTupleType):
        item = info.item_type
        items = item.types if isinstance(item, mi.UnionType) else [item]
        if len(items) > 1 and all(isinstance(part, mi.StructType) for part in items):
            return "list of tables, each with its kind", ""
        return " or ".join(f"list of {_several(_kind_of(part)[0])}" for part in items), ""
    if isinstance(info, mi.TupleType):
        return f"[{', '.join(_kind_of(item)[0] for item in info.item_types)}]", ""
    if isinstance(info, mi.StructType):
        keys = ", ".join(field.encode_name for field in info.fields)
        return f"table ({keys})", ""
    return "any", ""


def _several(text: str) -> str:
    """The plural, as in "list of numbers"."""
    return re.sub(r"^(number|integer|string|list|table)\b", r"\1s", text)
