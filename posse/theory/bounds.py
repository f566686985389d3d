"""What theory says about a run: bounds computed from its specification, each by its number.

Only bounds that have constants are here. Symbols: Δ_k the gap of arm k to the best, Δ the smallest
that is not 0, K arms, M agents (N with Rio et al.), T the time, δ the probability of failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posse.arms import LabMeans
from posse.seeds import Purpose, generator
from protocol.cooperative import zeta
from protocol.federated import Schedule
from protocol.machine import COORDINATOR, FloatArray
from protocol.mase import epoch_length, successive_elimination_radius
from topologies.graphs import Graph

if TYPE_CHECKING:
    from posse.spec.runfile import RunSpec

Curve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a system's paper promises about one run.

    `label` is the statement's number. `regret(t)`: the regret of all agents up to times t, shape as
    t. `rounds`: by when runs end, in rounds. Neither where there is nothing to draw; `note` is a
    sentence on what it says, or why there is none.
    """

    label: str = ""
    regret: Curve | None = None
    rounds: float | None = None
    note: str


UNKNOWN_MEANS = Bound(note="No bound is drawn: the arms' true means are not known.")


def run_gaps(spec: RunSpec, run: int) -> FloatArray | None:
    """Each agent's Δ_k in run `run`, shape (M, K); None where means are not known."""
    means = _table(spec, run)
    return None if means is None else means.max(axis=1, keepdims=True) - means


def run_means(spec: RunSpec, run: int) -> FloatArray | None:
    """μ_k averaged over the agents in run `run`, shape (K,); None where they are not known."""
    means = _table(spec, run)
    return None if means is None else means.mean(axis=0)


def mean_gaps(spec: RunSpec, run: int) -> FloatArray | None:
    """Δ_k of the means averaged over the agents, shape (K,); None where means are not known."""
    means = run_means(spec, run)
    return None if means is None else means.max() - means


def _table(spec: RunSpec, run: int) -> FloatArray | None:
    if not isinstance(spec.arms, LabMeans):
        return None
    instance = generator(spec.seed, run, COORDINATOR, Purpose.INSTANCE)
    return spec.arms.table(spec.agents.count, instance)


def positive(gaps: FloatArray) -> FloatArray:
    """The Δ_k > 0."""
    found: FloatArray = gaps[gaps > 0]
    return found


def ucb1_regret(gaps: FloatArray, t: FloatArray) -> FloatArray:
    """Regret of UCB1 after t pulls: 8 Σ_k log t / Δ_k + (1 + π²/3) Σ_k Δ_k.

    Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002, Theorem 1; sums over Δ_k > 0.
    """
    found = positive(gaps)
    logs = np.log(np.maximum(t, 1.0))
    regret: FloatArray = 8 * (1 / found).sum() * logs + (1 + math.pi**2 / 3) * found.sum()
    return regret


def adap_ucb_regret(gaps: FloatArray, t: FloatArray, epsilon: float, alpha: float) -> FloatArray:
    """Regret of AdaP-UCB after t pulls: Σ_k (16 α log t / min(Δ_k, ε) + α / (α - 3)).

    Azize and Basu, NeurIPS 2022, Theorem 7; sums over Δ_k > 0.
    """
    found = positive(gaps)
    logs = np.log(np.maximum(t, 1.0))
    regret: FloatArray = 16 * alpha * (1 / np.minimum(found, epsilon)).sum() * logs + len(
        found
    ) * alpha / (alpha - 3)
    return regret


def private_cooperation_regret(
    gaps: FloatArray, t: FloatArray, *, cliques: int, agents: int, gamma: int, epsilon: float
) -> FloatArray:
    """Regret of all agents of Private Multi-Agent UCB after t slots.

    Dubey and Pentland 2020, Theorem 3.7, with χ̄ = `cliques` the clique cover of G_γ:

        Σ_k χ̄ 8 log t / Δ_k + (Σ_k Δ_k) (χ̄ (M γ + 2) + M (1/ε + ζ(1.5))).
    """
    found = positive(gaps)
    logs = np.log(np.maximum(t, 1.0))
    once = cliques * (agents * gamma + 2) + agents * (1 / epsilon + zeta(1.5))
    regret: FloatArray = cliques * 8 * (1 / found).sum() * logs + found.sum() * once
    return regret


