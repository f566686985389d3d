"""A result in words: the rows of the closing table, which a notebook shows too."""

from collections import Counter
from collections.abc import Sequence

from posse.measure.confidence import Mean
from posse.measure.numbers import total, with_interval
from posse.protocol.privacy import format_cost
from posse.results.delays import delays
from posse.results.measures import PULLS, REGRET, REWARDS, ROUNDS, SLOTS, means
from posse.results.record import Privacy, RunRecord
from posse.results.verdict import TROUBLES, VerdictLine, gone, verdict

_LAB = "In the lab it protects nothing."

_BRIEF = (
    *("done", "partial", "lot", "rounds", "slots", "pulls", "regret", "rewards", "estimates"),
    *("on the wire", "privacy", *TROUBLES, "warning"),
)


def rows(runs: Sequence[RunRecord], line: VerdictLine | None = None) -> list[tuple[str, str]]:
    """What was found, what it cost, what it disclosed: a label and a sentence each.

    The verdict comes first, by default that on these runs; each trouble has a row of its own.
    """
    line = line or verdict(runs, asked=len(runs))
    summary = means(runs)
    pairs = [(line.state, line.sentence), ("ended", _ended(runs))]
    last = runs[-1]
    one = len(runs) == 1
    lost = "; see missing" * any(run.missing for run in runs)
    for measure in (ROUNDS, SLOTS, PULLS, REGRET, REWARDS):
        if measure.name in summary:
            share = f"; {line.regret_share}" * bool(measure is REGRET and line.regret_share)
            counts = f"{measure.counts(last)}{share}{lost}"
            pairs.append((measure.name, f"{with_interval(summary[measure.name])} ({counts})"))
    of_last = "" if one else " (last run)"
    pairs += [(label, f"{line}{of_last}") for label, line in last.detail.lines(last)]
    if last.pulls != 0:
        pairs.append(("estimates", f"{_estimates(last)}{of_last}"))
    pairs.append(("on the wire", _traffic(runs, summary)))
    traffic = last.communication
    if (closed := traffic.closed_form) and traffic.cost is not None:
        by_formula = f"{closed.cost:,.10g} by {closed.formula}{of_last}"
        pairs.append(("cost", f"{traffic.cost:,.10g} in links; {by_formula}"))
    if timed := delays(runs).within():
        pairs.append(("delay", ", ".join(f"{name} {1e3 * s:,.2f} ms" for name, s in timed)))
    if last.delay is not None and last.delay.t_delay:
        slots = ", ".join(map(str, last.delay.t_delay))
        pairs.append(("delay in slots", f"{slots} by round{of_last}"))
    pairs.append(("privacy", _privacy(last.privacy)))
    pairs += line.losses
    pairs.append(("time", f"{with_interval(summary['elapsed_seconds'])} s a run"))
    return pairs


def brief(head: str, runs: Sequence[RunRecord], line: VerdictLine) -> str:
    """A few lines for a prompt: `head`, then the main rows."""
    labelled = rows(runs, line) if runs else []
    shown = (f"  {label:<13}{sentence}" for label, sentence in labelled if label in _BRIEF)
    return "\n".join([head, *shown])


def ending(run: RunRecord) -> str:
    """How one run ended, for a line of the log."""
    answer = f"arm {run.best_arm}" if run.best_arm is not None else run.sought or "no arm"
    return f"{answer} ({run.status}){went_without(run)}"


def went_without(run: RunRecord) -> str:
    """Whom a run went on without, at the end of a sentence; "" if all were there."""
    return f"; it went on without {gone(run)}" if run.dismissed else ""


def line(run: RunRecord) -> str:
    """How one run ended, and its totals as far as they are known."""
    judged = {True: ", right", False: ", wrong", None: ""}[run.right]
    totals = (
        ("", run.rounds, " rounds"),
        ("", run.slots, " slots"),
        ("", run.pulls, " pulls"),
        ("regret ", run.regret, ""),
        ("rewards ", run.rewards, ""),
        ("", run.communication.data.messages, " data messages"),
    )
    parts = [f"{before}{total(n)}{after}" for before, n, after in totals if n is not None]
    return f"{ending(run)}{judged}; {', '.join(parts)}"


def _ended(runs: Sequence[RunRecord]) -> str:
    """How many runs ended how, and in how many the answer was right."""
    statuses = Counter(run.status for run in runs).most_common()
    ends = ", ".join(status if len(statuses) == 1 else f"{status} {n}" for status, n in statuses)
    known = [run.right for run in runs if run.right is not None]
    return ends + (f"; right in {sum(known)} of {len(known)}" if known else "")


NO_MEAN_SENT = "what this system sends tells the mean of no arm"
NO_DEVIATION = "rewards have neither bounds nor a deviation that is known"
_BEST = 3
"""The most arms that are shown with their estimates."""


def _estimates(run: RunRecord) -> str:
    """The arms with the largest estimates, or why there is none."""
    if not run.estimates:
        field = run.pulls is None  # which nobody reports there
        return f"none: {NO_MEAN_SENT if field else NO_DEVIATION}"
    by_mean = sorted(run.estimates, key=lambda estimate: -estimate.mean)
    arms = "; ".join(f"arm {known.arm} {known}" for known in by_mean[:_BEST])
    more = f"; {len(by_mean) - _BEST} more" * (len(by_mean) > _BEST)
    return f"{arms}{more}; 95 % for all arms at once"


def _traffic(runs: Sequence[RunRecord], summary: dict[str, Mean]) -> str:
    if not summary.keys() >= {"control_messages", "data_messages"}:
        return "unknown: in the field nobody reports what agents send each other"
    control = f"{with_interval(summary['control_messages'])} control messages"
    world = [run.communication.world.messages or 0 for run in runs]
    if any(world) and not summary["data_messages"].mean:
        each = total(sum(world) / len(world))
        return f"{each} messages between agents and shared arms, none between agents; {control}"
    return (
        f"{with_interval(summary['data_messages'])} data messages, "
        f"{with_interval(summary['data_payload_bytes'])} payload bytes; {control}"
    )


def _privacy(privacy: Privacy | None) -> str:
    """What was promised and spent in four lines; the page and `posse check` say the rest."""
    if privacy is None:
        return "no claim"
    claim = privacy.claim
    if not claim.guarantees:
        return claim.brief
    beyond = "posse report says what else it leaves open."
    return f"{claim.brief} {_spent(privacy)} {beyond if privacy.protects else _LAB}"


def _spent(privacy: Privacy) -> str:
    """The sum of the ledgers, at the claim's δ."""
    claim, spent = privacy.claim, privacy.spent_per_agent
    if spent is None:
        return "Each agent's own log says what was spent."
    after = " (added up afterwards)" if claim.delta else ""
    return f"Spent: {format_cost(max(spent, default=0.0))}{after}."
