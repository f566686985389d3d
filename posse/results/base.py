"""How the results of a system are put together and said; one value per system."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posse.results.record import Detail, RunRecord
from posse.results.standing import Says
from posse.spec.runfile import RunSpec
from protocol.errors import LocalProtocolError
from protocol.log import Row


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a system adds to the record of a run.

    - `log`: the tables that its machines note
    - `progress`: what the line says that moves while a run goes on
    - `complete`: fills in status and answer where no server decides, the cost, and the `detail`;
      needed only where there is more than that has by default
    - `detail`: the struct that is filled in, and that says its part of the closing table
    """

    log: tuple[type[Row], ...] = ()
    progress: Says = lambda standing: [standing.time()]
    complete: Callable[[RunSpec, Any, RunRecord], None] | None = None
    detail: type[Detail] = Detail

    def finish(self, spec: RunSpec, parameters: Any, record: RunRecord) -> None:
        """Fill in what the system adds to the record of a run that has ended."""
        if self.complete is None:
            record.detail = self.detail()
        else:
            self.complete(spec, parameters, record)

    def check(self, row: Row) -> None:
        """Raise `LocalProtocolError` if a machine notes a row of another table."""
        if type(row) not in self.log:
            raise LocalProtocolError(
                f"a machine notes a row of the table {row.table!r} ({type(row).__name__}), which "
                "its system does not name among the tables of its results"
            )


PLAIN = Results()
"""Of a system whose server says all there is to say."""
