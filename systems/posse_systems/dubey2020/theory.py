"""The regret of cooperation on a graph (Dubey and Pentland 2020), and of agents alone."""

import math

import numpy as np

from posse.seam.arms import Graph
from posse.seam.messages import FloatArray
from posse.seam.results import (
    Bound,
    Curve,
    NoBoundError,
    logarithmic,
    positive,
    shared_gaps,
    ucb1_regret,
)
from posse.seam.system import RunSpec
from posse_systems.dubey2020.messages import (
    AdapParameters,
    AloneParameters,
    ByzantineParameters,
    PrivateParameters,
    RobustParameters,
    hops,
    most_liars,
    pulls_per_release,
    zeta,
)
from posse_systems.dubey2020.trimmed import TRIMS_BELOW

PAPER = "Dubey and Pentland 2020"


def private_cooperation_regret(
    gaps: FloatArray, *, cliques: int, agents: int, gamma: int, epsilon: float
) -> Curve:
    """Regret of all agents of Private Multi-Agent UCB after t slots.

    Dubey and Pentland 2020, Theorem 3.7, with χ̄ = `cliques` the clique cover of G_γ:

        Σ_k χ̄ 8 log t / Δ_k + (Σ_k Δ_k) (χ̄ (M γ + 2) + M (1/ε + ζ(1.5))).

    The paper prints χ for the second χ̄. Theorem 7.1, its proof, calls both the clique number, but
    equation 31 sums over the cliques of the cover; and it has 8σ², which is this at σ = 1 and a
    quarter of it for rewards in [0, 1], by steps that need σ = 1 (equations 23 and 25).
    """
    positive_gaps = positive(gaps)
    once = cliques * (agents * gamma + 2) + agents * (1 / epsilon + zeta(1.5))
    return logarithmic(cliques * 8 * (1 / positive_gaps).sum(), positive_gaps.sum() * once)


def byzantine_cooperation_regret(
    gaps: FloatArray, *, cliques: int, agents: int, gamma: int, sigma: float, epsilon: float
) -> Curve:
    """Regret of all agents of Byzantine-Proof Multi-Agent UCB after t slots.

    Dubey and Pentland 2020, Theorem 4.3, with χ̄ = `cliques` the clique cover of G_γ:

        χ̄ Σ_k 4σ² log t / (Δ_k - 2σ sqrt ε)² + (3M + γ χ̄ (M - 1)) Σ_k Δ_k.

    `NoBoundError` unless some Δ_k > 0 and 2σ sqrt ε is below all of them, which event (C) of the
    proof needs; the theorem prints the condition ε < Δ_min / 2σ. Equation 51 also has the factor
    Δ_k in the first sum, and χ̄ ((M - 1)(γ - 1) + 1) + 4M for the constant, which is 2 more at χ̄ =
    γ = 1. Equation 40 has 4σ², but equation 38 with Algorithm 3's δ = 1/t² gives 8σ,
    four times as much at σ = 1/2.
    """
    positive_gaps = positive(gaps)
    room = positive_gaps - 2 * sigma * math.sqrt(epsilon)
    if not room.size or (room <= 0).any():
        raise NoBoundError(
            "Theorem 4.3 needs every gap to be above 2σ sqrt(ε), and here one is not."
        )
    once = 3 * agents + gamma * cliques * (agents - 1)
    return logarithmic(cliques * (4 * sigma**2 / room**2).sum(), once * positive_gaps.sum())


def robust_cooperation_regret(gaps: FloatArray, *, agents: int, epsilon: float) -> Curve:
    """Regret of all agents of `robust-private-ucb` after t slots, whatever a share f of them says.

    Our own result. An agent's index of an arm is never above the bound from its own rewards, which
    lies do not affect. Once the arm's last batch has s >= max(16 log t / Δ_k², 8 log t / (ε Δ_k))
    rewards, the agent does not pull it while bounds hold; a batch of s is there after at most 4s
    pulls. In slot t at most 8 (1 + log2 t) bounds can fail, each with probability t^-2, so 24 are
    expected to in all. (For the joint bound's average this is proved for batches chosen before they
    are seen.) So

        M Σ_k (max(64 log t / Δ_k, 32 log t / ε) + Δ_k (⌈1/ε⌉ + 24)).
    """
    positive_gaps = positive(gaps)[:, None]
    slopes = np.maximum(64 / positive_gaps, 32 / epsilon)
    once = positive_gaps * (pulls_per_release(epsilon) + 24)
    return lambda t: agents * (slopes * np.log(np.maximum(t, 1.0)) + once).sum(axis=0)


def adap_ucb_regret(gaps: FloatArray, epsilon: float, alpha: float) -> Curve:
    """Regret of AdaP-UCB after t pulls: Σ_k (16 α log t / min(Δ_k, ε) + α / (α - 3)).

    Azize and Basu, NeurIPS 2022, Theorem 7; sums over Δ_k > 0.
    """
    positive_gaps = positive(gaps)
    slope = 16 * alpha * (1 / np.minimum(positive_gaps, epsilon)).sum()
    return logarithmic(slope, len(positive_gaps) * alpha / (alpha - 3))


def clique_cover(graph: Graph, gamma: int) -> int:
    """A number of cliques that cover G_γ, in which agents at most γ hops apart are linked.

    Greedy colouring of the complement (largest degree first) gives at least χ̄, so a bound that
    grows with χ̄ stays valid.
    """
    import networkx as nx  # noqa: PLC0415

    near = nx.empty_graph(graph.agents)
    near.add_edges_from(graph.edges())
    near = nx.power(near, gamma) if gamma else nx.empty_graph(graph.agents)
    colours = nx.greedy_color(nx.complement(near), strategy="largest_first")
    return len(set(colours.values()))


