"""The log of a run: what machines note for whoever looks at it later, in tables with named columns.

Nothing of it is sent to a peer. In the lab it is part of the result; in the field an agent's log
stays with the agent, and only the coordinator's is in the result.
"""

from functools import cache
from typing import Any, ClassVar, Self, get_origin

import msgspec

Log = dict[str, list[list[float]]]
"""By table the rows, each its time first and then its cells."""


class Row(msgspec.Struct, frozen=True):
    """One row of the table named `table`; each table has a subclass, whose fields are its columns.

    The last field may be a tuple: it is as many columns as it has items.
    """

    table: ClassVar[str]

    def cells(self) -> list[float]:
        """The row as it stands in a `Log`, without its time."""
        values = msgspec.structs.astuple(self)
        if _is_open(type(self)):
            values = (*values[:-1], *values[-1])
        return list(values)

    @classmethod
    def of(cls, log: Log) -> list[tuple[float, Self]]:
        """The rows of this table, each with its time."""
        rows = log.get(cls.table, [])
        return [(now, row) for (now, *_), row in zip(rows, cls._read(rows), strict=True)]

    @classmethod
    def _read(cls, rows: list[list[float]]) -> list[Self]:
        names = cls.__struct_fields__
        plain: list[dict[str, Any]] = []
        for _, *cells in rows:
            if _is_open(cls):
                cells[len(names) - 1 :] = [cells[len(names) - 1 :]]  # type: ignore[list-item]
            plain.append(dict(zip(names, cells, strict=True)))
        return msgspec.convert(plain, list[cls], strict=False)  # type: ignore[valid-type]

    @classmethod
    def columns(cls, log: Log) -> list[str]:
        """The names of the cells, as many as the longest row of this table has."""
        names = list(cls.__struct_fields__)
        if _is_open(cls):
            last = names.pop()
            longest = max((len(row) for row in log.get(cls.table, [])), default=0)
            names += [f"{last}_{n}" for n in range(longest - 1 - len(names))]
        return names


@cache
def _is_open(kind: type[Row]) -> bool:
    """Whether the last field is a tuple."""
    return get_origin(msgspec.structs.fields(kind)[-1].type) is tuple
