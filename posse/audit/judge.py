"""One audit of views on two neighbouring data sets: learned on one half, judged on the other.

An audit can refute a claim; it cannot prove one.
"""

from collections.abc import Sequence

import msgspec

from posse.audit.bounds import ERROR, delta_at_least, epsilon_at_least, runs_needed
from posse.audit.event import Event, ViewTable, learn
from posse.measure.numbers import number
from posse.protocol.privacy import Neighbours, format_cost


class AuditVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an audit.

    `claimed` and `delta` are the claim's; `claimed` is None if there is no claim. `lower_bound` is
    the one on ε at `delta`, `delta_lower_bound` the one on δ at `claimed`; each is too large with
    probability `error`. `event` (in words: `words`) occurred in `hits` of `trials` runs on
    one data set and in `others` on the other. `needed` is how many runs on each data set would
    show twice the claimed ε by an event as frequent as this; None if none was found. `spent` is
    the largest sum of any agent's ledger in any run; `cut` of the runs judged were cut.
    `violations` are sentences about faults that need no statistics. `case` describes the data sets.
    """

    claimed: float | None
    delta: float
    lower_bound: float
    delta_lower_bound: float
    error: float
    event: Event
    words: str
    hits: int
    others: int
    trials: int
    needed: int | None
    cut: int = 0
    spent: float | None = None
    violations: list[str] = []
    case: Neighbours | None = None

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted; without a claim, only violations count."""
        over = self.claimed is not None and self.lower_bound > self.claimed
        return over or bool(self.violations)

    @property
    def overspent(self) -> bool:
        """Whether an agent's ledger exceeds the claim."""
        return (
            self.claimed is not None
            and self.spent is not None
            and self.spent > self.claimed * (1 + 1e-9)
        )

    @property
    def word(self) -> str:
        """The word for it: "refuted", "not refuted" or "nothing is claimed"."""
        if self.claimed is None and not self.violations:
            return "nothing is claimed"
        return "refuted" if self.refuted else "not refuted"

    @property
    def says(self) -> str:
        """The verdict in a sentence."""
        claim = "nothing claimed"
        if self.claimed is not None:
            claim = f"claimed {format_cost(self.claimed, self.delta)}"
        counts = f"{self.hits:,} of {self.trials:,} runs against {self.others:,}"
        if self.cut:
            counts += f" ({self.cut:,} were cut, and count against the bound)"
        return f"{counts}: ε is at least {number(self.lower_bound)}, {claim}; {self.word}"


def judge(
    learned: Sequence[ViewTable],
    tested: Sequence[ViewTable],
    claimed: float | None,
    delta: float = 0.0,
    error: float = ERROR,
) -> AuditVerdict:
    """The verdict on data sets 0 and 1: it learns the event on `learned`, counts it on `tested`.

    A run that was cut counts against the bound: the event occurred where that lowers it.
    """
    event, _ = learn(learned, delta)
    trials = len(tested[0].values) + tested[0].cut
    hits = int(event.holds(tested[event.likelier_on]).sum())
    other = tested[1 - event.likelier_on]
    others = int(event.holds(other).sum()) + other.cut
    has_event = bool(event.conditions)
    spent = [table.spent for table in (*learned, *tested) if table.spent is not None]
    return AuditVerdict(
        claimed=claimed,
        delta=delta,
        lower_bound=float(epsilon_at_least(hits, others, trials, delta, error))
        if has_event
        else 0.0,
        delta_lower_bound=delta_at_least(hits, others, trials, claimed or 0.0, error)
        if has_event
        else 0.0,
        error=error,
        event=event,
        words=event.says or "nothing that was seen tells the two data sets apart",
        hits=hits,
        others=others,
        trials=trials,
        cut=sum(table.cut for table in tested),
        needed=runs_needed(max(hits, 1) / trials, claimed or 0.0, delta, error)
        if has_event
        else None,
        spent=max(spent, default=None),
    )