def bound_private(spec: RunSpec, parameters: PrivateParameters, run: int) -> Bound:
    """Theorem 3.7, and whether its proof covers this run."""
    p, agents = parameters, spec.agents.count
    if p.noise_at == "destination":
        raise NoBoundError("Theorem 3.7 is about noise at the source.")
    if p.releases != "intervals":
        raise NoBoundError(f"none is known of cooperation with releases = '{p.releases}'.")
    gaps = shared_gaps(spec, run)
    graph = spec.graph(run)
    gamma = hops(p.gamma, graph.diameter)
    cliques = clique_cover(graph, gamma)
    uncovered = ["that decisions are by the printed estimate (equation 13 adds means unweighted)"]
    if gamma * p.epsilon >= 1:
        uncovered.append(f"that γ < 1/ε (here γ = {gamma}, 1/ε = {1 / p.epsilon:g})")
    return Bound(
        label="Theorem 3.7",
        regret=private_cooperation_regret(
            gaps, cliques=cliques, agents=agents, gamma=gamma, epsilon=p.epsilon
        ),
        note=f"{PAPER}, Theorem 3.7, with {cliques} cliques in G_γ (greedily). It is not proved "
        f"for this run: its proof takes {' and '.join(uncovered)}.",
    )


def bound_robust(spec: RunSpec, parameters: RobustParameters, run: int) -> Bound:
    """The bound that each agent has by itself, which lies cannot worsen."""
    if parameters.estimator == "mean":
        raise NoBoundError("a mean bears no lies.")
    gaps, agents = shared_gaps(spec, run), spec.agents.count
    lies, share = parameters.contamination, parameters.assumed_contamination
    liars = len(lies.liars(agents))
    if share is not None and liars > (most := most_liars(share, agents)):
        raise NoBoundError(f"{liars} agents lie, and it is proved for {most} at most.")
    if liars and lies.form == "relay":
        raise NoBoundError(
            "it is proved of agents that lie for themselves, and here what others said is changed."
        )
    return Bound(
        label="each agent alone",
        regret=robust_cooperation_regret(gaps, agents=agents, epsilon=parameters.epsilon),
        note="Ours, for each agent alone; what cooperation gains is shown, not proved. It takes "
        "the batches that are put together as if they were chosen before they were seen.",
    )


def bound_byzantine(spec: RunSpec, parameters: ByzantineParameters, run: int) -> Bound:
    """Theorem 4.3, at the contamination that agents assume."""
    p, agents = parameters, spec.agents.count
    gaps = shared_gaps(spec, run, parameters.sigma)
    graph = spec.graph(run)
    gamma = hops(p.gamma, graph.diameter)
    cliques = clique_cover(graph, gamma)
    believed = p.assumed_contamination
    epsilon = p.contamination.rate if believed is None else believed
    _require_borne(p, epsilon, agents, gamma)
    regret = byzantine_cooperation_regret(
        gaps, cliques=cliques, agents=agents, gamma=gamma, sigma=p.sigma, epsilon=epsilon
    )
    if spec.variant == "corrected" and not p.winsor and epsilon >= TRIMS_BELOW:
        raise NoBoundError(
            f"who believes that {TRIMS_BELOW:g} or more are lies trims nothing, and Theorem 4.3 is "
            "about the trimmed mean."
        )
    return Bound(
        label="Theorem 4.3",
        regret=regret,
        note=f"{PAPER}, Theorem 4.3, with {cliques} cliques in G_γ (greedily). It rests on Theorem "
        "4.2, which fails on Bernoulli rewards of some means, and its 4σ² is 8σ by its equation "
        "38, four times as much at σ = 1/2.",
    )


def _require_borne(p: ByzantineParameters, believed: float, agents: int, gamma: int) -> None:
    """Raise `NoBoundError` if there may be more lies than agents assume (section 4.2).

    Of messages that γ agents pass on, a share of up to γ ε are lies (section 4).
    """
    lies = p.contamination
    rate = lies.rate * (gamma if lies.form == "relay" else min(gamma, 1))
    if lies.liars(agents) and rate > believed + 1e-12:
        on_the_way = f" in each of {gamma} hops" if lies.form == "relay" else ""
        raise NoBoundError(
            f"Theorem 4.3 needs ε to be no less than the rate of lies, which is {lies.rate:g}"
            f"{on_the_way}, and agents believe {believed:g}."
        )


def bound_ucb1(spec: RunSpec, parameters: AloneParameters, run: int) -> Bound:
    """UCB1's bound, once for each agent."""
    alone = ucb1_regret(shared_gaps(spec, run))
    return Bound(
        label="UCB1's bound, each agent alone",
        regret=lambda t: spec.agents.count * alone(t),
        note="Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, once for each agent.",
    )


def bound_adap_ucb(spec: RunSpec, parameters: AdapParameters, run: int) -> Bound:
    """AdaP-UCB's bound, once for each agent."""
    alone = adap_ucb_regret(shared_gaps(spec, run), parameters.epsilon, parameters.alpha)
    return Bound(
        label="AdaP-UCB's bound, each agent alone",
        regret=lambda t: spec.agents.count * alone(t),
        note="Azize and Basu 2022, Theorem 7, once for each agent.",
    )
