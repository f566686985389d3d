"""Results of cooperation on a graph, and of its baselines."""

from collections import Counter
from typing import Any

import msgspec

from posse.measure.numbers import counted
from posse.protocol.cooperative import DuplicatesRow, HopsRow
from posse.results.base import Results
from posse.results.record import Detail, Lines, RunRecord
from posse.spec.runfile import RunSpec


class HopDelay(msgspec.Struct):
    """Messages that travelled so many hops, and the slots they took on average."""

    messages: int
    mean_slots: float


class CooperativeDetail(Detail, omit_defaults=True):
    """How many agents answered each arm; in the lab also statistics of their messages.

    `duplicates`: messages that arrived more than once. `delay_by_hops`: keyed by distance in hops.
    """

    answers: dict[str, int]
    duplicates: int | None = None
    duplicates_per_agent: list[int] | None = None
    delay_by_hops: dict[str, HopDelay] | None = None

    def lines(self, run: RunRecord) -> Lines:
        """Each agent's own answer, and how long messages travelled."""
        said = [("answers", run.answers_said())]
        if self.delay_by_hops:
            far = self.delay_by_hops.items()
            slots = [f"{one.mean_slots:g} over {counted(int(hops), 'hop')}" for hops, one in far]
            said.append(("delay in slots", ", ".join(slots)))
        return said


def _complete_alone(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Fill in the record of a run in which every agent has its own answer."""
    answers = Counter(arm for arm in record.answers if arm is not None)
    record.status = "horizon" if not record.exhausted else "exhausted"
    record.detail = CooperativeDetail({str(arm): n for arm, n in sorted(answers.items())})


def _complete_cooperation(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Like `_complete_alone`, with duplicates and delays (in slots, by hops) in the lab."""
    _complete_alone(spec, parameters, record)
    if spec.mode == "field":
        return
    counted: Counter[int] = Counter()
    slots: Counter[int] = Counter()
    duplicates = []
    for log in record.agent_logs:
        duplicates.append(sum(row.messages for _, row in DuplicatesRow.of(log)))
        for _, row in HopsRow.of(log):
            counted[row.distance] += row.messages
            slots[row.distance] += row.slots
    record.detail = msgspec.structs.replace(
        record.detail,
        duplicates=sum(duplicates),
        duplicates_per_agent=duplicates,
        delay_by_hops={str(d): HopDelay(n, slots[d] / n) for d, n in sorted(counted.items())},
    )


ALONE = Results(detail=CooperativeDetail, complete=_complete_alone)
COOPERATION = Results(
    log=(DuplicatesRow, HopsRow), detail=CooperativeDetail, complete=_complete_cooperation
)
