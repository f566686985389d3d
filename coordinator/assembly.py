"""Makes the record of a run from what the coordinator saw and, in the lab, the agents reported."""

from collections import Counter

import numpy as np

from posse.arms.shared import GroupArms
from posse.errors import RunFailed
from posse.hosts.endpoint import Endpoint
from posse.measure import regret
from posse.measure.traffic import quantile, seconds
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.estimates import UNIT, latest, observed
from posse.protocol.machine import COORDINATOR
from posse.protocol.privacy import total_cost
from posse.results.record import Delay, LinkDelay, Privacy, Quantiles, Resources, RunRecord
from posse.results.traffic import traffic
from posse.results.words import went_without
from posse.spec.runfile import RunSpec
from posse.system.bounds import MeansUnknownError, run_means
from posse.system.claims import records

QUANTILES = (0.5, 0.9, 0.99, 1.0)
_SAME = 1e-12
_UNFINISHED = ("missing", "exhausted", "implausible")


def complete_record(
    plan: Plan,
    record: RunRecord,
    endpoint: Endpoint,
    shared: GroupArms | None,
    reported: dict[int, control.Report],
) -> RunRecord:
    """The record of a run that has ended, to which the coordinator added what it saw itself.

    `endpoint` counted the frames on the coordinator's links, and `shared` are the arms that all
    agents share, if any. In the lab the links, refusals and delays of the reports are added to the
    endpoint's. A dismissed agent counts with no pulls and no messages. If none reported, nothing
    was measured: `RunFailed`.
    """
    verdict = record.status
    if verdict == "missing" and record.exhausted and not record.missing:
        verdict = "exhausted"
    if not (plan.field or reported or verdict in _UNFINISHED):
        refused = ", ".join(f"{n} {reason}" for reason, n in endpoint.refused.items())
        raise RunFailed(
            f"run {record.run + 1} measured nothing, as no agent's report could be used: "
            f"{f'refused were {refused}' if refused else 'none came'}{went_without(record)}"
        )
    silence = no_report(plan.spec.arms.arm_count())
    agents = () if plan.field else range(plan.spec.agents.count)
    reports = [reported.get(n, silence) for n in agents]
    delays = {(source, COORDINATOR): by for source, by in endpoint.delays.items()}
    for rank, report in enumerate(reports):
        if report.delays:
            delays |= {(source, rank): Counter(by) for source, by in report.delays.items()}
        if report.refused:
            endpoint.refused.update(report.refused)
        endpoint.meter.add(report.links)
    record.delay = _delay(delays)
    _add_seen(plan, record, endpoint, shared)
    if plan.field:
        record.estimates = latest(record.log)
    else:
        _add_reported(plan, record, shared, reports)
    plan.system.results.finish(plan.spec, plan.parameters, record)
    if verdict in _UNFINISHED:
        record.status = verdict
    record.right = right(plan.spec, record)
    return record


def _add_seen(plan: Plan, record: RunRecord, endpoint: Endpoint, shared: GroupArms | None) -> None:
    """Add what the coordinator knows by itself.

    Agents in the field do not report pulls, regret, releases, or messages to each other. The
    coordinator knows only the messages on its own links, and the arms that all agents share.
    """
    record.refused = dict(endpoint.refused)
    if shared is not None:
        record.slots = shared.slots
        add_pulls(record, shared.pulls, shared.pulls.sum(axis=1).tolist())
    record.links = endpoint.meter.links()
    known = not plan.field or plan.system.wiring is None
    record.communication = traffic(record.links, between_agents=known)
    record.privacy = Privacy(
        claim=plan.claim.promise,
        protects=plan.field,
        records=records(plan.spec, plan.claim) or None,
        ends=plan.spec.arms.ends or None,
        variant=plan.spec.variant,
        spent_per_agent=None,
        releases_per_agent=None,
    )


def add_pulls(record: RunRecord, pulls: IntArray, activations: list[int]) -> None:
    """Add who pulled what, shape (agents, arms), and how often each agent acted."""
    record.pulls = int(pulls.sum())
    record.pulls_per_arm = pulls.sum(axis=0).tolist()
    record.pulls_per_agent = pulls.sum(axis=1).tolist()
    record.activations_per_agent = activations


