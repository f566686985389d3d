"""What a run leaves behind: the resolved specification, result.json, and tables."""

import csv
import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from posse.results.record import Result, RunRecord
from posse.spec.runfile import RunSpec

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

    def __init__(self, path: Path, spec: RunSpec) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        (path / SPECIFICATION).write_text(tomli_w.dumps(_without_none(msgspec.to_builtins(spec))))
        for stale in (RESULT, FAILURE):
            (path / stale).unlink(missing_ok=True)

    @classmethod
    def fresh(cls, name: str, spec: RunSpec) -> "RunDirectory":
        """A new directory below `runs/`, named by run file and time."""
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        path, number = Path("runs") / f"{name}-{stamp}", 1
        while path.exists():
            number += 1
            path = Path("runs") / f"{name}-{stamp}-{number}"
        return cls(path, spec)

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
        flat = ("run", "seed", "status", "best_arm", "rounds", "slots", "pulls", "regret")
        self._write(
            "runs",
            [*flat, "data_messages", "data_payload_bytes", "control_messages", "elapsed_seconds"],
            (
                [
                    *(getattr(record, name) for name in flat),
                    record.communication["data"]["messages"],
                    record.communication["data"]["payload_bytes"],
                    record.communication["control"]["messages"],
                    record.elapsed_seconds,
                ]
                for record in records
            ),
        )
        self._write(
            "agents",
            ["run", "agent", "answer", "activations", "pulls", "epsilon_spent"],
            (
                [record.run, agent, answer, activations, pulls, epsilon]
                for record in records
                for unknown in [[None] * len(record.answers)]
                for agent, (answer, activations, pulls, epsilon) in enumerate(
                    zip(
                        record.answers,
                        record.activations_per_agent or unknown,
                        record.pulls_per_agent or unknown,
                        (record.privacy or {}).get("spent_per_agent") or unknown,
                        strict=True,
                    )
                )
            ),
        )
        names = ["source", "target", "plane", "kind", "messages", "payload_bytes", "frame_bytes"]
        self._write(
            "links",
            ["run", *names],
            (
                [record.run, *(getattr(link, name) for name in names)]
                for record in records
                for link in record.links
            ),
        )
        self._write(
            "regret",
            ["run", "t", "regret"],
            ([record.run, *point] for record in records for point in record.regret_curve or ()),
        )
        for name in sorted({name for record in records for name in record.log}):
            self._write(
                name,
                ["run", "now", *_COLUMNS.get(name, ())],
                ([record.run, *row] for record in records for row in record.log.get(name, ())),
            )

    def _write(self, name: str, header: Iterable[str], rows: Iterable[list[Any]]) -> None:
        with (self.path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)


_COLUMNS = {"votes": ("agent", "arm"), "eliminations": ("arm",)}


def _without_none(data: Any) -> Any:
    """TOML has no null: a key without a value is left out."""
    if isinstance(data, dict):
        return {key: _without_none(value) for key, value in data.items() if value is not None}
    if isinstance(data, list | tuple):
        return [_without_none(value) for value in data]
    return data
