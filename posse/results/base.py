"""How a system reports its results, during a run and after it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from posse.errors import RunFailed
from posse.protocol.errors import LocalProtocolError
from posse.protocol.log import LogTables, Row
from posse.results.figures import Figure
from posse.results.record import Detail, RunRecord
from posse.spec.runfile import Clock, RunSpec


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What the coordinator knows of a run under way.

    `now` is in the unit of `clock`. `rounds` is the number of activations expected by now, with
    clock `virtual`. `finished` agents do not act any more. `log` holds what the server noted.
    """

    agents: int
    arms: int
    parameters: Any
    clock: Clock
    now: float
    rounds: float
    finished: int
    log: LogTables

    @property
    def share(self) -> float:
        """The share of the run that is done, if known from the horizon in slots; else 0."""
        horizon = getattr(self.parameters, "horizon", None) if self.clock == "slots" else None
        return min(self.now / horizon, 1.0) if horizon else 0.0

    def time(self, unit: str = "slot") -> str:
        """The time in the run; `unit` names a step of clock `slots`."""
        if self.clock == "wall":
            return f"{self.now:,.0f} s"
        if self.clock == "virtual":
            return f"{self.rounds:,.0f} rounds"
        horizon = getattr(self.parameters, "horizon", None)
        return f"{unit} {self.now:,.0f}" + ("" if horizon is None else f" of {horizon:,}")

    def arms_left(self, left: int) -> str:
        """Say how many of all arms are left."""
        return f"{left} of {self.arms} arms left"


Says = Callable[[Standing], Sequence[str]]
"""Gives the parts of the progress line, the most telling first."""


_OURS = ("runs", "agents", "links", "regret")
"""Tables of every result."""


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a system adds to the record of a run.

    - `log`: the kinds of rows that its machines note, each a table
    - `progress`: the progress line while a run is under way
    - `complete`: fills in `detail` and the cost; also status and answer if no server decides.
      Needed only if the default `detail` is not enough.
    - `detail`: the struct that `complete` fills in; it provides rows of the closing table
    - `figures`: what is drawn of a run on the page of `posse report`, and while it goes on
    """

    log: tuple[type[Row], ...] = ()
    progress: Says = lambda standing: [standing.time()]
    complete: Callable[[RunSpec, Any, RunRecord], None] | None = None
    detail: type[Detail] = Detail
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        tables = list(_OURS)
        for kind in self.log:
            if not (isinstance(kind, type) and issubclass(kind, Row)):
                raise TypeError(f"log = {self.log!r}: must be a tuple of classes of rows")
            if fault := kind.fault():
                raise TypeError(f"the row {kind.__name__} {fault}")
            if kind.table in tables:
                raise ValueError(
                    f"the row {kind.__name__}: there is a table {kind.table!r} already"
                )
            tables.append(kind.table)

    def says(self, standing: Standing) -> Sequence[str]:
        """What `progress` says; `RunFailed` if that is not a list of sentences."""
        given: Any = self.progress(standing)
        many = isinstance(given, Iterable) and not isinstance(given, str)
        sentences: list[Any] = [*given] if many else [None]
        if not all(isinstance(sentence, str) for sentence in sentences):
            raise RunFailed(
                f"the progress of its system is {given!r:.80}; it must be a list of sentences"
            )
        return sentences

    def finish(self, spec: RunSpec, parameters: Any, record: RunRecord) -> None:
        """Fill in what the system adds to the record of a run that has ended."""
        if self.complete is None:
            record.detail = self.detail()
        else:
            self.complete(spec, parameters, record)

    def line(self, row: Row, now: float) -> list[float]:
        """A row as numbers for its table; `LocalProtocolError` if that fails, see `Row.line`."""
        if type(row) not in self.log:
            raise LocalProtocolError(
                f"a machine notes {row!r:.80}, and its system does not name {type(row).__name__} "
                "among the tables of its results"
            )
        return row.line(now)


PLAIN = Results()
"""For a system that adds nothing to the record."""
