"""What the keys of a run file may be, for a person."""

from typing import Any

import msgspec
from msgspec import inspect as mi


def show(kind: Any) -> None:
    """Print a table of a run file: each key with its type, bounds, default and description."""
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
