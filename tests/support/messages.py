"""Messages of any kind whose fields have their types and keep their bounds, by hypothesis."""

import math
import struct
from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect as mi

from posse.protocol.message import Message

SMALL = st.integers(0, 5)
"""Most numbers name an agent, an arm, a round or a slot."""


@cache
def well_typed(kind: type[Message]) -> st.SearchStrategy[Any]:
    """A message of this kind."""
    return _value(mi.type_info(kind))


def _value(of: Any) -> st.SearchStrategy[Any]:
    low: Any
    high: Any
    match of:
        case mi.StructType(cls, fields):
            return st.builds(cls, **{field.name: _value(field.type) for field in fields})
        case mi.BoolType():
            return st.booleans()
        case mi.IntType():
            low = of.ge if of.ge is not None else (of.gt + 1 if of.gt is not None else -(2**63))
            high = of.le if of.le is not None else (of.lt - 1 if of.lt is not None else 2**63 - 1)
            whole = st.integers(low, high)
            return SMALL.filter(lambda n: low <= n <= high) | whole if low <= 5 else whole
        case mi.FloatType():
            low = of.ge if of.ge is not None else of.gt
            high = of.le if of.le is not None else of.lt
            if low is None and high is None:
                return st.sampled_from([0.0, 0.5, 1.0, math.nan, math.inf, -1.0]) | st.floats()
            return st.floats(
                low, high, exclude_min=of.gt is not None, exclude_max=of.lt is not None
            )
        case mi.StrType():
            return st.text(min_size=of.min_length or 0, max_size=of.max_length or 8)
        case mi.BytesType():
            low, high = of.min_length or 0, of.max_length
            if high is not None and high <= 64:
                return st.binary(min_size=low, max_size=high)
            eights = st.lists(st.floats(0.0, 1.0), max_size=6).map(_packed)
            return eights.filter(lambda data: len(data) >= low) | st.binary(
                min_size=low, max_size=low + 48
            )
        case mi.LiteralType(values):
            return st.sampled_from(values)
        case mi.NoneType():
            return st.none()
        case mi.UnionType(types):
            return st.one_of(*map(_value, types))
        case mi.ListType(item) | mi.VarTupleType(item):
            many = st.lists(_value(item), min_size=of.min_length or 0, max_size=5)
            return many if isinstance(of, mi.ListType) else many.map(tuple)
        case mi.TupleType(items):
            return st.tuples(*map(_value, items))
        case mi.DictType(key, value):
            return st.dictionaries(_value(key), _value(value), max_size=3)
        case mi.EnumType(cls):
            return st.sampled_from(list(cls))
    raise TypeError(f"no strategy for {of}")


def _packed(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}d", *numbers)
