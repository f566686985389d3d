"""The schedule of federated elimination, the links of a round, and regret (Li and Song 2022)."""

import math
from typing import Any

import numpy as np

from posse.seam.arms import Graph, find_sinks
from posse.seam.messages import FloatArray
from posse.seam.results import Bound, NoBoundError, mean_gaps, positive, run_gaps
from posse.seam.system import RunSpec
from posse_systems.li2022.messages import (
    CdpParameters,
    DdpParameters,
    FederatedParameters,
    HdpParameters,
    Schedule,
    SingleParameters,
    uploaders,
)
from posse_systems.li2022.shared import SharedSchedule, noise_of


def make_schedule(parameters: SingleParameters, agents: int, arms: int) -> Schedule:
    """S(r) and C(r) of M = `agents` agents, whatever their noise; M = 1 for `single-mab`."""
    p = parameters
    arguments: dict[str, Any] = {"arms": arms, "horizon": p.horizon, "epsilon": p.epsilon}
    if not isinstance(p, FederatedParameters):
        return Schedule(senders=1, **arguments)
    arguments |= {"max_rounds": p.max_rounds, "gap": p.gap, "senders": agents}
    if isinstance(p, CdpParameters):
        arguments["senders"] = uploaders(agents, p.participation)
        if p.noise == "shared":
            shared = noise_of(p, agents)
            return SharedSchedule(deviation=shared.total, tail=shared.tail, **arguments)
    return Schedule(noise="per_agent" if p.noise == "per_agent" else "printed", **arguments)


def gis_links(graph: Graph) -> int:
    """Links of one round of GIS (and of flooding): Σ over edges of min(d_G, 1 + larger ecc).

    An edge is used in a slot if either end has something new. Agent i has that in slots 1 to
    1 + ecc(i), and there are d_G slots.
    """
    last, ecc = graph.diameter, graph.eccentricities
    return sum(min(last, 1 + max(ecc[i], ecc[j])) for i, j in graph.edges())


def gis_links_paper(graph: Graph) -> int:
    """Links of one round as the paper counts them: d_G Σ d_i / 2, every edge in every slot.

    Star 2(M-1), ring M²/2 (M even), complete M(M-1)/2; for other graphs an upper bound.
    """
    return graph.diameter * graph.size


def sac_links(graph: Graph) -> int:
    """Local links of one round of SAC: Σ_i sd(i, SA_q), one per mean and hop."""
    return sum(find_sinks(graph).distance)


def elimination_rounds(gap: float) -> int:
    """⌈log2(1/Δ) + 1⌉: the rounds of CDP-MAB until an arm of gap Δ has left.

    In round r both terms of C(r) are at most 2^-r / 4, so 2 C(r) <= 2^-r. If every mean lies within
    C(r), an arm with Δ >= 2^(1-r) leaves.
    """
    return max(1, math.ceil(math.log2(1 / gap) + 1 - 1e-9))


def elimination_regret(
    gaps: FloatArray, t: FloatArray, schedule: Schedule, *, agents: int, delay: int = 0
) -> FloatArray:
    """Regret of all agents of federated elimination after t slots, on the event E_R.

    An arm leaves by round r_k (`elimination_rounds`, or the last round in the R-round form). Each
    agent has then pulled it S(r_k) times, at most once per slot:

        Σ_k Δ_k M (min(S(r_k), t) + (`delay` slots in each of the rounds)).

    Li and Song 2022, equation 22, first line, before the O(.) of their regret theorems. (Its third
    line has 16, where 2 Δ̃ >= Δ_k / 2 gives 128.) S(r) is taken with all K arms active, where it is
    largest. A slot of delay costs at most the largest gap.
    """
    positive_gaps = positive(gaps)
    rounds = [schedule.max_rounds or elimination_rounds(float(gap)) for gap in positive_gaps]
    observations = [0]
    for r in range(1, max(rounds) + 1):
        observations.append(schedule.observations(r, schedule.arms, observations[-1]))
    pulls = np.array([observations[r] for r in rounds], dtype=float)
    explored = (positive_gaps[:, None] * np.minimum(pulls[:, None], t[None, :])).sum(axis=0)
    idle = positive_gaps.max() * np.minimum(delay * max(rounds), t)
    regret: FloatArray = agents * np.minimum(explored + idle, positive_gaps.max() * t)
    return regret


def _idle_slots(spec: RunSpec, parameters: SingleParameters, run: int) -> int:
    """The number of slots in each round in which no agent explores."""
    if not isinstance(parameters, DdpParameters | HdpParameters):
        return 0
    graph = spec.graph(run)
    if isinstance(parameters, DdpParameters):
        longest = graph.diameter
    else:
        longest = max(find_sinks(graph).eccentricity)
    return max(0, longest - (parameters.t_delay == "diameter-1"))


def too_wide(parameters: FederatedParameters, least: float) -> bool:
    """Whether the R-round form is given a gap above `least` and so ends too early to see it."""
    p = parameters
    return p.max_rounds is not None and p.gap is not None and p.gap > least + 1e-9


def bound_elimination(spec: RunSpec, parameters: SingleParameters, run: int) -> Bound:
    """The proof's sum over the arms, with the schedule's own S(r)."""
    p, agents, arms = parameters, spec.agents.count, spec.arms.arm_count()
    gaps, rows = mean_gaps(spec, run), run_gaps(spec, run)
    if not isinstance(p, FederatedParameters) and (rows != rows[0]).any():
        raise NoBoundError(
            "alone an agent goes to its own best arm, so that its regret against the average means "
            "grows for ever."
        )
    if isinstance(p, DdpParameters) and p.exchange == "gossip":
        raise NoBoundError("gossip has no fixed delay.")
    if isinstance(p, HdpParameters) and spec.variant == "printed" and (rows != rows[0]).any():
        sizes = {len(part) for part in spec.graph(run).components}
        if len(sizes) > 1:
            raise NoBoundError(
                "agents differ, and as printed a small component weighs as much as a large one, so "
                "that what is found need not be best on average."
            )
    least = positive(gaps).min(initial=np.inf)
    if least == np.inf:
        raise NoBoundError("all arms are level on average, so that there is no regret.")
    if isinstance(p, FederatedParameters) and too_wide(p, float(least)):
        raise NoBoundError(
            f"the R-round form needs the smallest gap, {least:.4g}, and was told {p.gap:g}."
        )
    schedule = make_schedule(p, agents if isinstance(p, FederatedParameters) else 1, arms)
    notes = ["The proof's sum over the arms, with this run's S(r), on the event E_R; not its O(.)."]
    if schedule.senders < agents and (rows != rows[0]).any():
        notes.append("It does not hold here: agents differ, and those that upload are a sample.")
    elif isinstance(p, FederatedParameters):
        p_r = schedule.logs(elimination_rounds(float(least)), arms)[1]
        if p_r >= schedule.senders and not isinstance(schedule, SharedSchedule):
            notes.append(
                f"That E_R is likely is proved where P_r = log(8 K r² T) < M (Fact 2); here it is "
                f"{p_r:.1f}, and M = {schedule.senders}."
            )
    return Bound(
        label="theory, on the event E_R",
        regret=lambda t: elimination_regret(
            gaps, t, schedule, agents=agents, delay=_idle_slots(spec, p, run)
        ),
        note=" ".join(notes),
    )
