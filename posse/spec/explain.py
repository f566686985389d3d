"""Explains mistakes in plain data, in one sentence: the key, its value, and what is allowed."""

import difflib
import math
import re
from threading import RLock
from typing import Any

import msgspec
import numpy as np
from msgspec import inspect as mi

from posse.errors import SpecError

_ALONE = RLock()
"""msgspec crashes the process if two threads meet a type for the first time."""

_MOST = (1 << 63) - 1
_DEEPEST = 20
_SHOWN = 60
_PLAIN = {
    "float": "a number",
    "int": "an integer",
    "str": "a string",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
    "null": "absent",
}
"""The run file's words for msgspec's names of types."""


_NOT_OFFERED = {
    "arms.available": "every system may pull each arm in every slot, so that arms cannot come and "
    "go within a run; parameters.candidates leaves arms out of a whole run of a system that "
    "eliminates arms, as mase or cdp-mab",
    "parameters.candidates": "this system cannot begin with fewer arms than it has; one that "
    "eliminates arms can, as mase or cdp-mab",
}
"""What is asked for and not to be had, and why."""


def convert(raw: Any, kind: Any, prefix: str) -> Any:
    """Convert plain data to `kind`; `SpecError` names the key below `prefix` that does not fit."""
    raw = _plain(raw, prefix)
    try:
        with _ALONE:
            return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _explain(str(error), raw, kind, prefix) from None


def _plain(raw: Any, path: str, depth: int = 0) -> Any:
    """A copy in which NumPy's values are Python's own.

    Every number in it is finite, and every whole number fits 64 bits.
    """
    if isinstance(raw, np.ndarray | np.generic):
        raw = raw.tolist()
    if depth > _DEEPEST:
        raise SpecError(path[:_SHOWN], "is nested too deeply")
    match raw:
        case dict():
            for key in raw:
                _require_text(key, path)
            return {
                key: _plain(value, f"{path}.{key}" if path else str(key), depth + 1)
                for key, value in raw.items()
            }
        case list() | tuple():
            return [_plain(value, f"{path}[{index}]", depth + 1) for index, value in enumerate(raw)]
        case str():
            _require_text(raw, path)
        case float() if not math.isfinite(raw):
            raise SpecError(path, f"{raw} is not a finite number")
        case int() if abs(raw) > _MOST:
            raise SpecError(path, "must be an integer of at most 64 bits")
    return raw


def _require_text(raw: Any, path: str) -> None:
    """Refuse text that is not UTF-8 or has a NUL: no file can hold it, and no file's name."""
    if isinstance(raw, str) and raw.encode(errors="replace").decode() != raw:
        raise SpecError(path, f"{raw!a} has characters that are not valid UTF-8")
    if isinstance(raw, str) and "\0" in raw:
        raise SpecError(path, f"{raw!a} has the character NUL, which is not allowed")


def nearest(name: str, known: list[str], listed_by: str = "") -> str:
    """A hint after an unknown name: the nearest one, and all known names or what lists them."""
    short = {word.rpartition(":")[2].casefold(): word for word in known}
    close = difflib.get_close_matches(name.casefold(), short, n=1)
    hint = f"did you mean '{short[close[0]]}'? " if close else ""
    return hint + (f"see {listed_by}" if listed_by else f"known: {', '.join(known)}")


def _explain(message: str, raw: Any, kind: Any, prefix: str) -> SpecError:
    """Turn msgspec's message into one that names the key, its value, and what is allowed."""
    text, _, where = message.partition(" - at `")
    steps = re.findall(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]", where)
    path = prefix
    value, allowed = raw, mi.type_info(kind)
    for name, index in steps:
        path += f".{name}" if name and path else name or f"[{index}]"
        allowed = _field_type(allowed, name, value) if name else _item_type(allowed)
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):
            value = None
    if match := re.match(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        key = match[1]
        known = sorted(f.encode_name for struct in _structs(allowed, value) for f in struct.fields)
        path = f"{path}.{key}" if path else key
        return SpecError(path, _NOT_OFFERED.get(path, f"unknown key; {nearest(key, known)}"))
    if match := re.match(r"Object missing required field `(.*)`", text):
        return SpecError(f"{path}.{match[1]}" if path else match[1], "is required but missing")
    if re.match(r"Invalid (?:enum )?value ", text):
        text = str(value)
        return SpecError(path, f"{text!r} is not known; {nearest(text, _choices(allowed))}")
    text = text.replace("`", "")
    if text.startswith("Expected"):
        shown = repr(value) if not isinstance(value, dict | list) else type(value).__name__
        wanted = text.partition(", got")[0].removeprefix("Expected ")
        for name, plain in _PLAIN.items():
            wanted = re.sub(rf"\b{name}\b", plain, wanted)
        return SpecError(path, f"is {shown}; it must be {wanted}")
    return SpecError(path, text)


def _parts(info: mi.Type) -> list[mi.Type]:
    """The types that a type admits."""
    if isinstance(info, mi.Metadata):
        return _parts(info.type)
    if isinstance(info, mi.UnionType):
        return [part for admitted in info.types for part in _parts(admitted)]
    return [info]


def _structs(info: mi.Type, value: Any) -> list[mi.StructType]:
    """The struct types that a type admits; if `value` carries the tag of one, only that one."""
    structs = [part for part in _parts(info) if isinstance(part, mi.StructType)]
    if isinstance(value, dict):
        tagged = [s for s in structs if s.tag_field and value.get(s.tag_field) == s.tag]
        structs = tagged or structs
    return structs


def _field_type(info: mi.Type, name: str, value: Any) -> mi.Type:
    for struct in _structs(info, value):
        if name == struct.tag_field:
            return info
        for field in struct.fields:
            if field.encode_name == name:
                return field.type
    return mi.AnyType()


def _item_type(info: mi.Type) -> mi.Type:
    """The type of the items of a list."""
    items = (getattr(part, "item_type", None) for part in _parts(info))
    return next(filter(None, items), mi.AnyType())


def _choices(info: mi.Type) -> list[str]:
    choices: list[str] = []
    for part in _parts(info):
        if isinstance(part, mi.LiteralType):
            choices += [str(v) for v in part.values]
        elif isinstance(part, mi.StructType) and part.tag is not None:
            choices.append(str(part.tag))
    return sorted(choices)
