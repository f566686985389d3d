"""The tables of docs/wire.md: every kind of message with its fields.

python -m tests.support.kinds       writes them anew
"""

import inspect
import re
from typing import Any

import msgspec
from msgspec import inspect as types

from docs.hooks.messages import kinds
from posse.protocol.message import Message, kind_name
from tests.support.blocks import ROOT

PAGE = ROOT / "docs" / "wire.md"
_TABLE = re.compile(r"^(#+ [^\n]*`([\w/]+)\.py`\n.*?)^\|kind\|.*?\n(?=\n)", re.M | re.S)
_PLAIN: dict[Any, str] = {
    types.IntType: "int",
    types.FloatType: "float",
    types.StrType: "text",
    types.BytesType: "bytes",
    types.BoolType: "bool",
    types.NoneType: "nil",
}


def bounds(kind: Any) -> str:
    """Which of a type's values are lawful: a number's, or how many bytes, characters or items."""
    low, high = (getattr(kind, name, None) for name in ("ge", "le"))
    if high is None and (below := getattr(kind, "lt", None)) is not None:
        high = below - 1
    if low is None and high is None:
        low, high = (getattr(kind, name, None) for name in ("min_length", "max_length"))
    match low, high:
        case None, None:
            return ""
        case _, None:
            return f" ≥ {low}"
        case None, _:
            return f" ≤ {limit(high)}"
        case _:
            return f" {low}" if low == high else f" {limit(low)}…{limit(high)}"


def limit(number: int) -> str:
    """A bound, as a power of two where it is a large one."""
    for power, rest in ((number, ""), (number + 1, "-1"), (-number, "")):
        exponent = power.bit_length() - 1
        if exponent >= 16 and power == 1 << exponent:
            return f"{'-' * (number < 0)}2^{exponent}{rest}"
    return str(number)


def default(field: Any) -> str:
    """What a trailing field is if it is left out."""
    if field.required:
        return ""
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    else:
        value = field.default
    return " = " + (msgspec.json.encode(value).decode() if value not in (b"", "") else "empty")


def shown(kind: Any) -> str:
    """A field's type for somebody who has msgpack alone."""
    return named(kind) + bounds(kind)


def named(kind: Any) -> str:
    """A field's type without its lawful values."""
    match kind:
        case types.Metadata(type=inner):
            return named(inner)
        case types.UnionType(types=some):
            return " or ".join(sorted(map(shown, some), key="nil".__eq__))
        case types.VarTupleType(item_type=item) | types.ListType(item_type=item):
            return f"[{shown(item)}]"
        case types.DictType(key_type=key, value_type=value):
            return f"{{{shown(key)}: {shown(value)}}}"
        case types.StructType(fields=fields):
            return f"[{', '.join(f'{f.name}: {shown(f.type)}{default(f)}' for f in fields)}]"
        case types.LiteralType(values=values):
            return " or ".join(f'"{value}"' for value in values)
        case _:
            return _PLAIN[type(kind)]


def row(kind: type[Message]) -> str:
    """A kind's line: its name, its fields, the first paragraph of what is said of it."""
    fields = types.type_info(kind).fields  # type: ignore[attr-defined]
    parts = ", ".join(f"`{f.name}` {shown(f.type)}{default(f)}" for f in fields) or "none"
    said = " ".join(inspect.getdoc(kind).split("\n\n")[0].split())
    return f"|`{kind_name(kind)}`|{parts}|{said}|\n"


def written(page: str) -> str:
    """The page with its tables as they must be."""
    rows: dict[str, str] = {}
    for kind in kinds():
        file = kind.__module__.replace(".", "/").removeprefix("posse/")
        file = file.replace("posse_systems", "systems/posse_systems")
        rows[file] = rows.get(file, "|kind|fields||\n|-|-|-|\n") + row(kind)
    page = _TABLE.sub(lambda found: found[1] + rows.pop(found[2]), page)
    assert rows.keys() == set(), "the page has no table for these files"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
