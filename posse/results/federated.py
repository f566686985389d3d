"""Results of federated elimination, with their cost: counted, and by closed forms.

Li and Song 2022 price links: c1 for one between an agent and the server, c2 for one between two
agents. `cost` is counted from the messages sent. `closed_form` follows from the graph and the
number of rounds alone (`posse.theory.federated`).
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from posse.protocol.federated import (
    CdpParameters,
    DdpParameters,
    ExchangedRow,
    ExploredRow,
    HdpParameters,
    LeftRow,
    RoundRow,
    uploaders,
)
from posse.results.base import Results, Standing
from posse.results.record import Delay, Detail, Lines, RunRecord
from posse.results.traffic import ClosedForm, RoundCost
from posse.spec.runfile import RunSpec
from posse.theory.federated import gis_links, gis_links_paper, sac_links


class FederatedDetail(Detail, omit_defaults=True):
    """The rounds as the first agent explored them; None in the field."""

    units: ClassVar[dict[str, str]] = {"rounds": "of communication"}

    explored: list[ExploredRow] | None = None

    def lines(self, run: RunRecord) -> Lines:
        """How many arms were pulled in each round."""
        if not self.explored:
            return []
        active = ", ".join(str(row.active) for row in self.explored)
        return [("arms explored", f"{active} by round")]


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Fill in status and answer where no server decides, rounds, delay and cost.

    In the field, what agents noted and sent each other stays with them and is unknown here.
    """
    decided = len(RoundRow.of(record.log))
    rounds: int | None = decided
    match parameters:
        case CdpParameters():
            _cdp(spec, parameters, record, decided)
        case HdpParameters() if spec.mode == "lab":
            _hdp(spec, parameters, record, decided)
        case HdpParameters():
            pass
        case DdpParameters():
            rounds = _ddp(spec, parameters, record) if spec.mode == "lab" else None
            _agree(record)
        case _:
            record.communication.cost = 0.0
            _agree(record)
    if record.used_up and record.status == "horizon":
        record.status = "exhausted"
    record.rounds = record.communication.rounds = rounds
    record.detail = FederatedDetail()
    if spec.mode == "field":
        return
    record.communication.cost_per_slot = (record.communication.cost or 0.0) / (record.slots or 1)
    present = [n for n in range(len(record.agent_logs)) if n not in record.dismissed]
    first = next((n for n in present if n not in record.exhausted), next(iter(present), None))
    log = {} if first is None else record.agent_logs[first]
    record.detail = FederatedDetail([row for _, row in ExploredRow.of(log)])


def _cdp(spec: RunSpec, p: CdpParameters, record: RunRecord, rounds: int) -> None:
    n = uploaders(spec.agents.count, p.participation)
    traffic = record.communication
    traffic.cost = p.c1 * traffic.links.agent_coordinator
    once, each, formula = 0, 1, "c1 ceil(pM) rounds"
    if p.noise == "shared":
        # one key per agent; then masked sums and a seed in every round
        once, each, formula = n, 2, "c1 M (2 rounds + 1)"
    traffic.closed_form = ClosedForm(
        formula, p.c1 * (once + each * n * rounds), exact=not record.without
    )
    # after a loss, fewer agents are asked
    links = [each * row.asked for _, row in RoundRow.of(record.log)]
    traffic.per_round = [RoundCost(r, k, p.c1 * k) for r, k in enumerate(links, start=1)]


def _ddp(spec: RunSpec, p: DdpParameters, record: RunRecord) -> int:
    """Return the number of rounds, as the median: a single agent may report anything."""
    graph = spec.graph(record.run)
    traffic = record.communication
    # a lone agent exchanges nothing, and decides as soon as it has explored
    rows = ExchangedRow if spec.agents.count > 1 else ExploredRow
    rounds = statistics.median_low(len(rows.of(log)) for log in record.agent_logs)
    traffic.per_round = per_round = _exchanged(record, p, rounds)
    traffic.cost = sum(row.cost for row in per_round)
    traffic.closed_form = None
    if p.exchange != "gossip":
        exact = gis_links(graph)
        traffic.closed_form = ClosedForm(
            "c2 rounds sum over edges of min(d_G, 1 + larger eccentricity)",
            p.c2 * rounds * exact,
            exact=not record.without,
        )
        traffic.closed_form_paper = ClosedForm(
            "c2 rounds d_G sum d_i / 2",
            p.c2 * rounds * gis_links_paper(graph),
            exact=gis_links_paper(graph) == exact and not record.without,
        )
    return rounds


def _hdp(spec: RunSpec, p: HdpParameters, record: RunRecord, rounds: int) -> None:
    graph = spec.graph(record.run)
    q = len(graph.components)
    traffic = record.communication
    traffic.per_round = per_round = _exchanged(record, p, rounds, uploads=q, price=p.c1)
    hops = sum(row.links - q for row in per_round)
    traffic.cost = p.c2 * hops + p.c1 * traffic.links.agent_coordinator
    traffic.closed_form = ClosedForm(
        "rounds (c2 sum sd(i, SA_q) + c1 Q)",
        rounds * (p.c2 * sac_links(graph) + p.c1 * q),
        exact=not record.without,
    )
    traffic.closed_form_by_edges = ClosedForm(
        "rounds (c2 |E| + c1 Q), every edge of a component once",
        rounds * (p.c2 * graph.size + p.c1 * q),
        exact=False,
    )


def _exchanged(
    record: RunRecord,
    p: DdpParameters | HdpParameters,
    rounds: int,
    uploads: int = 0,
    price: float = 0.0,
) -> list[RoundCost]:
    """The cost of each round: links between agents, and `uploads` to the server at `price` each.

    Also records the slots of each round's exchange, and how many of these did nothing but exchange.
    """
    hops: Counter[int] = Counter()
    slots: Counter[int] = Counter()
    for log in record.agent_logs:
        for _, row in ExchangedRow.of(log):
            hops[row.round] += row.links
            slots[row.round] = row.slots
    numbers = range(1, rounds + 1)
    record.delay = delay = record.delay or Delay()
    delay.exchange_slots = [slots[r] for r in numbers]
    delay.t_delay = [max(0, slots[r] - (p.t_delay == "diameter-1")) for r in numbers]
    up = price * uploads
    return [RoundCost(r, hops[r] + uploads, p.c2 * hops[r] + up, slots=slots[r]) for r in numbers]


def _agree(record: RunRecord) -> None:
    """Set the status where no server decides; only the lab knows the arms left to each agent."""
    answers = [arm for n, arm in enumerate(record.answers) if n not in record.without]
    left = {rows[-1][1].arm for log in record.agent_logs if (rows := LeftRow.of(log))}
    record.status = "horizon"
    if left and all(len(arms) == 1 for arms in left):
        alike = len(left) == 1 and None not in answers
        record.status = "identified" if alike else "no_consensus"


def _progress(standing: Standing) -> Sequence[str]:
    """The server's rounds; without a server no rounds are known before the end."""
    rounds = RoundRow.of(standing.log)
    if not rounds:
        return [standing.time()]
    _, last = rounds[-1]
    return [f"round {last.round}", standing.arms_left(last.arms_left), standing.time()]


FEDERATED = Results(
    progress=_progress,
    log=(RoundRow, ExploredRow, ExchangedRow, LeftRow),
    detail=FederatedDetail,
    complete=_complete,
)
