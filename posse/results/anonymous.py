"""What runs of anonymous bandits, and of their yardstick, turned out to be."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from posse.claims.anonymous import TRUST
from posse.results.base import Results
from posse.results.record import Detail, RunRecord
from posse.spec.runfile import RunSpec
from protocol.anonymous import (
    BatchRow,
    CommitRow,
    ExpelledRow,
    GroupSizeRow,
    ImplausibleRow,
    LostRow,
    NoFeedbackRow,
    RepeatedRow,
    RewardRow,
    VanishedRow,
)

_CURVE_POINTS = 200


class AnonymousDetail(Detail, kw_only=True):
    """What the server planned and got, and what all users earned: [[round, rewards so far], …].

    `assignments_sent`, `explored_rounds` and `feedback_used` are None if nobody committed: all ran
    out of rewards before. `group_sizes` counts groups by size, `no_feedback` names by batch the
    arms without any; `vanished` and `expelled` are ranks. `rewards` are None in the field.
    """

    batches: list[BatchRow]
    assignments_sent: int | None
    explored_rounds: int | None
    group_sizes: dict[int, int]
    feedback_used: int | None
    no_feedback: dict[int, list[int]]
    vanished: list[int]
    expelled: list[int]
    rewards: list[list[float]] | None
    trust: str


class ParallelDetail(Detail, omit_defaults=True):
    """What all users earned: [[round, rewards so far], …]; not in the field."""

    rewards: list[list[float]] | None = None


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """From what the server noted, and the users of the lab."""
    log = record.log
    without: defaultdict[int, list[int]] = defaultdict(list)
    for _, row in NoFeedbackRow.of(log):
        without[row.batch].append(row.arm)
    committed = [
        (row.assignments, row.explored_rounds, row.feedback_used) for _, row in CommitRow.of(log)
    ]
    sent, explored, used = committed[0] if committed else (None, None, None)
    record.detail = AnonymousDetail(
        batches=[row for _, row in BatchRow.of(log)],
        assignments_sent=sent,
        explored_rounds=explored,
        feedback_used=used,
        group_sizes={row.size: row.groups for _, row in GroupSizeRow.of(log)},
        no_feedback=dict(without),
        vanished=[row.user for _, row in VanishedRow.of(log)],
        expelled=[row.user for _, row in ExpelledRow.of(log)],
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
        earned = [row for _, row in RewardRow.of(log)]
        log.pop(RewardRow.table, None)
        total += np.interp(
            t, [0.0, *(row.round for row in earned)], [0.0, *(row.total for row in earned)]
        )
    return [[float(at), float(sum_)] for at, sum_ in zip(t, total, strict=True)]


ANONYMOUS = Results(
    log=(
        BatchRow,
        NoFeedbackRow,
        GroupSizeRow,
        CommitRow,
        ImplausibleRow,
        RepeatedRow,
        LostRow,
        VanishedRow,
        ExpelledRow,
        RewardRow,
    ),
    detail=AnonymousDetail,
    complete=_complete,
)
PARALLEL = Results(log=(RewardRow,), detail=ParallelDetail, complete=_complete_parallel)
