"""A sweep's folder: a run directory per point, and one table of all points."""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from posse.durable.batch import Piece
from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.errors import InputError, PosseError
from posse.gates import files
from posse.gates.decode import from_json
from posse.measure.confidence import Mean
from posse.plan import Plan
from posse.results import tables
from posse.results.measures import means
from posse.results.record import RunRecord

SWEEP = "sweep.json"
TABLE = "sweep.csv"

At = dict[str, Any]
"""The swept keys and their values."""

Task = tuple[int, int]
"""The place of a point, and the number of a run."""


class PointResult(msgspec.Struct, kw_only=True):
    """The outcome of a point. `at`: as in `At`; `directory`: of its runs, below the sweep's.

    `failure` says why the point is not complete; None if it is.
    """

    at: At
    directory: str
    runs: int
    statuses: list[str]
    best_arms: list[int | None]
    summary: dict[str, Mean]
    failure: str | None = None


class SweepPoint:
    """One point while its runs end."""

    def __init__(self, folder: Path, at: At, plan: Plan) -> None:
        self.at = at
        self.plan = plan
        self.directory = RunDirectory(folder / name(at), plan)
        self._records: dict[int, RunRecord] = {}
        self._failure: str | None = None
        self._missing = plan.spec.repeat

    def take(self, number: int, outcome: RunRecord | PosseError) -> PointResult | None:
        """Take the outcome of a run; after the last one write the point, and return its outcome."""
        self._missing -= 1
        if isinstance(outcome, PosseError):
            self._failure = self._failure or str(outcome)
        else:
            self._records[number] = outcome
        return self._close() if not self._missing else None

    def give_up(self, reason: str) -> PointResult | None:
        """Write the point though the sweep ends before it does; None if no run of it is done."""
        if not self._records:
            return None
        self._failure = self._failure or reason
        return self._close()

    def _close(self) -> PointResult:
        runs = [self._records[number] for number in sorted(self._records)]
        try:
            if self._failure is None:
                self.directory.complete(self.plan.result(runs))
            else:
                self.directory.fail(self._failure, runs)
        except OSError as error:
            self._failure = f"its result cannot be written ({error.strerror or error})"
        self._records = {}
        return PointResult(
            at=self.at,
            directory=self.directory.path.name,
            runs=len(runs),
            statuses=[run.status for run in runs],
            best_arms=[run.best_arm for run in runs],
            summary=means(runs),
            failure=self._failure,
        )


class SweepDirectory:
    """A folder with the points' outcomes in `sweep.json` and `sweep.csv`, and a directory of each.

    A point's directory is like that of `posse run`, and is found again by the point's values.
    """

    def __init__(self, folder: Path, points: Sequence[tuple[At, Plan]]) -> None:
        self.folder = folder
        self.points = [SweepPoint(folder, at, plan) for at, plan in points]

    def open(self) -> None:
        """Make the points' directories; `InputError` if one holds another run."""
        if (self.folder / SPECIFICATION).exists():
            raise InputError(f"{self.folder} holds a run; name another folder for a sweep")
        for point in self.points:
            point.directory.open()

    def pieces(self) -> list[Piece[Task, RunRecord]]:
        """Every run of every point."""
        return [
            Piece((place, piece.task), piece.name, piece.store)
            for place, point in enumerate(self.points)
            for piece in point.directory.pieces()
        ]

    def write(self, results: Sequence[PointResult]) -> None:
        """Write the tables of these points."""
        files.write(self.folder / SWEEP, json.dumps(msgspec.to_builtins(results), indent=1))
        measured = sorted({measure for point in results for measure in point.summary})
        with files.replacing(self.folder / TABLE) as file:
            columns = ("mean", "median", "low", "high", "n")
            parts = (
                measure if column == "mean" else f"{measure}_{column}"
                for measure in measured
                for column in columns
            )
            rows: list[list[Any]] = []
            for point in results:
                values = [point.summary.get(measure) for measure in measured]
                cells = [getattr(mean, column, None) for mean in values for column in columns]
                status = (
                    " ".join(dict.fromkeys(point.statuses)) if point.failure is None else "failed"
                )
                rows.append([*point.at.values(), point.runs, status, *cells])
            tables.write(file, [*self.points[0].at, "runs", "status", *parts], rows)


def name(at: At) -> str:
    """The name of a point's directory: its keys and values, as far as a name may have them."""
    settings = ",".join(f"{key.removeprefix('parameters.')}={value}" for key, value in at.items())
    plain = re.sub(r"[^\w.,=+-]+", "_", settings)[:100]
    return plain if plain == settings else f"{plain}-{sha256(settings.encode()).hexdigest()[:8]}"


def read(folder: Path) -> list[PointResult]:
    """The points of a sweep; `ValueError` if posse did not write this."""
    points: list[PointResult] = from_json(files.read(folder / SWEEP), list[PointResult])
    return points
