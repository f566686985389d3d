"""Makes the record of a lab's run from what the coordinator saw and the agents reported."""

import numpy as np

from posse.arms.shared import SharedArms
from posse.measure import regret
from posse.results import assembly
from posse.results.assembly import QUANTILES, Seen, add_pulls
from posse.results.record import Delay, Quantiles, Resources, RunRecord
from posse.spec.runfile import RunSpec
from protocol import control
from protocol.machine import FloatArray
from protocol.privacy import spent


def record(spec: RunSpec, seen: Seen, reported: dict[int, control.Report]) -> RunRecord:
    """The record of the run; a dismissed agent counts with no pulls and no messages.

    It adds the links, refusals and delays of the reports to the counters of `seen`.
    """
    silence = no_report(spec.arms.arm_count())
    reports = [reported.get(n, silence) for n in range(spec.agents.count)]
    for report in reports:
        seen.meter.add(report.links)
        seen.refused.update(report.refused)
        seen.delays.histogram().update(report.delays)
    found = assembly.record(spec, seen)
    in_slots = seen.clock == "slots"
    if seen.shared is None:
        pulls = np.array([np.frombuffer(report.pulls, dtype="<i8") for report in reports])
        add_pulls(found, pulls, [report.activations for report in reports])
        found.slots = max(report.slots for report in reports) if in_slots else None
    if not in_slots:
        found.rounds = sum(found.activations_per_agent)
    _add_regret(found, reports, seen.shared, in_slots=in_slots)
    if taken := _taken(reports):
        found.delay = found.delay or Delay()
        found.delay.taken = taken
    if (privacy := found.privacy) is not None:
        privacy.spent_per_agent = [spent(report.releases, seen.claim.delta) for report in reports]
        privacy.releases_per_agent = [sum(r.times for r in report.releases) for report in reports]
    found.resources = _resources([report.resources for report in reports])
    found.agent_logs = [report.log for report in reports]
    found.ledgers = [report.releases for report in reports]
    return found


def no_report(arms: int) -> control.Report:
    """The empty report that stands for a dismissed agent."""
    return control.Report(
        pulls=bytes(8 * arms),
        activations=0,
        slots=0,
        regret={},
        curve={},
        links=[],
        delays={},
        refused={},
        releases=[],
        log={},
        seconds={},
        resources=control.Resources(0.0, 0, 0),
    )


def _add_regret(
    record: RunRecord, reports: list[control.Report], shared: SharedArms | None, *, in_slots: bool
) -> None:
    """Add the total regret by reference, and the group's curve, if the means are known."""
    if shared is not None and shared.regret is not None:
        record.regret = shared.regret.total
        record.regret_curve = regret.merge([shared.regret.curve()], by_time=in_slots)
        return
    measured = [report for report in reports if report.curve]
    if measured:
        totals = {
            name: sum(report.regret[name] for report in measured) for name in measured[0].curve
        }
        record.regret = totals.get("regret")
        record.regret_local = totals.get("regret_local")
        curves = [np.frombuffer(report.curve["regret"]).reshape(-1, 3) for report in measured]
        record.regret_curve = regret.merge(curves, by_time=in_slots)
    if all("regret" in report.regret for report in reports):
        record.regret_per_agent = [report.regret["regret"] for report in reports]


def _taken(reports: list[control.Report]) -> dict[str, Quantiles]:
    """The durations that the agents measured, by name."""
    taken = {}
    for name in sorted({name for report in reports for name in report.seconds}):
        values: FloatArray = np.concatenate([report.seconds.get(name, []) for report in reports])
        p50, p90, p99, p100 = np.quantile(values, QUANTILES).tolist()
        taken[name] = Quantiles(len(values), p50, p90, p99, p100)
    return taken


def _resources(used: list[control.Resources]) -> Resources | None:
    """What each agent's process used; None if the agents share one process."""
    if not any(one.peak_bytes for one in used):
        return None
    return Resources(
        cpu_seconds_per_agent=[one.cpu_seconds for one in used],
        peak_bytes_per_agent=[one.peak_bytes for one in used],
        proportional_bytes_per_agent=[one.proportional_bytes for one in used],
    )