def _delay(by_link: dict[tuple[int, int], Counter[int]]) -> Delay | None:
    """Seconds from send to receipt, from histograms by link; None if none were measured."""
    histogram = sum(by_link.values(), Counter())
    if not histogram:
        return None
    p50, p90, p99, p100 = (quantile(histogram, q) for q in QUANTILES)
    return Delay(
        messages=histogram.total(),
        p50=p50,
        p90=p90,
        p99=p99,
        p100=p100,
        histogram=[(seconds(index), histogram[index]) for index in sorted(histogram)],
        links=[
            LinkDelay(*ends, by.total(), quantile(by, 0.5) or 0.0, quantile(by, 0.99) or 0.0)
            for ends, by in sorted(by_link.items())
        ],
    )


def _add_reported(
    plan: Plan, record: RunRecord, shared: GroupArms | None, reports: list[control.Report]
) -> None:
    """Add what the agents of a lab report, in the order of their ranks."""
    in_slots = plan.clock == "slots"
    if shared is None:
        packed = b"".join(report.pulls for report in reports)
        pulls = np.frombuffer(packed, dtype="<i8").reshape(len(reports), -1)
        add_pulls(record, pulls, [report.activations for report in reports])
        record.slots = max(report.slots for report in reports) if in_slots else None
    if not in_slots:
        record.rounds = sum(record.activations_per_agent)
    _add_regret(record, reports, shared, in_slots=in_slots)
    _add_rewards(plan.spec, record, reports, shared)
    if taken := _durations(reports):
        record.delay = record.delay or Delay()
        record.delay.taken = taken
    if (privacy := record.privacy) is not None:
        privacy.spent_per_agent = _spent(reports, plan.reward_claim.delta)
        privacy.releases_per_agent = [sum(r.times for r in report.releases) for report in reports]
    record.resources = _resources([report.resources for report in reports])
    record.agent_logs = [report.log for report in reports]
    record.ledgers = [report.releases for report in reports]


def _spent(reports: list[control.Report], delta: float | None) -> list[float]:
    """What each agent's releases cost; agents of this process may share their list."""
    costs: dict[int, float] = {}
    for report in reports:
        if (own := id(report.releases)) not in costs:
            costs[own] = total_cost(report.releases, delta)
    return [costs[id(report.releases)] for report in reports]


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
        resources=control.ResourceUse(0.0, 0, 0),
    )


def _add_regret(
    record: RunRecord, reports: list[control.Report], shared: GroupArms | None, *, in_slots: bool
) -> None:
    """Add the regret by reference and the group's curve."""
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


def _add_rewards(
    spec: RunSpec, record: RunRecord, reports: list[control.Report], shared: GroupArms | None
) -> None:
    """Add an estimate of each arm that was pulled and, without known means, the rewards."""
    rewards = b"".join([bytes(16 * spec.arms.arm_count()), *(report.rewards for report in reports)])
    sums = np.frombuffer(rewards, dtype="<f8").reshape(-1, 2 * spec.arms.arm_count()).sum(axis=0)
    given, earned = sums.reshape(-1, 2).T
    if shared is not None:
        given, earned = shared.drawn, shared.sums
    deviation = UNIT if spec.arms.unit_interval else getattr(spec.arms, "sd", None)
    if deviation is not None:
        record.estimates = [
            observed(k, float(earned[k] / given[k]), int(given[k]), len(given), deviation)
            for k in np.flatnonzero(given).tolist()
        ]
    if record.regret is None and given.any():
        record.rewards = float(earned.sum()) if shared is None else shared.earned


def _durations(reports: list[control.Report]) -> dict[str, Quantiles]:
    """The durations that the agents measured, by name."""
    taken = {}
    for name in sorted({name for report in reports for name in report.seconds}):
        values: FloatArray = np.concatenate([report.seconds.get(name, []) for report in reports])
        p50, p90, p99, p100 = np.quantile(values, QUANTILES).tolist()
        taken[name] = Quantiles(len(values), p50, p90, p99, p100)
    return taken


def _resources(used: list[control.ResourceUse]) -> Resources | None:
    """What each agent's process used; None if the agents share one process."""
    if not any(use.peak_bytes for use in used):
        return None
    return Resources(
        cpu_seconds_per_agent=[use.cpu_seconds for use in used],
        peak_bytes_per_agent=[use.peak_bytes for use in used],
        proportional_bytes_per_agent=[use.proportional_bytes for use in used],
    )


def right(spec: RunSpec, record: RunRecord) -> bool | None:
    """Whether the run's one answer has the greatest mean, averaged over the agents.

    None if the means are unknown, or if each agent looks for an arm of its own. A run that sought a
    consensus and ended without one is wrong.
    """
    if record.best_arm is None and record.status != "no_consensus":
        return None
    try:
        means = run_means(spec, record.run)
    except MeansUnknownError:
        return None
    return record.best_arm is not None and bool(means[record.best_arm] >= means.max() - _SAME)
