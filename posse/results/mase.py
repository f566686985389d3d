"""What runs of best-arm identification turned out to be."""

from __future__ import annotations

from typing import Any

from posse.results.base import Results
from posse.results.record import RunRecord
from posse.spec.runfile import RunSpec
from protocol.mase import EliminationRow, VoteRow


def _complete_independent(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Every agent has its own answer; the run's is the commonest."""
    answers = set(record.answers) - {None}
    if answers:
        record.best_arm = record.commonest_answer()
        record.status = "identified" if len(answers) == 1 else "no_consensus"


VOTES = Results(log=(VoteRow, EliminationRow))
CENTRAL = Results(log=(EliminationRow,))
INDEPENDENT = Results(complete=_complete_independent)
