"""The tables of docs/wire.md: every kind of message with its fields.

python -m tests.support.kinds       writes them anew
"""

import importlib
import inspect
import pkgutil
import re
from typing import Any

from msgspec import inspect as types

from posse import protocol
from posse.protocol.message import Message, kind_name
from tests.support.blocks import ROOT

PAGE = ROOT / "docs" / "wire.md"
_TABLE = re.compile(r"^(#+ [^\n]*`protocol/(\w+)\.py`\n.*?)^\| kind \|.*?\n(?=\n)", re.M | re.S)
_PLAIN: dict[Any, str] = {
    types.IntType: "int",
    types.FloatType: "float",
    types.StrType: "text",
    types.BytesType: "bytes",
    types.BoolType: "bool",
    types.NoneType: "nil",
}


def kinds() -> list[type[Message]]:
    """Every kind that crosses a link, in the order of its file."""
    for module in pkgutil.iter_modules(protocol.__path__, "posse.protocol."):
        importlib.import_module(module.name)
    found, todo = [], [Message]
    while todo:
        kinds = todo.pop(0).__subclasses__()
        below = [kind for kind in kinds if kind.__module__.startswith("posse.protocol.")]
        todo += below
        found += [kind for kind in below if not kind.__subclasses__()]
    return found


def shown(kind: Any) -> str:
    """A field's type for somebody who has msgpack alone."""
    match kind:
        case types.Metadata(type=inner):
            return shown(inner)
        case types.UnionType(types=some):
            return " or ".join(sorted(map(shown, some), key="nil".__eq__))
        case types.VarTupleType(item_type=item) | types.ListType(item_type=item):
            return f"[{shown(item)}]"
        case types.DictType(key_type=key, value_type=value):
            return f"{{{shown(key)}: {shown(value)}}}"
        case types.StructType(fields=fields):
            return f"[{', '.join(f'{f.name}: {shown(f.type)}' for f in fields)}]"
        case types.LiteralType(values=values):
            return " or ".join(f'"{value}"' for value in values)
        case _:
            return _PLAIN[type(kind)]


def row(kind: type[Message]) -> str:
    """A kind's line: its name, its fields, the first paragraph of what is said of it."""
    fields = types.type_info(kind).fields  # type: ignore[attr-defined]
    named = ", ".join(f"`{f.name}` {shown(f.type)}" for f in fields) or "none"
    said = " ".join(inspect.getdoc(kind).split("\n\n")[0].split())
    return f"| `{kind_name(kind)}` | {named} | {said} |\n"


def written(page: str) -> str:
    """The page with its tables as they must be."""
    rows: dict[str, str] = {}
    for kind in kinds():
        file = kind.__module__.rpartition(".")[2]
        rows[file] = rows.get(file, "| kind | fields | |\n|---|---|---|\n") + row(kind)
    page = _TABLE.sub(lambda found: found[1] + rows.pop(found[2]), page)
    assert rows.keys() == set(), "the page has no table for these files of protocol/"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
