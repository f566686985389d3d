"""The table that closes a run on the command line."""

from collections import Counter
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from posse.results.record import Privacy
from posse.results.result import Mean, Result


def show(result: Result, directory: Path, console: Console) -> None:
    """Print what was found, what it cost, what it gave away."""
    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    runs = result.runs
    summary = result.summary()
    table.add_row("found", _found(result))
    for name in ("rounds", "slots", "pulls", "regret"):
        if name in summary:
            table.add_row(name, _mean(summary[name]))
    table.add_row("on the wire", _traffic(summary))
    last = runs[-1]
    traffic = last.communication
    if world := traffic.world.messages:
        table.add_row("the arms", f"{world:,} messages between agents and shared arms (last run)")
    if (closed := traffic.closed_form) and traffic.cost is not None:
        table.add_row(
            "cost",
            f"{traffic.cost:,.10g} in links; {closed.cost:,.10g} by {closed.formula} (last run)",
        )
    if (delay := last.delay) is not None and delay.p50 and delay.p99:
        table.add_row(
            "delay", f"median {1e3 * delay.p50:.2f} ms, 99 % {1e3 * delay.p99:.2f} ms (last run)"
        )
    if delay is not None and delay.t_delay:
        slots = ", ".join(map(str, delay.t_delay))
        table.add_row("delay in slots", f"{slots} by round (last run)")
    table.add_row("privacy", _privacy(last.privacy))
    if refused := sum((Counter(run.refused) for run in runs), Counter()):
        table.add_row("refused", ", ".join(f"{n} {reason}" for reason, n in refused.items()))
    if exhausted := {agent for run in runs for agent in run.exhausted}:
        table.add_row("used up", f"{len(exhausted)} agents ran out of rewards")
    if dismissed := {(agent, why) for run in runs for agent, why in run.dismissed.items()}:
        table.add_row("dismissed", ", ".join(f"agent {n} ({why})" for n, why in sorted(dismissed)))
    for warning in result.warnings:
        table.add_row("warning", warning)
    table.add_row("time", f"{_mean(summary['elapsed_seconds'], 2)} s a run")
    table.add_row("written to", str(directory))
    console.print(table)


def _found(result: Result) -> str:
    statuses = Counter(run.status for run in result.runs)
    arms = Counter(run.best_arm for run in result.runs if run.best_arm is not None)
    found = ", ".join(f"arm {arm} in {n} of {len(result.runs)}" for arm, n in arms.most_common(5))
    status = ", ".join(f"{status} {n}" for status, n in statuses.most_common())
    known = [run.right for run in result.runs if run.right is not None]
    right = f", right in {sum(known)} of {len(known)}" if known else ""
    return f"{found or 'no arm'}{right} ({status})"


def _traffic(summary: dict[str, Mean]) -> str:
    if "data_messages" not in summary:
        return "not known here: in the field nobody reports what agents send each other"
    return (
        f"{_mean(summary['data_messages'])} data messages, "
        f"{_mean(summary['data_payload_bytes'])} payload bytes; "
        f"{_mean(summary['control_messages'])} control messages"
    )


def _mean(metric: Mean, digits: int = 0) -> str:
    spread = f" ± {metric.ci95:,.{digits}f}" if metric.ci95 is not None else ""
    return f"{metric.mean:,.{digits}f}{spread}"


def _privacy(privacy: Privacy | None) -> str:
    if privacy is None:
        return "no claim"
    claim = privacy.claim
    parts = []
    if claim.epsilon is not None and claim.mechanism != "none":
        spent = privacy.spent_per_agent
        parts.append(
            f"ε = {claim.epsilon:g} for {claim.unit}, against {claim.adversary}"
            + (f"; spent at most {max(spent):g}." if spent else "; each agent's log has its own.")
        )
    if not claim.holds:
        parts.append("The paper's claim does not hold.")
    parts.append(claim.note)
    if claim.epsilon is not None and privacy.records:
        parts.append(privacy.records)
    return " ".join(part for part in parts if part)
