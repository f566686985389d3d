"""What runs of anonymous bandits, and of their yardstick, turned out to be."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from posse.results.base import Results
from posse.results.record import Detail, RunRecord
from posse.spec.runfile import RunSpec

_CURVE_POINTS = 200

TRUST = {
    "masked": (
        "No single report can be read, by the coordinator or by other users, unless all other "
        "members of its sum, at least C - 1, collude. The coordinator passes on the public keys: "
        "it is trusted not to replace them."
    ),
    "sink": (
        "The first member of each group sees every report of its group in the clear, so it is "
        "trusted with them and to add up honestly. The coordinator, which carries the reports "
        "sealed, sees sums only, and is trusted not to replace the public keys."
    ),
}


class Batch(msgspec.Struct):
    """A batch of assignments; `ratio` is α, `alive_pairs` counts arms alive over all users."""

    batch: int
    demand: int
    assignments: int
    distinct: int
    ratio: int
    alive_pairs: int


class AnonymousDetail(Detail, kw_only=True):
    """What the server planned and got, and what all users earned: [[round, rewards so far], …].

    `assignments_sent`, `explored_rounds` and `feedback_used` are None if nobody committed: all ran
    out of rewards before. `group_sizes` counts groups by size, `no_feedback` names by batch the
    arms without any; `vanished` and `expelled` are ranks. `rewards` are None in the field.
    """

    batches: list[Batch]
    assignments_sent: int | None
    explored_rounds: int | None
    group_sizes: dict[int, int]
    feedback_used: int | None
    no_feedback: dict[int, list[int]]
    vanished: list[int]
    expelled: list[int]
    rewards: list[list[float]] | None
    trust: str


class ParallelDetail(Detail):
    """What all users earned: [[round, rewards so far], …]; not in the field."""

    rewards: list[list[float]] | UnsetType = UNSET


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """From what the server noted, and the users of the lab."""
    log = record.log
    without: defaultdict[int, list[int]] = defaultdict(list)
    for _, batch, arm in log.get("no-feedback", []):
        without[int(batch)].append(int(arm))
    sent, explored, used = map(int, log["commit"][0][1:]) if "commit" in log else [None] * 3
    record.detail = AnonymousDetail(
        batches=[Batch(*map(int, row[1:])) for row in log.get("batch", [])],
        assignments_sent=sent,
        explored_rounds=explored,
        feedback_used=used,
        group_sizes={int(row[1]): int(row[2]) for row in log.get("group-size", [])},
        no_feedback=dict(without),
        vanished=[int(row[1]) for row in log.get("vanished", [])],
        expelled=[int(row[1]) for row in log.get("expelled", [])],
        rewards=None if spec.mode == "field" else _earned(record, parameters.horizon),
        trust=TRUST[parameters.aggregation],
    )


def _complete_parallel(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Of users alone."""
    record.status = "horizon"
    record.detail = ParallelDetail()
    if spec.mode == "lab":
        record.detail = ParallelDetail(_earned(record, parameters.horizon))


def _earned(record: RunRecord, horizon: int) -> list[list[float]]:
    """The rewards of all users over time, from what the users noted, which is then let go."""
    t = np.linspace(0.0, horizon, _CURVE_POINTS + 1)
    total = np.zeros(len(t))
    for log in record.agent_logs:
        rows = np.array([[0.0, 0.0, 0.0], *log.pop("reward", [])])
        total += np.interp(t, rows[:, 1], rows[:, 2])
    return [[float(at), float(earned)] for at, earned in zip(t, total, strict=True)]


ANONYMOUS = Results(detail=AnonymousDetail, complete=_complete)
PARALLEL = Results(detail=ParallelDetail, complete=_complete_parallel)
