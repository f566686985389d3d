"""What runs of cooperation on a graph, and of its baselines, turned out to be."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from posse.results.base import Results
from posse.results.record import Detail, RunRecord
from posse.spec.runfile import RunSpec
from protocol.cooperative import DuplicatesRow, HopsRow, composed
from protocol.privacy import Release


class HopDelay(msgspec.Struct):
    """Messages that came from so many hops away, and how many slots they took on average."""

    messages: int
    mean_slots: float


class CooperativeDetail(Detail):
    """How many agents answered each arm, and what only the lab knows of their messages.

    `duplicates`: messages that came twice; `delay_by_hops`: by distance. `delta_prime`, and the ε'
    of each agent by its own ledger, are there where the system is private.
    """

    answers: dict[str, int]
    duplicates: int | UnsetType = UNSET
    duplicates_per_agent: list[int] | UnsetType = UNSET
    delay_by_hops: dict[str, HopDelay] | UnsetType = UNSET
    delta_prime: float | UnsetType = UNSET
    epsilon_prime_per_agent: list[float] | UnsetType = UNSET


def _complete_alone(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Of agents alone, without privacy."""
    record.detail = _detail(record)


def _complete_cooperation(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Of agents that talk to each other."""
    record.detail = _cooperation(spec, _detail(record), record)


def _complete_private(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Of private agents alone."""
    record.detail = _private(spec, parameters, _detail(record), record)


def _complete_private_cooperation(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Of private agents that talk to each other."""
    record.detail = _private(spec, parameters, _cooperation(spec, _detail(record), record), record)


def _detail(record: RunRecord) -> CooperativeDetail:
    """Every agent has its own answer, the run's is the commonest."""
    answers = Counter(arm for arm in record.answers if arm is not None)
    record.best_arm = record.commonest_answer()
    record.status = "horizon" if not record.exhausted else "exhausted"
    return CooperativeDetail({str(arm): n for arm, n in sorted(answers.items())})


def _noted(spec: RunSpec) -> bool:
    """Whether agents report what they noted and released; in the field it stays with them."""
    return spec.mode == "lab"


def _cooperation(spec: RunSpec, detail: CooperativeDetail, record: RunRecord) -> CooperativeDetail:
    """Duplicates, and the delay in slots by distance in hops."""
    if not _noted(spec):
        return detail
    counted: Counter[int] = Counter()
    slots: Counter[int] = Counter()
    duplicates = []
    for log in record.agent_logs:
        duplicates.append(sum(row.messages for _, row in DuplicatesRow.of(log)))
        for _, row in HopsRow.of(log):
            counted[row.distance] += row.messages
            slots[row.distance] += row.slots
    detail.duplicates = sum(duplicates)
    detail.duplicates_per_agent = duplicates
    detail.delay_by_hops = {
        str(d): HopDelay(counted[d], slots[d] / counted[d]) for d in sorted(counted)
    }
    return detail


def _private(
    spec: RunSpec, parameters: Any, detail: CooperativeDetail, record: RunRecord
) -> CooperativeDetail:
    """ε' of each agent by its own ledger: the most exposed arm, composed up to δ'."""
    if getattr(parameters, "releases", "") == "doubling":
        return detail
    detail.delta_prime = parameters.delta_prime
    if _noted(spec):
        detail.epsilon_prime_per_agent = [
            _most_exposed(ledger, parameters.delta_prime) for ledger in record.ledgers
        ]
    return detail


def _most_exposed(ledger: list[Release], delta_prime: float) -> float:
    by_block: dict[str, list[Release]] = {}
    for release in ledger:
        by_block.setdefault(release.block, []).append(release)
    return max(
        (
            composed(
                np.array([r.epsilon for r in releases]),
                np.array([r.times for r in releases]),
                delta_prime,
            )
            for releases in by_block.values()
        ),
        default=0.0,
    )


_LOG = (DuplicatesRow, HopsRow)

ALONE = Results(detail=CooperativeDetail, complete=_complete_alone)
COOPERATION = Results(log=_LOG, detail=CooperativeDetail, complete=_complete_cooperation)
PRIVATE_ALONE = Results(detail=CooperativeDetail, complete=_complete_private)
PRIVATE_COOPERATION = Results(
    log=_LOG, detail=CooperativeDetail, complete=_complete_private_cooperation
)
