"""Results of anonymous bandits, and of the yardstick `parallel-ucb`."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from posse.claims.anonymous import TRUST
from posse.protocol.anonymous import (
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
from posse.results.base import Results, Standing
from posse.results.record import Detail, Lines, RunRecord
from posse.spec.runfile import RunSpec

_CURVE_POINTS = 200
_ROUNDS = {"slots": "the paper's rounds: each user pulls once in each"}


class AnonymousDetail(Detail, kw_only=True):
    """What the server planned and received, and what users earned: [[round, rewards so far], …].

    `assignments_sent`, `explored_rounds` and `feedback_used` are None if all users ran out of
    rewards before committing. `group_sizes` maps sizes to numbers of groups, `no_feedback` batches
    to the arms without feedback. `vanished` and `expelled` are ranks. In the field `rewards` is
    None.
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

    units: ClassVar[dict[str, str]] = _ROUNDS
    seeks: ClassVar[str] = "an arm for each user"

    def lines(self, run: RunRecord) -> Lines:
        """How many rounds were explored, in groups of which sizes."""
        if self.explored_rounds is None:
            return [("explored", "to the end: all ran out of rewards")]
        sizes = sorted(self.group_sizes)
        groups = f", in groups of {sizes[0]} to {sizes[-1]} users" if sizes else ""
        batches = f" in {len(self.batches)} batches" if self.batches else ""
        explored = f"{self.explored_rounds:,} rounds{batches}{groups}; then each its own arm"
        return [("explored", explored), *_earned_line(self.rewards)]


class ParallelDetail(Detail, omit_defaults=True):
    """What all users earned: [[round, rewards so far], …]; None in the field."""

    rewards: list[list[float]] | None = None

    units: ClassVar[dict[str, str]] = _ROUNDS
    seeks: ClassVar[str] = "an arm for each user"

    def lines(self, run: RunRecord) -> Lines:
        """The rewards of all users together."""
        return _earned_line(self.rewards)


def _earned_line(rewards: list[list[float]] | None) -> Lines:
    return [("rewards", f"{rewards[-1][1]:,.0f} of all users")] if rewards else []


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Fill in the record from the server's notes and, in the lab, from those of the users."""
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
    """Fill in the record of users that work alone, where each looks for an arm of its own."""
    record.status, record.best_arm = "exhausted" if record.used_up else "horizon", None
    in_lab = spec.mode == "lab"
    record.detail = ParallelDetail(_earned(record, parameters.horizon) if in_lab else None)


def _earned(record: RunRecord, horizon: int) -> list[list[float]]:
    """The rewards of all users over time. It removes the users' notes that it is made from."""
    t = np.linspace(0.0, horizon, _CURVE_POINTS + 1)
    total = np.zeros(len(t))
    for log in record.agent_logs:
        earned = [row for _, row in RewardRow.of(log)]
        log.pop(RewardRow.table, None)
        total += np.interp(
            t, [0.0, *(row.round for row in earned)], [0.0, *(row.total for row in earned)]
        )
    return [[float(at), float(sum_)] for at, sum_ in zip(t, total, strict=True)]


def _rounds(standing: Standing) -> Sequence[str]:
    return [standing.time("round")]


def _progress(standing: Standing) -> Sequence[str]:
    batches = BatchRow.of(standing.log)
    said = [f"batch {row.batch}" for _, row in batches[-1:]]
    if standing.log.get(CommitRow.table):
        said = ["exploration is over"]
    return [*_rounds(standing), *said]


ANONYMOUS = Results(
    progress=_progress,
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
PARALLEL = Results(
    progress=_rounds, log=(RewardRow,), detail=ParallelDetail, complete=_complete_parallel
)
