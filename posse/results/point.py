"""What came of one point of a sweep."""

from typing import Any

import msgspec

from posse.results.means import Mean, means
from posse.results.record import RunRecord


class PointResult(msgspec.Struct, kw_only=True):
    """`at`: the swept keys and their values; `directory`: of its runs, below the sweep's.

    `failure` says why not all of its runs are there; None if they are.
    """

    at: dict[str, Any]
    directory: str
    runs: int
    statuses: list[str]
    best_arms: list[int | None]
    summary: dict[str, Mean]
    failure: str | None = None


def point(
    at: dict[str, Any], directory: str, runs: list[RunRecord], failure: str | None
) -> PointResult:
    """What these runs of a point make."""
    return PointResult(
        at=at,
        directory=directory,
        runs=len(runs),
        statuses=[run.status for run in runs],
        best_arms=[run.best_arm for run in runs],
        summary=means(runs),
        failure=failure,
    )
