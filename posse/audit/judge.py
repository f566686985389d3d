"""One audit of what was seen on two neighbouring data sets: learned on half, judged on the other.

An audit can refute a claim; it cannot prove one.
"""

import msgspec

from posse.audit.bounds import ERROR, delta_at_least, epsilon_at_least, runs_needed
from posse.audit.event import Event, Table, learn
from posse.measure.numbers import number
from protocol.privacy import Neighbours, amount

_SHARE = 0.5
"""The probability of the event that a larger violation is thought to be seen by, if none is."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit found.

    `claimed` and `delta` are the claim's, None where none is made. `found` is the lower bound on ε
    at that δ, `found_delta` on δ at that ε; each is too large with probability `error`. `event`
    happened in `hits` of `trials` runs on one data set and in `others` on the other; `words` says
    it. `needed` is how many runs on each data set would show twice the claimed ε. `spent` is the
    largest sum of any agent's ledger in any run. `violations` are sentences about what needs no
    statistics. `case` are the data sets.
    """

    claimed: float | None
    delta: float
    found: float
    found_delta: float
    error: float
    event: Event
    words: str
    hits: int
    others: int
    trials: int
    needed: int | None
    spent: float | None = None
    violations: list[str] = []
    case: Neighbours | None = None

    @property
    def refuted(self) -> bool:
        """Whether the claim does not hold; never where nothing is claimed."""
        over = self.claimed is not None and self.found > self.claimed
        return over or bool(self.violations)

    @property
    def overspent(self) -> bool:
        """Whether an agent's ledger has more than was claimed."""
        return (
            self.claimed is not None
            and self.spent is not None
            and self.spent > self.claimed * (1 + 1e-9)
        )

    @property
    def word(self) -> str:
        """Refuted, not refuted, or nothing was claimed."""
        if self.claimed is None and not self.violations:
            return "nothing is claimed"
        return "refuted" if self.refuted else "not refuted"

    @property
    def says(self) -> str:
        """The verdict in a sentence."""
        claim = "nothing claimed"
        if self.claimed is not None:
            claim = f"claimed {amount(self.claimed, self.delta)}"
        counts = f"{self.hits:,} of {self.trials:,} runs against {self.others:,}"
        return f"{counts}: ε is at least {number(self.found)}, {claim}; {self.word}"


def judge(
    learned: tuple[Table, Table],
    tested: tuple[Table, Table],
    claimed: float | None,
    delta: float = 0.0,
    error: float = ERROR,
) -> Verdict:
    """The verdict on tables of data sets 0 and 1: the event is of `learned`, counts of `tested`."""
    event, _ = learn(learned, delta)
    trials = len(tested[0].values)
    hits = int(event.holds(tested[event.of]).sum())
    others = int(event.holds(tested[1 - event.of]).sum())
    told = bool(event.conditions)
    spent = [table.spent for table in (*learned, *tested) if table.spent is not None]
    return Verdict(
        claimed=claimed,
        delta=delta,
        found=float(epsilon_at_least(hits, others, trials, delta, error)) if told else 0.0,
        found_delta=delta_at_least(hits, others, trials, claimed or 0.0, error) if told else 0.0,
        error=error,
        event=event,
        words=event.says or "nothing that was seen tells the two data sets apart",
        hits=hits,
        others=others,
        trials=trials,
        needed=runs_needed(
            max(hits / trials, 1 / trials) if told else _SHARE, claimed or 0.0, delta, error
        ),
        spent=max(spent, default=None),
    )
