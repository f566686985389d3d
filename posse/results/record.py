"""What one run and a series of runs turned out to be; the documents that `--json` prints."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from posse.measure.confidence import mean_ci
from protocol.control import LinkCount
from protocol.machine import COORDINATOR
from protocol.privacy import Release
from protocol.wire import Plane


@dataclass(kw_only=True)
class RunRecord:
    """One run. Times are in the unit of the run's clock; what does not apply is None.

    `rounds` counts activations in the sense of Rio et al. (one agent pulls each of its arms), or
    communication rounds where the paper counts those; `slots` the slots of a lockstep system.
    `network` says what the graph was. `log` has what the coordinator's machine noted, each row with
    its time first: for votes
    [[now, agent, arm], …] in the order they were counted, for eliminations [[now, arm], …];
    `agent_logs` what each agent's machine noted. `answers` has each agent's own arm,
    `pulls_per_arm` is summed over agents. `exhausted` says whose arms ran out (-1: those that all
    share), `dismissed` which agents the run went on without, and why.
    """

    run: int
    seed: int
    status: str = "unknown"
    best_arm: int | None = None
    rounds: int | None = None
    slots: int | None = None
    pulls: int | None = 0
    regret: float | None = None
    regret_local: float | None = None
    regret_per_agent: list[float] | None = None
    regret_curve: list[list[float]] | None = None
    pulls_per_arm: list[int] = field(default_factory=list)
    pulls_per_agent: list[int] = field(default_factory=list)
    activations_per_agent: list[int] = field(default_factory=list)
    answers: list[int | None] = field(default_factory=list)
    exhausted: dict[int, str] = field(default_factory=dict)
    dismissed: dict[int, str] = field(default_factory=dict)
    log: dict[str, list[list[float]]] = field(default_factory=dict)
    agent_logs: list[dict[str, list[list[float]]]] = field(default_factory=list)
    network: dict[str, Any] = field(default_factory=dict)
    communication: dict[str, Any] = field(default_factory=dict)
    delay: dict[str, Any] | None = None
    privacy: dict[str, Any] | None = None
    refused: dict[str, int] = field(default_factory=dict)
    resources: dict[str, Any] | None = None
    elapsed_seconds: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    links: list[LinkCount] = field(default_factory=list)
    ledgers: list[list[Release]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The run as plain data, without the tables of single links and of single releases."""
        tables = ("links", "ledgers")
        return {name: value for name, value in vars(self).items() if name not in tables}


def communication(links: list[LinkCount]) -> dict[str, Any]:
    """Totals of a run's links: by plane, and data messages by the papers' kinds of link."""
    planes = {
        plane: {"messages": 0, "payload_bytes": 0, "frame_bytes": 0, "kinds": {}} for plane in Plane
    }
    kinds_of_link = {"agent-coordinator": 0, "coordinator-agent": 0, "agent-agent": 0}
    for link in links:
        total: dict[str, Any] = planes[Plane(link.plane)]
        kind = total["kinds"].setdefault(
            link.kind, {"messages": 0, "payload_bytes": 0, "frame_bytes": 0}
        )
        for counts in (total, kind):
            counts["messages"] += link.messages
            counts["payload_bytes"] += link.payload_bytes
            counts["frame_bytes"] += link.frame_bytes
        if link.plane == Plane.DATA:
            if link.target == COORDINATOR:
                kinds_of_link["agent-coordinator"] += link.messages
            elif link.source == COORDINATOR:
                kinds_of_link["coordinator-agent"] += link.messages
            else:
                kinds_of_link["agent-agent"] += link.messages
    return {
        "rounds": None,
        "links": kinds_of_link,
        "cost": kinds_of_link["agent-coordinator"] + kinds_of_link["agent-agent"],
        "socket_bytes": None,
        **{plane.name.lower(): planes[plane] for plane in Plane},
    }


@dataclass(kw_only=True)
class Result:
    """A series of runs of one specification; `network` tells of the first run's.

    `links`: "local" (all on this machine), "keys" (CURVE on every link) or "insecure".
    """

    system: str
    variant: str
    engine: str
    seed: int
    runs: list[RunRecord]
    specification: dict[str, Any]
    links: str = "local"
    network: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """`{metric: {mean, ci95, n}}` over the runs.

        ci95 is half the width of Student's 95 % interval; None for a single run.
        """
        out: dict[str, Any] = {}
        metrics: dict[str, Callable[[RunRecord], float | None]] = {
            "rounds": lambda r: r.rounds,
            "slots": lambda r: r.slots,
            "pulls": lambda r: r.pulls,
            "regret": lambda r: r.regret,
            "data_messages": lambda r: r.communication["data"]["messages"],
            "data_payload_bytes": lambda r: r.communication["data"]["payload_bytes"],
            "control_messages": lambda r: r.communication["control"]["messages"],
            "elapsed_seconds": lambda r: r.elapsed_seconds,
        }
        for name, metric in metrics.items():
            values = [float(v) for run in self.runs if (v := metric(run)) is not None]
            if values:
                mean, half = mean_ci(values)
                out[name] = {"mean": mean, "ci95": half, "n": len(values)}
        return out

    def document(self) -> dict[str, Any]:
        """The one document that `posse run --json` prints."""
        return {
            "system": self.system,
            "variant": self.variant,
            "engine": self.engine,
            "links": self.links,
            "seed": self.seed,
            "runs": [run.document() for run in self.runs],
            "summary": self.summary(),
            "network": self.network,
            "warnings": self.warnings,
        }
