"""Results of best-arm identification."""

from collections.abc import Sequence
from typing import Any

from posse.measure.numbers import counted
from posse.protocol.mase import EliminationRow, VoteRow
from posse.results.base import Results, Standing
from posse.results.record import Detail, Lines, RunRecord
from posse.spec.runfile import RunSpec


class ServerDetail(Detail):
    """For a server that eliminates arms; its log holds everything there is to tell."""

    def lines(self, run: RunRecord) -> Lines:
        """How many votes were counted, and how many arms eliminated."""
        votes, gone = len(VoteRow.of(run.log)), len(EliminationRow.of(run.log))
        removed = f"{counted(gone, 'arm')} removed"
        return [("votes", f"{votes:,} counted, {removed}") if votes else ("arms", removed)]


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    record.detail = ServerDetail()
    if record.best_arm is None and record.used_up:
        record.status = "exhausted"


def _complete_independent(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    answers = set(record.answers) - {None}
    if answers:
        record.status = "identified" if len(answers) == 1 else "no_consensus"
    elif record.used_up:
        record.status = "exhausted"


def _eliminations(standing: Standing) -> Sequence[str]:
    gone = len(standing.log.get(EliminationRow.table, ()))
    return [standing.arms_left(standing.arms - gone), standing.time()]


def _votes(standing: Standing) -> Sequence[str]:
    left, time = _eliminations(standing)
    return [left, f"{len(standing.log.get(VoteRow.table, ())):,} votes", time]


def _agents_done(standing: Standing) -> Sequence[str]:
    return [f"{standing.finished} of {standing.agents} agents done", standing.time()]


VOTES = Results(
    log=(VoteRow, EliminationRow), progress=_votes, complete=_complete, detail=ServerDetail
)
CENTRAL = Results(
    log=(EliminationRow,), progress=_eliminations, complete=_complete, detail=ServerDetail
)
INDEPENDENT = Results(progress=_agents_done, complete=_complete_independent)
