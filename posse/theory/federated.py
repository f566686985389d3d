"""What a run of federated elimination cost, measured and by the paper's closed forms.

Li and Song 2022 count links: c1 for one between an agent and the server, c2 for one between two
agents. `cost` is counted from what was sent; `closed_form` is computed from the graph and the
number of rounds alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from protocol.federated import CdpParameters, DdpParameters, HdpParameters, uploaders
from topologies.graphs import Graph
from topologies.sinks import find_sinks

if TYPE_CHECKING:
    from posse.results.record import RunRecord
    from posse.spec.runfile import RunSpec


def gis_links(graph: Graph) -> int:
    """Links of one round of GIS (and of flooding): Σ over edges of min(d_G, 1 + larger ecc).

    An edge is used in a slot if either end has something new; agent i has in the slots 1 to
    1 + ecc(i), and there are d_G slots.
    """
    last, ecc = graph.diameter, graph.eccentricities
    return sum(min(last, 1 + max(ecc[i], ecc[j])) for i, j in graph.edges())


def gis_links_paper(graph: Graph) -> int:
    """Links of one round by the paper: d_G Σ d_i / 2, every edge in every slot.

    Star 2(M-1), ring M²/2 (M even), complete M(M-1)/2; in other graphs an upper bound.
    """
    return graph.diameter * graph.size


def sac_links(graph: Graph) -> int:
    """Local links of one round of SAC: Σ_i sd(i, SA_q), one per mean and hop."""
    return sum(find_sinks(graph).distance)


def summarise(spec: RunSpec, record: RunRecord) -> None:
    """Complete a record: status and answer where no server decides, rounds, delay and cost.

    In the field what agents noted and sent each other is theirs, and stays unknown here.
    """
    parameters = spec.model()
    communication = record.communication
    rounds: int | None
    match parameters:
        case CdpParameters():
            rounds = len(record.log.get("rounds", []))
            communication |= _cdp(spec, parameters, communication, rounds)
        case DdpParameters() if spec.mode == "field":
            rounds = None
            _agree(record)
        case HdpParameters() if spec.mode == "field":
            rounds = len(record.log.get("rounds", []))
        case DdpParameters():
            rounds = len(record.agent_logs[0].get("exchanged", []))
            communication |= _ddp(spec, parameters, record)
            _agree(record)
        case HdpParameters():
            rounds = len(record.log.get("rounds", []))
            communication |= _hdp(spec, parameters, record, rounds)
        case _:
            rounds = 0
            communication |= {"cost": 0.0}
            _agree(record)
    communication["rounds"] = rounds
    record.rounds = rounds
    if spec.mode == "field":
        return
    communication["cost_per_slot"] = communication["cost"] / (record.slots or 1)
    explored = record.agent_logs[0].get("explored", [])
    record.detail["explored"] = [
        {"round": int(r), "active": int(active), "observations": int(s), "new": int(d)}
        for _, r, active, s, d in explored
    ]


def _cdp(
    spec: RunSpec, p: CdpParameters, communication: dict[str, Any], rounds: int
) -> dict[str, Any]:
    n = uploaders(spec.agents.count, p.participation)
    return {
        "cost": p.c1 * communication["links"]["agent-coordinator"],
        "closed_form": {"formula": "c1 ceil(pM) rounds", "cost": p.c1 * n * rounds, "exact": True},
        "per_round": [{"round": r + 1, "links": n, "cost": p.c1 * n} for r in range(rounds)],
    }


def _ddp(spec: RunSpec, p: DdpParameters, record: RunRecord) -> dict[str, Any]:
    graph = spec.graph(record.run)
    logs = [log.get("exchanged", []) for log in record.agent_logs]
    per_round: list[dict[str, Any]] = []
    for rows in zip(*logs, strict=True):
        links = sum(int(row[3]) for row in rows)
        per_round.append(
            {
                "round": int(rows[0][1]),
                "slots": int(rows[0][2]),
                "links": links,
                "cost": p.c2 * links,
            }
        )
    _delay(record, [row["slots"] for row in per_round], p.t_delay)
    rounds = len(per_round)
    out: dict[str, Any] = {
        "cost": sum(row["cost"] for row in per_round),
        "per_round": per_round,
        "closed_form": None,
    }
    if p.exchange != "gossip":
        exact = gis_links(graph)
        out["closed_form"] = {
            "formula": "c2 rounds sum over edges of min(d_G, 1 + larger eccentricity)",
            "cost": p.c2 * rounds * exact,
            "exact": True,
        }
        out["closed_form_paper"] = {
            "formula": "c2 rounds d_G sum d_i / 2",
            "cost": p.c2 * rounds * gis_links_paper(graph),
            "exact": gis_links_paper(graph) == exact,
        }
    return out


def _hdp(spec: RunSpec, p: HdpParameters, record: RunRecord, rounds: int) -> dict[str, Any]:
    graph = spec.graph(record.run)
    q = len(graph.components)
    hops: Counter[int] = Counter()
    slots: dict[int, int] = {}
    for log in record.agent_logs:
        for _, r, used, links in log.get("exchanged", []):
            hops[int(r)] += int(links)
            slots[int(r)] = int(used)
    per_round = [
        {
            "round": r,
            "slots": slots.get(r, 0),
            "links": hops[r] + q,
            "cost": p.c2 * hops[r] + p.c1 * q,
        }
        for r in range(1, rounds + 1)
    ]
    _delay(record, [int(row["slots"]) for row in per_round], p.t_delay)
    uplinks = record.communication["links"]["agent-coordinator"]
    return {
        "cost": p.c2 * sum(hops[r] for r in range(1, rounds + 1)) + p.c1 * uplinks,
        "per_round": per_round,
        "closed_form": {
            "formula": "rounds (c2 sum sd(i, SA_q) + c1 Q)",
            "cost": rounds * (p.c2 * sac_links(graph) + p.c1 * q),
            "exact": True,
        },
        "closed_form_by_edges": {
            "formula": "rounds (c2 |E| + c1 Q), every edge of a component once",
            "cost": rounds * (p.c2 * graph.size + p.c1 * q),
            "exact": False,
        },
    }


def _delay(record: RunRecord, slots: list[int], t_delay: str) -> None:
    """The slots of each round's exchange, and how many of them the exchange alone took."""
    delay: dict[str, Any] = {} if record.delay is None else record.delay
    delay["exchange_slots"] = slots
    delay["t_delay"] = [max(0, s - (t_delay == "diameter-1")) for s in slots]
    record.delay = delay


def _agree(record: RunRecord) -> None:
    """Where no server decides the answer is the commonest of the agents' own.

    What is left for each is only known in the lab.
    """
    answers = Counter(arm for arm in record.answers if arm is not None)
    if answers:
        record.best_arm = min(answers, key=lambda arm: (-answers[arm], arm))
    left = {tuple(log["left"][-1][1:]) for log in record.agent_logs if "left" in log}
    if not left:
        record.status = "horizon"
    elif len(left) == 1 and len(next(iter(left))) == 1 and None not in record.answers:
        record.status = "identified"
    elif all(len(arms) == 1 for arms in left):
        record.status = "no_consensus"
    else:
        record.status = "horizon"
