"""A result in words: the rows of the closing table, which a notebook shows too."""

from collections import Counter
from collections.abc import Sequence

from posse.measure.confidence import Mean
from posse.measure.numbers import counted, named, total, with_interval
from posse.measure.traffic import RESENT
from posse.protocol.privacy import format_cost
from posse.results.measures import PULLS, REGRET, REWARDS, ROUNDS, SLOTS, means
from posse.results.record import ILLUSTRATES, Privacy, RunRecord

_BRIEF = (
    *("found", "lot", "rounds", "slots", "pulls", "regret", "rewards", "on the wire", "privacy"),
    *("used up", "missing", "warning"),
)


def rows(runs: Sequence[RunRecord], warnings: Sequence[str]) -> list[tuple[str, str]]:
    """What was found, what it cost, what it disclosed: a label and a sentence each."""
    summary = means(runs)
    pairs = [("found", _found(runs))]
    last = runs[-1]
    lost = "; see missing" * any(run.missing for run in runs)
    pairs += [
        (measure.name, f"{with_interval(summary[measure.name])} ({measure.counts(last)}{lost})")
        for measure in (ROUNDS, SLOTS, PULLS, REGRET, REWARDS)
        if measure.name in summary
    ]
    pairs += [(label, f"{line} (last run)") for label, line in last.detail.lines(last)]
    pairs.append(("on the wire", _traffic(summary)))
    traffic = last.communication
    if world := traffic.world.messages:
        pairs.append(("the arms", f"{world:,} messages between agents and shared arms (last run)"))
    if (closed := traffic.closed_form) and traffic.cost is not None:
        by_formula = f"{closed.cost:,.10g} by {closed.formula} (last run)"
        pairs.append(("cost", f"{traffic.cost:,.10g} in links; {by_formula}"))
    if (delay := last.delay) is not None and delay.p50 and delay.p99:
        times = f"median {1e3 * delay.p50:.2f} ms, 99 % {1e3 * delay.p99:.2f} ms (last run)"
        pairs.append(("delay", times))
    if delay is not None and delay.t_delay:
        slots = ", ".join(map(str, delay.t_delay))
        pairs.append(("delay in slots", f"{slots} by round (last run)"))
    pairs.append(("privacy", _privacy(last.privacy)))
    if again := sum(_resent(run) for run in runs):
        pairs.append(("sent again", f"{again:,} frames, after connections were lost"))
    if refused := sum((Counter(run.refused) for run in runs), Counter()):
        pairs.append(("refused", ", ".join(f"{n} {reason}" for reason, n in refused.items())))
    if proven := sorted({agent for run in runs for agent in run.proofs}):
        text = "signed two values for one round, as `proofs` in the result shows"
        pairs.append(("dismissed", f"{named(proven)} {text}"))
    if exhausted := {agent for run in runs for agent in run.exhausted}:
        loss = next((run.loss for run in runs if run.exhausted), "")
        pairs.append(
            ("used up", f"{counted(len(exhausted), 'agent')} ran out of rewards. {loss}".rstrip())
        )
    if missing := sorted({(absence.agent, absence.why) for run in runs for absence in run.missing}):
        gone = ", ".join(f"agent {n} ({why})" for n, why in missing)
        loss = next(run.loss for run in runs if run.missing)
        pairs.append(("missing", f"{gone}. {loss}".rstrip()))
    pairs += [("warning", warning) for warning in warnings]
    pairs.append(("time", f"{with_interval(summary['elapsed_seconds'])} s a run"))
    return pairs


def brief(head: str, runs: Sequence[RunRecord], warnings: Sequence[str]) -> str:
    """A few lines for a prompt: `head`, then the main rows."""
    labelled = rows(runs, warnings) if runs else []
    shown = (f"  {label:<13}{sentence}" for label, sentence in labelled if label in _BRIEF)
    return "\n".join([head, *shown])


def ending(run: RunRecord) -> str:
    """How one run ended, for a line of the log."""
    answer = f"arm {run.best_arm}" if run.best_arm is not None else run.sought or "no arm"
    without = f"; it went on without {gone(run)}" if run.dismissed else ""
    return f"{answer} ({run.status}){without}"


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


def gone(run: RunRecord) -> str:
    """The agents that a run continued without, and why."""
    return ", ".join(f"agent {rank} ({why})" for rank, why in sorted(run.dismissed.items()))


def _resent(run: RunRecord) -> int:
    again = run.communication.control.kinds.get(RESENT)
    return (again.messages or 0) if again is not None else 0


def _found(runs: Sequence[RunRecord]) -> str:
    statuses = Counter(run.status for run in runs)
    arms = Counter(run.best_arm for run in runs if run.best_arm is not None)
    named = [
        f"arm {arm} in {n} of {len(runs)}{_whether(arm, runs) if len(arms) > 1 else ''}"
        for arm, n in arms.most_common(5)
    ]
    answer = ", ".join(named)
    all_alike = len(statuses) == 1
    status = ", ".join(s if all_alike else f"{s} ({n})" for s, n in statuses.most_common())
    known = [run.right for run in runs if run.right is not None]
    right = f", right in {sum(known)} of {len(known)}" if known else ""
    return f"{answer or runs[-1].sought or 'no arm'}{right}; ended as {status}"


def _whether(arm: int, runs: Sequence[RunRecord]) -> str:
    """Whether the runs that named this arm were right; "" if unknown."""
    known = [run.right for run in runs if run.best_arm == arm and run.right is not None]
    if not known:
        return ""
    if len(set(known)) == 1:
        return " (right)" if known[0] else " (wrong)"
    return f" (right in {sum(known)})"


def _traffic(summary: dict[str, Mean]) -> str:
    if "data_messages" not in summary:
        return "unknown: in the field nobody reports what agents send each other"
    return (
        f"{with_interval(summary['data_messages'])} data messages, "
        f"{with_interval(summary['data_payload_bytes'])} payload bytes; "
        f"{with_interval(summary['control_messages'])} control messages"
    )


def _privacy(privacy: Privacy | None) -> str:
    if privacy is None:
        return "no claim"
    claim = privacy.claim
    parts = [claim.says, _spent(privacy), privacy.records, privacy.ends]
    if claim.guarantees and not privacy.protects:
        parts.append(ILLUSTRATES)
    return " ".join(part for part in parts if part)


def _spent(privacy: Privacy) -> str:
    """The sum of the ledgers, at the claim's δ."""
    claim, spent = privacy.claim, privacy.spent_per_agent
    if not claim.guarantees:
        return ""
    if spent is None:
        return "Each agent's own log says what was spent."
    after = " (added up afterwards: no guarantee)" if claim.delta else ""
    most = format_cost(max(spent, default=0.0), claim.delta)
    return f"Spent, according to the ledger of each agent: at most {most} for one reward{after}."