def byzantine_cooperation_regret(
    gaps: FloatArray,
    t: FloatArray,
    *,
    cliques: int,
    agents: int,
    gamma: int,
    sigma: float,
    epsilon: float,
) -> FloatArray:
    """Regret of all agents of Byzantine-Proof Multi-Agent UCB after t slots.

    Dubey and Pentland 2020, Theorem 4.3, with χ̄ = `cliques` the clique cover of G_γ:

        χ̄ Σ_k 4σ² log t / (Δ_k - 2σ sqrt ε)² + (3M + γ χ̄ (M - 1)) Σ_k Δ_k.

    `ValueError` unless 2σ sqrt ε < Δ_k for all k, which event (C) of the proof needs; the theorem
    prints the condition ε < Δ_min / 2σ. Equation 51 has the factor Δ_k in the first sum.
    """
    found = positive(gaps)
    room = found - 2 * sigma * math.sqrt(epsilon)
    if (room <= 0).any():
        raise ValueError("2σ sqrt ε is not below every gap")
    logs = np.log(np.maximum(t, 1.0))
    once = 3 * agents + gamma * cliques * (agents - 1)
    regret: FloatArray = cliques * (4 * sigma**2 / room**2).sum() * logs + once * found.sum()
    return regret


def clique_cover(graph: Graph, gamma: int) -> int:
    """A number of cliques that cover G_γ, in which agents at most γ hops apart are linked.

    By greedy colouring of the complement (largest degree first), so at least χ̄, and a bound that
    grows with χ̄ stays one.
    """
    import networkx as nx  # noqa: PLC0415

    near = nx.empty_graph(graph.agents)
    near.add_edges_from(graph.edges())
    near = nx.power(near, gamma) if gamma else nx.empty_graph(graph.agents)
    colours = nx.greedy_color(nx.complement(near), strategy="largest_first")
    return len(set(colours.values()))


def elimination_rounds(gap: float) -> int:
    """⌈log2(1/Δ) + 1⌉: the rounds of CDP-MAB until an arm of gap Δ has left.

    In round r both terms of C(r) are at most 2^-r / 4, so that 2 C(r) <= 2^-r; on the event that
    every mean lies within C(r), an arm with Δ >= 2^(1-r) leaves.
    """
    return max(1, math.ceil(math.log2(1 / gap) + 1 - 1e-9))


def elimination_regret(
    gaps: FloatArray, t: FloatArray, schedule: Schedule, *, agents: int, delay: int = 0
) -> FloatArray:
    """Regret of all agents of federated elimination after t slots, on the event E_R.

    An arm leaves by round r_k (`elimination_rounds`; the last in the R-round form) and has then
    been pulled S(r_k) times by each agent, at most once per slot:

        Σ_k Δ_k M (min(S(r_k), t) + (`delay` slots in each of the rounds)),

    Li and Song 2022, the step before the O(.) of their regret theorems. S(r) is taken with all K
    arms active, where it is largest. A slot of delay costs at most the largest gap.
    """
    found = positive(gaps)
    last = schedule.max_rounds
    rounds = [elimination_rounds(float(gap)) for gap in found]
    if last is not None:
        rounds = [last] * len(found)
    observations = [0]
    for r in range(1, max(rounds) + 1):
        observations.append(schedule.observations(r, schedule.arms, observations[-1]))
    pulls = np.array([observations[r] for r in rounds], dtype=float)
    explored = (found[:, None] * np.minimum(pulls[:, None], t[None, :])).sum(axis=0)
    idle = found.max() * np.minimum(delay * max(rounds), t)
    regret: FloatArray = agents * np.minimum(explored + idle, found.max() * t)
    return regret


def samples_of_elimination(gap: float, arms: int, failure: float) -> int:
    """T_η: samples of each arm by which successive elimination has dropped an arm of gap Δ.

    The least t from which on 4 sqrt(log(K t²/η) / t) <= Δ: with means within one radius, arms whose
    means differ by Δ are then seen to differ by two.
    """

    def wide(t: int) -> bool:
        return 4 * float(successive_elimination_radius(float(t), arms, failure)) > gap

    # the radius grows at first, below t = e sqrt(η/K), which is before any arm can leave
    high = 4
    while wide(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high


def samples_of_epochs(gap: float, arms: int, beta: float, epsilon: float) -> int:
    """T_β: activations by which an agent of DP-MASE has dropped an arm of gap Δ.

    Σ_e R(e, K) up to e = ⌊log2(1/Δ)⌋ + 1: R makes both radii at most Δ_e / 8, so that an arm leaves
    in the first epoch with Δ_e = 2^-e < Δ. Rio et al. 2023, Proposition 4.3 before its O(.).
    """
    last = math.floor(math.log2(1 / gap) + 1e-9) + 1
    return sum(epoch_length(arms, epoch, beta, epsilon) for epoch in range(1, last + 1))


def rounds_of_votes(samples: int, agents: int, votes: int, confidence: float) -> float:
    """Rounds after which M given agents of N have each been active T_η times, with probability a.

    N P^-1(T_η, a^(1/M)), P the regularised lower incomplete gamma function: the activations of
    agents drawn evenly are Poisson processes of rate 1/N. Rio et al. 2023, Proposition 5.3.
    """
    from scipy.special import gammaincinv  # noqa: PLC0415

    return agents * float(gammaincinv(samples, confidence ** (1 / votes)))
