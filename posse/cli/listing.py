"""`posse list`: the systems, arms and topologies available, with their keys."""

import argparse
import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import inspect as mi

from posse import families, own_code
from posse.arms import ArmsSpec
from posse.cli import claims
from posse.cli.parser import Parser
from posse.cli.streams import wrapped
from posse.errors import SpecError
from posse.families import get_system
from posse.families.system import LabOnly
from posse.spec.activity import ActivitySpec
from posse.spec.explain import nearest
from posse.spec.topology import TopologySpec

_SECTIONS = ("all", "systems", "arms", "topologies", "claims")
_ARMS, _TOPOLOGIES = (
    {kind.__struct_config__.tag: kind for kind in get_args(spec)}
    for spec in (ArmsSpec, TopologySpec)
)


def add(parser: Parser) -> None:
    parser.option(
        "what",
        "systems, arms, topologies, claims, all, or the name of one system, kind of arms or "
        "topology; your own system as MODULE:NAME",
        nargs="?",
        default="all",
        offered=names,
    )


def names() -> list[str]:
    """The names that may be asked for."""
    return list(dict.fromkeys([*_SECTIONS, *families.names(), *_ARMS, *_TOPOLOGIES]))


def run(options: argparse.Namespace) -> None:
    what = options.what
    if own_code.is_target(what):
        families.find_system(what, [str(Path.cwd())])
    elif what not in names():
        raise SpecError(f"posse list {what}", f"not known; {nearest(what, names(), 'posse list')}")
    if own_code.is_target(what) or what in families.names():
        _system(what)
    if what == "claims":
        print(claims.text(), end="")
    if what in {"all", "systems"}:
        print("SYSTEMS  (system = …; [parameters])")
        for name in families.names():
            try:
                _system(name)
            except SpecError as error:  # one faulty package must not hide the other systems
                print(f"\n  {name}: {error}")
    for title, table, kinds in (("arms", "arms", _ARMS), ("topologies", "topology", _TOPOLOGIES)):
        if what in {"all", title, *kinds}:
            print(f"\n{title.upper()}  ([{table}] kind = …)")
            for name in [what] if what in kinds else kinds:
                said = f": {(kinds[name].__doc__ or '').splitlines()[0]}" * (table == "topology")
                print(f"\n  {name}{said}")
                _show(kinds[name])
    if what == "all":
        print("\nACTIVITY  ([agents] activity = { … })\n")
        _show(ActivitySpec)


def _system(name: str) -> None:
    system = get_system(name)
    print(f"\n  {name}: {system.title}")
    print(f"    {system.paper}; clock: {', '.join(system.clocks)}")
    if isinstance(system.field, LabOnly):
        print(wrapped(f"    not for the field: it {system.field.why}", 4))
    _show(system.parameters)


def _show(kind: Any) -> None:
    """Print a table of a run file: each key with its type, bounds, default and description."""
    fields = msgspec.structs.fields(kind)
    width = max((len(field.encode_name) for field in fields), default=0)
    for field in fields:
        text, description = _kind_of(mi.type_info(field.type))
        default = "required"
        if not field.required:
            made = field.default is msgspec.NODEFAULT
            value = field.default_factory() if made else field.default
            default = "optional" if value is None else f"default {in_toml(value)}"
        said = ". ".join(filter(None, (f"{text}; {default}", description)))
        print(wrapped(f"      {field.encode_name:<{width}}  {said}", width + 8))


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
            keys = (f"{key} = {in_toml(one)}" for key, one in value.items() if one is not None)
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
        if len(items) > 1 and all(isinstance(one, mi.StructType) for one in items):
            return "list of tables, each with its kind", ""
        return " or ".join(f"list of {_several(_kind_of(one)[0])}" for one in items), ""
    if isinstance(info, mi.TupleType):
        return f"[{', '.join(_kind_of(item)[0] for item in info.item_types)}]", ""
    if isinstance(info, mi.StructType):
        keys = ", ".join(field.encode_name for field in info.fields)
        return f"table ({keys})", ""
    return "any", ""


def _several(text: str) -> str:
    """The plural, as in "list of numbers"."""
    return re.sub(r"^(number|integer|string|list|table)\b", r"\1s", text)
