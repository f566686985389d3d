"""What a run turned out to be: what the coordinator saw, and what the agents' reports add."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posse.arms.shared import SharedArms
from posse.measure import regret
from posse.measure.traffic import Delays, Meter, quantile, seconds
from posse.results.record import RunRecord, communication
from posse.spec.runfile import RunSpec
from protocol import control
from protocol.machine import Finish
from protocol.privacy import spent

_QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the coordinator itself knows of a run that has ended.

    `world`: the arms, where all agents share them. `elapsed` is in seconds. The rest is as in
    `RunRecord`.
    """

    verdict: Finish
    answers: list[int | None]
    exhausted: dict[int, str]
    dismissed: dict[int, str]
    log: dict[str, list[list[float]]]
    refused: Counter[str]
    meter: Meter
    delays: Delays
    elapsed: float
    network: dict[str, Any]
    world: SharedArms | None


def outcome(spec: RunSpec, run: int, seen: Seen, reported: dict[int, control.Report]) -> RunRecord:
    """The record of run `run`. An agent that did not report pulled and sent nothing we know of.

    The reports' links and refusals are added to the meter and to `refused` of `seen`.
    """
    silence = _no_report(spec.arms.arm_count())
    reports = [reported.get(n, silence) for n in range(spec.agents.count)]
    delays = seen.delays.histogram()
    for report in reports:
        seen.meter.add(report.links)
        seen.refused.update(report.refused)
        delays.update(report.delays)
    links = seen.meter.links()
    in_slots = spec.clock() == "slots"
    if seen.world is None:
        pulls = np.array([np.frombuffer(report.pulls, dtype="<i8") for report in reports])
        activations = [report.activations for report in reports]
        slots = max(report.slots for report in reports)
    else:
        pulls, slots = seen.world.pulls, seen.world.slots
        activations = pulls.sum(axis=1).tolist()
    curves, totals = _regrets(reports, seen.world)
    return RunRecord(
        run=run,
        seed=spec.seed,
        status=seen.verdict.status,
        best_arm=seen.verdict.arm,
        rounds=None if in_slots else sum(activations),
        slots=slots if in_slots else None,
        pulls=int(pulls.sum()),
        regret=totals.get("regret"),
        regret_local=totals.get("regret_local"),
        regret_per_agent=(
            [report.regret["regret"] for report in reports]
            if all("regret" in report.regret for report in reports)
            else None
        ),
        regret_curve=(
            regret.merge(curves["regret"], by_time=in_slots) if "regret" in curves else None
        ),
        pulls_per_arm=pulls.sum(axis=0).tolist(),
        pulls_per_agent=pulls.sum(axis=1).tolist(),
        activations_per_agent=activations,
        answers=seen.answers,
        exhausted=seen.exhausted,
        dismissed=seen.dismissed,
        log=seen.log,
        network=seen.network,
        communication=communication(links),
        delay=_delay(delays, reports),
        privacy=_privacy(spec, reports),
        refused=dict(seen.refused),
        resources=_resources([report.resources for report in reports]),
        elapsed_seconds=seen.elapsed,
        agent_logs=[report.log for report in reports],
        links=links,
        ledgers=[report.releases for report in reports],
    )


def _no_report(arms: int) -> control.Report:
    """What stands for the report of an agent that was dismissed, or is in the field."""
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


def _regrets(
    reports: list[control.Report], world: SharedArms | None
) -> tuple[dict[str, list[NDArray[np.float64]]], dict[str, float]]:
    """Curves, one (points, 3) per agent or one of the arms that all share, and totals, by name."""
    if world is not None and world.regret is not None:
        return {"regret": [world.regret.curve()]}, {"regret": world.regret.total}
    measured = [report for report in reports if report.curve]
    names = measured[0].curve if measured else {}
    curves = {
        name: [np.frombuffer(report.curve[name]).reshape(-1, 3) for report in measured]
        for name in names
    }
    return curves, {name: sum(report.regret[name] for report in measured) for name in names}


def _privacy(spec: RunSpec, reports: list[control.Report]) -> dict[str, Any] | None:
    """What was claimed, and what each agent spent of it."""
    claim = spec.definition().claim(spec.model(), spec.variant)
    if claim is None:
        return None
    return {
        "claim": {name: getattr(claim, name) for name in claim.__struct_fields__},
        "records": spec.arms.records or None,
        "variant": spec.variant,
        "spent_per_agent": [spent(report.releases) for report in reports],
        "releases_per_agent": [
            sum(release.times for release in report.releases) for report in reports
        ],
    }


def _resources(used: list[control.Resources]) -> dict[str, Any] | None:
    """What each agent's process used, where each has one."""
    if not any(one.peak_bytes for one in used):
        return None
    return {
        "cpu_seconds_per_agent": [one.cpu_seconds for one in used],
        "peak_bytes_per_agent": [one.peak_bytes for one in used],
        "proportional_bytes_per_agent": [one.proportional_bytes for one in used],
    }


def _delay(histogram: Counter[int], reports: list[control.Report]) -> dict[str, Any] | None:
    """Seconds from send to receipt, and what the agents took the time of.

    Quantiles, and `histogram` as [[seconds, messages], …].
    """
    if not histogram:
        return None
    delay: dict[str, Any] = {
        "messages": histogram.total(),
        **{f"p{int(100 * q)}": quantile(histogram, q) for q in _QUANTILES},
        "histogram": [[seconds(index), histogram[index]] for index in sorted(histogram)],
    }
    for name in sorted({name for report in reports for name in report.seconds}):
        taken = np.concatenate([report.seconds.get(name, []) for report in reports])
        delay[f"{name}_seconds"] = {
            "count": len(taken),
            **{f"p{int(100 * q)}": float(np.quantile(taken, q)) for q in _QUANTILES},
        }
    return delay
