"""How the results of a system are put together and said; one value per system."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posse.results.record import Detail, RunRecord
from posse.results.standing import Says, time_only
from posse.spec.runfile import RunSpec
from protocol.errors import LocalProtocolError
from protocol.log import Row


def nothing_to_add(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """The record is complete."""


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a system adds to the record of a run.

    - `log`: the tables that its machines note
    - `progress`: what the line says that moves while a run goes on
    - `complete`: fills in status and answer where no server decides, the cost, and the `detail`
    - `detail`: the struct that is filled in, and that says its part of the closing table
    """

    log: tuple[type[Row], ...] = ()
    progress: Says = time_only
    complete: Callable[[RunSpec, Any, RunRecord], None] = nothing_to_add
    detail: type[Detail] = Detail

    def check(self, row: Row) -> None:
        """Raise `LocalProtocolError` if a machine notes a row of another table."""
        if type(row) not in self.log:
            raise LocalProtocolError(
                f"a machine notes a row of the table {row.table!r} ({type(row).__name__}), which "
                "its system does not name among the tables of its results"
            )


PLAIN = Results()
"""Of a system whose server says all there is to say."""
