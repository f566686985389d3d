"""The log of a run: rows that machines note, in tables with named columns.

No other machine sees it. In the lab the logs are part of the result. In the field an agent's
log stays with the agent, and the result has only the coordinator's, and of it only rows of the kind
`PublicRow`: what a row says then leaves in files, pages and lines that no claim covers otherwise.
"""

from functools import cache
from math import isfinite, nan
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin

import msgspec
import numpy as np

from posse.protocol.errors import WORD, LocalProtocolError

LogTables = dict[str, list[list[float]]]
"""The rows of each table by its name; a row is its time, then its cells."""


class Row(msgspec.Struct, frozen=True):
    """Base of log rows: a subclass per table, with its name, `table`, and its columns as fields.

    A field is an int or a float. The last may be a tuple of them, which makes a column per item.
    """

    table: ClassVar[str]

    @classmethod
    def fault(cls) -> str:
        """What is wrong with the subclass, as the end of a sentence; "" if nothing."""
        table = getattr(cls, "table", None)
        if not isinstance(table, str) or not WORD.fullmatch(table):
            return (
                f"has table = {table!r:.80}; it must be a str of letters (a to z, A to Z), digits, "
                "blanks, - and _, a letter first"
            )
        kinds = [field.type for field in msgspec.structs.fields(cls)]
        if kinds and _is_open(cls):
            kinds[-1:] = [kind for kind in get_args(kinds[-1]) if kind is not ...]
        if not kinds or not all(map(_is_number, kinds)):
            return (
                "must have fields that are int or float, the last of which may be a tuple of them"
            )
        return ""

    def line(self, now: float) -> list[float]:
        """The row as it stands in a `LogTables`: its time, then its cells, a bool as 0 or 1.

        Raises `LocalProtocolError` for anything but finite numbers: such a table could not be read
        back.
        """
        *first, last = msgspec.structs.astuple(self)
        values = [now, *first, *(last if _is_open(type(self)) else (last,))]
        if not {*map(type, values)} <= _PLAIN:
            values = [*map(_plain, values)]
        if not all(-_MOST < v < _MOST if type(v) is int else isfinite(v) for v in values):
            raise LocalProtocolError(
                f"{self!r:.200} cannot be noted: its time and all its cells must be finite "
                "numbers, and ints below 2^63"
            )
        return values

    @classmethod
    def select(cls, log: LogTables) -> list[tuple[float, Self]]:
        """The rows of this table, each with its time."""
        names, is_open, rows = cls.__struct_fields__, _is_open(cls), []
        for now, *cells in log.get(cls.table, []):
            if is_open:
                cells[len(names) - 1 :] = [cells[len(names) - 1 :]]  # type: ignore[list-item]
            plain = dict(zip(names, cells, strict=True))
            # not as one list[cls], of which msgspec would make a decoder each time
            rows.append((now, msgspec.convert(plain, cls, strict=False)))
        return rows

    @classmethod
    def columns(cls, log: LogTables) -> list[str]:
        """The names of the columns, as many as this table's longest row needs."""
        names = list(cls.__struct_fields__)
        if _is_open(cls):
            last = names.pop()
            longest = max((len(row) for row in log.get(cls.table, [])), default=0)
            names += [f"{last}_{n}" for n in range(longest - 1 - len(names))]
        return names


class PublicRow(Row, frozen=True):
    """Base of rows that the result of a field run may hold.

    What they say follows from messages, choices and times alone, which the system's claim covers,
    never from a reward that nobody noised. Other rows of a server stand in the lab's results only.
    """


_PLAIN = {int, float}

_MOST = 1 << 63
"""Ints in a result must be smaller than this in magnitude."""


def _plain(value: object) -> float:
    """A bool or a NumPy number as a Python number; NaN for anything else."""
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    return float(value) if isinstance(value, float | np.floating) else nan


def _is_number(kind: Any) -> bool:
    """Whether this type is `int`, `float`, or either."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return {*(get_args(kind) or (kind,))} <= _PLAIN


@cache
def _is_open(kind: type[Row]) -> bool:
    """Whether the last field is a tuple."""
    return get_origin(msgspec.structs.fields(kind)[-1].type) is tuple
