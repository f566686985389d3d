"""What a run leaves behind: the resolved specification, result.json, and tables."""

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from posse.plan import Plan
from posse.results.record import RunRecord
from posse.results.result import Result
from posse.results.tables import tables

SPECIFICATION = "spec.toml"
RESULT = "result.json"
FAILURE = "failure.json"


class RunDirectory:
    """One directory per series of runs.

    `spec.toml`    the specification with every default filled in; runs again as it is
    `result.json`  what `--json` prints; there only if the series is complete
    `failure.json` why the series is not complete, and the runs that are
    `runs.csv`, `agents.csv`, `links.csv`, `regret.csv`, and one table per name in the log
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path = path
        self._log = plan.system.results.log
        path.mkdir(parents=True, exist_ok=True)
        (path / SPECIFICATION).write_text(
            tomli_w.dumps(_without_none(msgspec.to_builtins(plan.spec)))
        )
        for stale in (RESULT, FAILURE):
            (path / stale).unlink(missing_ok=True)

    @classmethod
    def fresh(cls, name: str, plan: Plan) -> "RunDirectory":
        """A new directory below `runs/`, named by run file and time."""
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        path, number = Path("runs") / f"{name}-{stamp}", 1
        while path.exists():
            number += 1
            path = Path("runs") / f"{name}-{stamp}-{number}"
        return cls(path, plan)

    def complete(self, result: Result) -> None:
        """The series is complete."""
        (self.path / RESULT).write_text(json.dumps(result.document(), indent=1))
        self._tables(result.runs)

    def fail(self, reason: str, records: list[RunRecord]) -> None:
        """The series ended early."""
        document = {"error": reason, "runs": [record.document() for record in records]}
        (self.path / FAILURE).write_text(json.dumps(document, indent=1))
        self._tables(records)

    def _tables(self, records: list[RunRecord]) -> None:
        for table in tables(records, self._log):
            with (self.path / f"{table.name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(table.header)
                writer.writerows(table.rows)


def _without_none(data: Any) -> Any:
    """TOML has no null: a key without a value is left out."""
    if isinstance(data, dict):
        return {key: _without_none(value) for key, value in data.items() if value is not None}
    if isinstance(data, list | tuple):
        return [_without_none(value) for value in data]
    return data
